"""Computes the minimum, maximum and null count of columns, and their form in manifests (format chapter 04, section 3).

Bounds are exact while they are collected; ``stored_bounds`` reduces them to the column's statistics mode. Strings are
cut at code points, and the maximum is rounded up, so that the stored bounds always enclose the values. Java
``SimpleColStatsCollector`` and its implementations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidOption
from table_format.kernels.bounds import ColumnBounds
from table_format.kernels.values import values_of
from table_format.model.types import NESTED, DataType, InternalValue

Column: TypeAlias = "pa.Array | pa.ChunkedArray"

SYSTEM_STATS_MODE: Final = "truncate(128)"
"""The mode of ``_KEY_`` columns and other system columns, whatever the table options are."""

_TRUNCATE: Final = re.compile(r"truncate\((\d+)\)", re.IGNORECASE)
_LAST_CODE_POINT: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)
_LAST_BYTE: Final = 0xFF


def column_bounds(column: Column, data_type: DataType) -> ColumnBounds:
    """Measure one column.

    Bounds are ``None`` if all values are null, for nested types, and if a value is NaN, which cannot be between two
    bounds, so bounds of the other values would be wrong.

    >>> from table_format.model.types import IntType
    >>> column_bounds(pa.array([3, None, 1], pa.int32()), IntType())
    ColumnBounds(minimum=1, maximum=3, null_count=1, row_count=3)
    """
    rows = len(column)
    if isinstance(data_type, NESTED):
        return ColumnBounds(None, None, None, rows)
    nulls = column.null_count
    if nulls == rows or has_nan(column):
        return ColumnBounds(None, None, nulls, rows)
    bounds = pc.min_max(column)
    minimum, maximum = values_of(pa.array([bounds["min"], bounds["max"]], column.type), data_type)
    return ColumnBounds(minimum, maximum, nulls, rows, may_hold_nan=False)


def has_nan(column: Column) -> bool:
    """Return whether a FLOAT or DOUBLE column contains NaN.

    >>> has_nan(pa.array([1.0, None, float("nan")])), has_nan(pa.array(["nan"]))
    (True, False)
    """
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())


def merge_bounds(parts: Iterable[ColumnBounds]) -> ColumnBounds:
    """Return the bounds of a column from those of its parts; unknown if one part is unknown.

    >>> merge_bounds([ColumnBounds(1, 4, 0, 2), ColumnBounds(None, None, 3, 3), ColumnBounds(-1, 2, 1, 9)])
    ColumnBounds(minimum=-1, maximum=4, null_count=4, row_count=14)
    >>> merge_bounds([ColumnBounds(1, 4, 0, 2), ColumnBounds(None, None, 0, 3)])
    ColumnBounds(minimum=None, maximum=None, null_count=0, row_count=5)
    """
    minimum: InternalValue = None
    maximum: InternalValue = None
    known, nulls, rows = True, 0, 0
    counted = True
    for part in parts:
        rows += part.row_count
        if part.null_count is None:
            counted = False
        else:
            nulls += part.null_count
        if part.minimum is None or part.maximum is None:
            known = known and part.null_count == part.row_count
            continue
        minimum = part.minimum if minimum is None else min(minimum, part.minimum)
        maximum = part.maximum if maximum is None else max(maximum, part.maximum)
    if not known:
        minimum = maximum = None
    return ColumnBounds(minimum, maximum, nulls if counted else None, rows)


def stored_bounds(bounds: ColumnBounds, mode: str) -> ColumnBounds:
    """Reduce exact bounds to those that a statistics mode (``metadata.stats-mode``) stores.

    >>> stored_bounds(ColumnBounds("a" * 20, "b" * 20, 0, 9), "truncate(3)")
    ColumnBounds(minimum='aaa', maximum='bbc', null_count=0, row_count=9)
    >>> stored_bounds(ColumnBounds(1, 2, 0, 9), "counts")
    ColumnBounds(minimum=None, maximum=None, null_count=0, row_count=9)
    >>> stored_bounds(ColumnBounds(1, 2, 0, 9), "none")
    ColumnBounds(minimum=None, maximum=None, null_count=None, row_count=9)

    Raises:
        InvalidOption: the mode does not exist.
    """
    match mode.lower():
        case "full":
            return bounds
        case "counts":
            return ColumnBounds(None, None, bounds.null_count, bounds.row_count)
        case "none":
            return ColumnBounds(None, None, None, bounds.row_count)
    truncate = _TRUNCATE.fullmatch(mode)
    if truncate is None or int(truncate[1]) == 0:
        key = "metadata.stats-mode"
        raise InvalidOption(key, f"expected none, counts, full or truncate(n), found {mode!r}")
    length = int(truncate[1])
    maximum = truncated_maximum(bounds.maximum, length)
    if maximum is None:
        # Java drops the minimum too if there is no maximum.
        return ColumnBounds(None, None, bounds.null_count, bounds.row_count)
    return ColumnBounds(truncated_minimum(bounds.minimum, length), maximum, bounds.null_count, bounds.row_count)


def truncated_minimum(value: InternalValue, length: int) -> InternalValue:
    """Return a value of at most ``length`` code points or bytes that is not above ``value``.

    >>> truncated_minimum("añb", 2), truncated_minimum(b"abc", 2), truncated_minimum(123, 2)
    ('añ', b'ab', 123)
    """
    return value[:length] if isinstance(value, (str, bytes)) else value


def truncated_maximum(value: InternalValue, length: int) -> InternalValue:
    """Return a value of at most ``length`` code points or bytes that is not below ``value``; ``None`` if impossible.

    >>> truncated_maximum("abcd", 3), truncated_maximum("abc", 3), truncated_maximum("a\\U0010ffff!", 2)
    ('abd', 'abc', 'b')
    >>> truncated_maximum(b"a\\xff\\xff", 2), truncated_maximum(b"\\xff\\xff", 1)
    (b'b', None)
    """
    if not isinstance(value, (str, bytes)) or len(value) <= length:
        return value
    return _string_above(value[:length]) if isinstance(value, str) else _bytes_above(value[:length])


def _string_above(prefix: str) -> str | None:
    for end in range(len(prefix) - 1, -1, -1):
        following = ord(prefix[end]) + 1
        if following in _SURROGATES:
            # Surrogates are not characters and cannot be encoded in UTF-8; use the next character after them.
            following = _SURROGATES.stop
        if following <= _LAST_CODE_POINT:
            return prefix[:end] + chr(following)
    return None


def _bytes_above(prefix: bytes) -> bytes | None:
    for end in range(len(prefix) - 1, -1, -1):
        if prefix[end] != _LAST_BYTE:
            return prefix[:end] + bytes((prefix[end] + 1,))
    return None
