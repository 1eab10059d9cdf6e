"""Time periods and the names of their tags (Java ``TagPeriodHandler``).

Times are local wall-clock times in milliseconds, as if they were UTC. A tag is named after the period that has ended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from table_format.options.tags import TagOptions

_EPOCH: Final = datetime(1970, 1, 1)
_MILLISECOND: Final = timedelta(milliseconds=1)
_DAY_FORMATS: Final = {"with_dashes": "%Y-%m-%d", "without_dashes": "%Y%m%d", "without_dashes_and_spaces": "%Y%m%d"}
_HOUR_FORMATS: Final = {
    "with_dashes": "%Y-%m-%d %H",
    "without_dashes": "%Y%m%d %H",
    "without_dashes_and_spaces": "%Y%m%d%H",
}
_TWO_HOURS_FORMAT: Final = _HOUR_FORMATS["with_dashes"]
_MINUTE_FORMAT: Final = "%Y%m%d%H%M"


@dataclass(frozen=True, slots=True)
class TagPeriods:
    """Periods of one length, with the format of their names."""

    length_ms: int
    format: str
    ignores_after_space: bool = False

    @classmethod
    def of(cls, options: TagOptions) -> TagPeriods:
        """Return the periods that the options select."""
        if options.creation_period_duration_ms is not None:
            return cls(options.period_ms, _MINUTE_FORMAT)
        match options.creation_period:
            case "hourly":
                return cls(options.period_ms, _HOUR_FORMATS[options.period_formatter])
            case "two-hours":
                return cls(options.period_ms, _TWO_HOURS_FORMAT)
            case _:
                return cls(options.period_ms, _DAY_FORMATS[options.period_formatter], ignores_after_space=True)

    def name_of(self, time_ms: int) -> str:
        """Return the name of the tag of the period that begins at ``time_ms``.

        >>> TagPeriods(3_600_000, "%Y-%m-%d %H").name_of(1_704_070_800_000)
        '2024-01-01 01'
        """
        moment = _EPOCH + time_ms * _MILLISECOND
        # Format the year here, because strftime does not pad it with zeros on all platforms.
        return moment.strftime(self.format.replace("%Y", f"{moment.year:04}"))

    def time_of(self, name: str) -> int | None:
        """Return the start of the period of a tag; ``None`` if the name does not have the form of automatic tags.

        >>> daily = TagPeriods(86_400_000, "%Y-%m-%d")
        >>> daily.time_of("2024-01-01"), daily.time_of("2024-1-1"), daily.time_of("release")
        (1704067200000, None, None)
        """
        text = name.split(" ")[0] if self.ignores_after_space else name
        shape = self.format.replace("%Y", r"(?P<y>[0-9]{4})")
        for part in "mdHM":
            shape = shape.replace(f"%{part}", f"(?P<{part}>[0-9]{{2}})")
        match = re.fullmatch(shape, text)
        if match is None:
            return None
        found = {key: int(value) for key, value in match.groupdict().items()}
        try:
            moment = datetime(found["y"], found["m"], found["d"], found.get("H", 0), found.get("M", 0))
        except ValueError:
            return None
        return (moment - _EPOCH) // _MILLISECOND

    def last_ended(self, time_ms: int) -> int:
        """Return the start of the last period that has ended at ``time_ms``."""
        return time_ms // self.length_ms * self.length_ms - self.length_ms
