"""Ids of elements, keys and values, derived from the column around them (format chapter 02, section 4).

Java ``SpecialFields``. ``depth`` counts the containers from the column or ROW field down, the innermost included.
"""

from __future__ import annotations

from typing import Final

_START: Final = 536_870_911
_IDS_PER_COLUMN: Final = 1024


def element_id(column_id: int, depth: int) -> int:
    """The id of the elements of an ARRAY.

    >>> element_id(31, 1), element_id(31, 2)
    (536902656, 536902657)
    """
    return _START + column_id * _IDS_PER_COLUMN + depth


def key_id(column_id: int, depth: int) -> int:
    """The id of the keys of a MAP."""
    return _START - column_id * _IDS_PER_COLUMN - depth


def value_id(column_id: int, depth: int) -> int:
    """The id of the values of a MAP: that of an ARRAY's elements in its place."""
    return element_id(column_id, depth)
