"""Time zone names in options: regions, and offsets from UTC (Java ``ZoneId.of``)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_GREENWICH: Final = frozenset({"Z", "UTC", "GMT", "UT"})
_EPOCH: Final = datetime(1970, 1, 1)
_MILLISECOND: Final = timedelta(milliseconds=1)


def zone_of(name: str) -> tzinfo:
    """Return the zone with this name.

    >>> zone_of("GMT-08:00"), zone_of("UTC")
    (datetime.timezone(datetime.timedelta(days=-1, seconds=57600)), datetime.timezone.utc)

    Raises:
        ValueError: the zone does not exist.
    """
    if name in _GREENWICH:
        return UTC
    match = _OFFSET.fullmatch(name)
    if match is not None:
        distance = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        return timezone(distance if match[1] == "+" else -distance)
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        message = f"there is no time zone {name!r}"
        raise ValueError(message) from error


def local_ms(epoch_ms: int, zone: tzinfo | None) -> int:
    """Return the wall-clock time of a zone (``None``: of this machine) at an instant, counted as if it were UTC.

    >>> local_ms(1_704_067_200_000, zone_of("+02:00")) - 1_704_067_200_000
    7200000
    """
    seconds, milliseconds = divmod(epoch_ms, 1000)
    wall = datetime.fromtimestamp(seconds, zone).replace(tzinfo=None)
    return (wall - _EPOCH) // _MILLISECOND + milliseconds
