"""The number of levels of an LSM tree, and options of levels that do not exist."""

from __future__ import annotations

from table_format.errors import InvalidOption
from table_format.options.compaction import MAX_LEVELS, NUM_LEVELS, TRIGGER
from table_format.options.files import COMPRESSION_PER_LEVEL, FORMAT_PER_LEVEL, STATS_MODE_PER_LEVEL
from table_format.options.table_options import TableOptions

_PER_LEVEL = (FORMAT_PER_LEVEL, COMPRESSION_PER_LEVEL, STATS_MODE_PER_LEVEL)

LEVEL_KEYS = frozenset(option.key for option in (NUM_LEVELS, TRIGGER, *_PER_LEVEL))
"""Options that decide the number of levels, or are given for one level."""


def check_levels(options: TableOptions) -> None:
    """Refuse more levels than an engine can hold, and options of levels in which no file can be.

    Raises:
        InvalidOption: names the option.
    """
    count = options.compaction.num_levels
    if options.compaction.explicit_num_levels is None and count > MAX_LEVELS:
        message = (
            f"is {options.compaction.trigger} and would make {count} levels, more than {MAX_LEVELS}; give "
            f"'{NUM_LEVELS.key}' as well"
        )
        raise InvalidOption(TRIGGER.key, message)
    for option in _PER_LEVEL:
        for level, _ in option.read(options.raw):
            if not 0 <= level < count:
                message = (
                    f"there is no level {level}: the levels are 0 to {count - 1}, by '{NUM_LEVELS.key}' or "
                    f"'{TRIGGER.key}'"
                )
                raise InvalidOption(option.key, message)
