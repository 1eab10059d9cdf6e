"""How fresh a table has to be, in the words of a materialized table, as a freshness policy and a schedule of Dagster.

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
            InvalidInputError: it is no interval, or none that a cron expression can say.

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
        """Refresh at each tick of the interval by which a source has changed, and when the table is missing."""
        tick: dg.AutomationCondition[Any] = dg.AutomationCondition.cron_tick_passed(self.cron)
        return (
            tick.since_last_handled()
            & (dg.AutomationCondition.any_deps_updated().since_last_handled() | dg.AutomationCondition.missing())
            & ~dg.AutomationCondition.any_deps_missing()
            & ~dg.AutomationCondition.in_progress()
        )


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
