"""The start mode of a scan, from the options that name a starting point (Java ``CoreOptions.startupMode``).

The reference accepts some contradictory options and ignores one of them. This library uses every given option or
refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from table_format.errors import InvalidOption
from table_format.options.declare import AnyOption, Option
from table_format.options.scan import (
    CREATION_TIME_MILLIS,
    FILE_CREATION_TIME_MILLIS,
    INCREMENTAL_BETWEEN,
    INCREMENTAL_BETWEEN_TIMESTAMP,
    INCREMENTAL_TO_AUTO_TAG,
    MODE,
    SNAPSHOT_ID,
    STARTING_POINTS,
    TAG_NAME,
    TIMESTAMP,
    TIMESTAMP_MILLIS,
    VERSION,
    WATERMARK,
)


class StartupMode(StrEnum):
    """Where a read begins; the values of the option ``scan.mode``."""

    LATEST_FULL = "latest-full"
    LATEST = "latest"
    COMPACTED_FULL = "compacted-full"
    FROM_TIMESTAMP = "from-timestamp"
    FROM_SNAPSHOT = "from-snapshot"
    FROM_SNAPSHOT_FULL = "from-snapshot-full"
    FROM_FILE_CREATION_TIME = "from-file-creation-time"
    FROM_CREATION_TIMESTAMP = "from-creation-timestamp"
    INCREMENTAL = "incremental"


_NEEDED: Final[dict[StartupMode, tuple[AnyOption, ...]]] = {
    StartupMode.FROM_TIMESTAMP: (TIMESTAMP_MILLIS, TIMESTAMP),
    StartupMode.FROM_SNAPSHOT: (SNAPSHOT_ID, TAG_NAME, VERSION, WATERMARK),
    StartupMode.FROM_SNAPSHOT_FULL: (SNAPSHOT_ID,),
    StartupMode.FROM_FILE_CREATION_TIME: (FILE_CREATION_TIME_MILLIS,),
    StartupMode.FROM_CREATION_TIMESTAMP: (CREATION_TIME_MILLIS,),
    StartupMode.INCREMENTAL: (INCREMENTAL_BETWEEN, INCREMENTAL_BETWEEN_TIMESTAMP, INCREMENTAL_TO_AUTO_TAG),
}


def startup_mode(options: Mapping[str, str]) -> StartupMode:
    """Return the mode that the options name, or the one of the given starting point.

    >>> startup_mode({}), startup_mode({"scan.tag-name": "t"}), startup_mode({"scan.mode": "full"})
    (<StartupMode.LATEST_FULL: 'latest-full'>, <StartupMode.FROM_SNAPSHOT: 'from-snapshot'>, \
<StartupMode.LATEST_FULL: 'latest-full'>)

    Raises:
        InvalidOption: there are several starting points, the mode does not allow the given one, or it needs one.
    """
    given = given_starting_points(options)
    if len(given) > 1:
        message = f"may not be given together with {', '.join(o.key for o in given[1:])}: a scan has one starting point"
        raise InvalidOption(given[0].key, message)
    named = MODE.read(options)
    if named == "default":
        return next((mode for mode, needed in _NEEDED.items() if any(o in needed for o in given)), _WITHOUT)
    mode = StartupMode.LATEST_FULL if named == "full" else StartupMode(named)
    needed = _NEEDED.get(mode, ())
    if needed and not given:
        raise InvalidOption(MODE.key, f"'{named}' needs one of {', '.join(o.key for o in needed)}")
    if given and given[0] not in needed:
        raise InvalidOption(given[0].key, f"has no effect with {MODE.key}='{named}'; leave one of them out")
    return mode


def given_starting_points(options: Mapping[str, str]) -> list[Option[int | None] | Option[str | None]]:
    """The options that name a starting point and are given."""
    return [option for option in STARTING_POINTS if any(key in options for key in option.keys)]


_WITHOUT: Final = StartupMode.LATEST_FULL
