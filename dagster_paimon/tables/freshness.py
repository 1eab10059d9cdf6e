"""Converts the freshness of a table, as of a materialized table, to a Dagster freshness policy and a schedule.

``FRESHNESS = INTERVAL '1' HOUR`` means that the table is never more than an hour behind its sources. As for Flink's
materialized tables in full refresh mode, the interval becomes a cron expression, so it must divide an hour or a day
evenly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import dagster as dg

from table_format.errors import InvalidInputError

_INTERVAL: Final = re.compile(r"\s*(?:INTERVAL\s+)?'?(\d+)'?\s+(SECOND|MINUTE|HOUR|DAY)S?\s*", re.IGNORECASE)
_SECONDS: Final = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400}
_LEAST_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Freshness:
    """The maximum delay of a table. ``interval`` is a whole number of minutes or hours, or one day."""

    interval: timedelta
    cron: str

    @classmethod
    def of(cls, interval: str) -> Freshness:
        """Return the freshness for an SQL interval of minutes, hours or one day.

        Raises:
            InvalidInputError: the text is not an interval, or a cron expression cannot express it.

        >>> Freshness.of("INTERVAL '30' MINUTE").cron, Freshness.of("INTERVAL '1' DAY").cron
        ('*/30 * * * *', '0 0 * * *')
        """
        found = _INTERVAL.fullmatch(interval)
        if found is None:
            message = f"freshness '{interval}': expected an interval such as INTERVAL '1' HOUR"
            raise InvalidInputError(message)
        seconds = int(found[1]) * _SECONDS[found[2].upper()]
        return cls(timedelta(seconds=seconds), _cron(seconds, interval))

    @property
    def policy(self) -> dg.FreshnessPolicy:
        """A policy that fails if the last materialization is older than two intervals, and warns after one.

        A refresh that begins on time ends later, so a limit of one interval would fail at each refresh.
        """
        return dg.FreshnessPolicy.time_window(fail_window=2 * self.interval, warn_window=self.interval)

    @property
    def automation_condition(self) -> dg.AutomationCondition[Any]:
        """A condition: refresh at each interval tick if a source has changed, and if the table is missing.

        Partitioned sources need not have all partitions.
        """
        tick: dg.AutomationCondition[Any] = dg.AutomationCondition.cron_tick_passed(self.cron)
        return (
            tick.since_last_handled()
            & (dg.AutomationCondition.any_deps_updated().since_last_handled() | dg.AutomationCondition.missing())
            & _every_source_exists()
            & ~dg.AutomationCondition.in_progress()
        )


def sources_changed() -> dg.AutomationCondition[Any]:
    """Return a condition: run if a source has changed and no source is being materialized.

    This is ``AutomationCondition.eager`` for an asset without partitions. ``eager`` waits until the last partition of a
    source is materialized. This condition does not wait, because the asset reads all existing rows.

    Example::

        @dg.asset(deps=["shop/orders"], automation_condition=sources_changed(), ...)
        def totals(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> pa.Table:
            changes = changes_since_last_run(context, lakehouse, "shop.orders")
            ...
    """
    at_once = dg.AutomationCondition.eager().without(~dg.AutomationCondition.any_deps_missing())
    return at_once & _every_source_exists()


def _every_source_exists() -> dg.AutomationCondition[Any]:
    """Return a condition: at least one partition of each source is materialized."""
    return dg.AutomationCondition.all_deps_match(~dg.AutomationCondition.missing())


def _cron(seconds: int, interval: str) -> str:
    minutes, rest = divmod(seconds, _LEAST_SECONDS)
    if minutes and not rest:
        if minutes < 60 and 60 % minutes == 0:
            return f"*/{minutes} * * * *"
        hours, rest = divmod(minutes, 60)
        if not rest and hours < 24 and 24 % hours == 0:
            return f"0 */{hours} * * *"
        if minutes == 24 * 60:
            return "0 0 * * *"
    message = (
        f"freshness '{interval}': expected minutes that divide an hour, hours that divide a day, or one day, "
        "because a refresh runs at fixed times"
    )
    raise InvalidInputError(message)
