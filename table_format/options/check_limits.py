"""Values that the format allows, and with which Apache Paimon cannot write or compact a table.

CREATE and ALTER refuse them. A table that has them already is read and written here as before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from table_format.errors import InvalidOption
from table_format.options.declare import parse_value
from table_format.options.hints import LOOKUP_BLOOM_FILTER_FPP, PAGE_SIZE, SORT_FILE_HANDLES
from table_format.options.index_types import BITMAPS, SMALLEST_BLOCK
from table_format.options.registry import find


@dataclass(frozen=True, slots=True)
class _Limit:
    allowed: str
    holds: Callable[[Any], bool]


_LIMITS: Final[dict[str, _Limit]] = {
    # Positions in memory are split into pages by their bits.
    PAGE_SIZE.key: _Limit("a power of two from 64 b to 1 gb", lambda v: 64 <= v <= 1 << 30 and v & v - 1 == 0),
    # From 0.619 on, the filter of one row has no bit.
    LOOKUP_BLOOM_FILTER_FPP.key: _Limit("at most 0.6", lambda v: v <= 0.6),
    SORT_FILE_HANDLES.key: _Limit("at least 2", lambda v: v >= 2),
    BITMAPS.setting_key("index-block-size"): _Limit(f"at least {SMALLEST_BLOCK} b", lambda v: v >= SMALLEST_BLOCK),
}


def check_limits(options: Mapping[str, str]) -> None:
    """Refuse values with which Apache Paimon cannot write or compact a table.

    Raises:
        InvalidOption: names the option, its value and what is allowed.
    """
    for key, text in options.items():
        option = find(key)
        limit = None if option is None else _LIMITS.get(option.key)
        if option is None or limit is None or limit.holds(parse_value(key, option.parser, text)):
            continue
        message = f"is '{text.strip()}'; Apache Paimon fails to write or compact a table with it; set {limit.allowed}"
        raise InvalidOption(key, message)
