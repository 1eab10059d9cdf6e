"""The field ids of elements, keys and values, which are derived from the enclosing column.

``depth`` counts the containers from the column or ROW field down, including the innermost one. Format chapter 02,
section 4; Java ``SpecialFields``.
"""

from __future__ import annotations

from typing import Final

_START: Final = 536_870_911
_IDS_PER_COLUMN: Final = 1024


def element_id(column_id: int, depth: int) -> int:
    """Return the id of the elements of an ARRAY.

    >>> element_id(31, 1), element_id(31, 2)
    (536902656, 536902657)
    """
    return _START + column_id * _IDS_PER_COLUMN + depth


def key_id(column_id: int, depth: int) -> int:
    """Return the id of the keys of a MAP."""
    return _START - column_id * _IDS_PER_COLUMN - depth


def value_id(column_id: int, depth: int) -> int:
    """Return the id of the values of a MAP, which equals that of the elements of an ARRAY at the same place."""
    return element_id(column_id, depth)
