"""The freshness of a table, as for materialized tables, as a freshness policy and a schedule of Dagster.

``FRESHNESS = INTERVAL '1' HOUR`` means that the table is never more than an hour behind its sources. As with Flink's
materialized tables in full refresh mode, the interval becomes a cron expression, so it has to divide an hour or a day
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
    """How far a table may be behind. ``interval`` is a whole number of minutes, hours or a day."""

    interval: timedelta
    cron: str

    @classmethod
    def of(cls, interval: str) -> Freshness:
        """The freshness of an SQL interval of minutes, hours or one day.

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
        """The table fails to be fresh when its last materialization is older than two intervals; one is a warning.

        A refresh that begins in time ends after it, so one interval alone would be reported at each refresh.
        """
        return dg.FreshnessPolicy.time_window(fail_window=2 * self.interval, warn_window=self.interval)

    @property
    def automation_condition(self) -> dg.AutomationCondition[Any]:
        """Refresh at each tick of the interval by which a source has changed, and when the table is missing.

        Sources with partitions need not have all of them.
        """
        tick: dg.AutomationCondition[Any] = dg.AutomationCondition.cron_tick_passed(self.cron)
        return (
            tick.since_last_handled()
            & (dg.AutomationCondition.any_deps_updated().since_last_handled() | dg.AutomationCondition.missing())
            & _every_source_exists()
            & ~dg.AutomationCondition.in_progress()
        )


def sources_changed() -> dg.AutomationCondition[Any]:
    """Run whenever a source has changed and none is being made.

    This is ``AutomationCondition.eager`` for an asset without partitions of its own. ``eager`` waits until the last
    partition of a source was made; this condition does not, since such an asset reads what there is.

    Example::

        @dg.asset(deps=["shop/orders"], automation_condition=sources_changed(), ...)
        def totals(context: dg.AssetExecutionContext, lakehouse: LakehouseCatalog) -> pa.Table:
            changes = changes_since_last_run(context, lakehouse, "shop.orders")
            ...
    """
    at_once = dg.AutomationCondition.eager().without(~dg.AutomationCondition.any_deps_missing())
    return at_once & _every_source_exists()


def _every_source_exists() -> dg.AutomationCondition[Any]:
    """At least one partition of each source was made."""
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
        "since a refresh is a run at fixed times"
    )
    raise InvalidInputError(message)
