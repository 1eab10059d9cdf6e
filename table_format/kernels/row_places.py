"""The places of values in an order, also from the bounds of a column. Places are ordered like their rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import total_ordering
from typing import Any, Final, TypeAlias

from table_format.kernels.bounds import ColumnBounds
from table_format.model.predicate import Compare, CompareOp, IsNull, Not, Or, Predicate
from table_format.model.row_order import OrderedColumn
from table_format.model.types import DataType, FloatingType, InternalValue

_UNKNOWN, _NULLS_FIRST, _NAN_FIRST, _VALUE, _NAN_LAST, _NULLS_LAST = range(6)

Place: TypeAlias = tuple[int, Any]
"""A place, which is ordered like its row; the first item orders null, NaN and values."""

BEFORE_ALL: Final[Place] = (_UNKNOWN, 0)
"""A place before all others, if nothing is known."""


@total_ordering
@dataclass(frozen=True, slots=True, eq=True)
class _Descending:
    value: Any

    def __lt__(self, other: _Descending) -> bool:
        return bool(other.value < self.value)


def place_of(value: InternalValue, order: OrderedColumn) -> Place:
    """Return the place of a value.

    >>> down = OrderedColumn("a", descending=True, nulls_first=False)
    >>> sorted([1, None, 3], key=lambda value: place_of(value, down))
    [3, 1, None]
    """
    if value is None:
        return (_NULLS_FIRST if order.nulls_first else _NULLS_LAST), 0
    if value != value:
        return (_NAN_FIRST if order.descending else _NAN_LAST), 0
    if not order.descending:
        return _VALUE, value
    if isinstance(value, Decimal):
        return _VALUE, value.copy_negate()  # the minus sign would round it
    return _VALUE, _Descending(value) if isinstance(value, str | bytes) else -value


def first_place(bounds: ColumnBounds | None, order: OrderedColumn, data_type: DataType) -> Place:
    """Return a place that is not after the first row of a file with these bounds."""
    if bounds is None:
        return BEFORE_ALL
    if not bounds.may_hold_value or (order.nulls_first and bounds.may_hold_null):
        return place_of(None, order)
    if order.descending and isinstance(data_type, FloatingType) and bounds.may_hold_nan:
        return place_of(math.nan, order)
    edge = bounds.maximum if order.descending else bounds.minimum
    return BEFORE_ALL if edge is None else place_of(edge, order)


def last_values(
    bounds: ColumnBounds | None, order: OrderedColumn, data_type: DataType, rows: int
) -> Iterator[tuple[InternalValue, int]]:
    """Yield values with the minimum number of rows of a file at or before them, if at least ``rows`` rows exist.

    >>> from table_format.model.types import IntType
    >>> down = OrderedColumn("a", descending=True, nulls_first=False)
    >>> list(last_values(ColumnBounds(3, 9, 2, 10), down, IntType(), 10))
    [(None, 2), (3, 8)]
    """
    if bounds is None:
        bounds = ColumnBounds(None, None, None, rows)
    if order.nulls_first:
        # Rows that may not exist could be those with null.
        nulls = max((bounds.null_count or 0) - (bounds.row_count - rows), 0)
    else:
        # If the null count is unknown, all rows may be null.
        nulls = rows if bounds.null_count is None else min(bounds.null_count, rows)
    last = _last_value(bounds, order, data_type)
    if last is None and not order.nulls_first:
        nulls = rows
    if nulls:
        yield None, nulls
    if last is not None and rows > nulls:
        yield last, rows - nulls


def _last_value(bounds: ColumnBounds, order: OrderedColumn, data_type: DataType) -> InternalValue:
    """Return a value that no other value of the file is after; ``None`` if none is known."""
    if not order.descending and isinstance(data_type, FloatingType) and bounds.may_hold_nan:
        return math.nan
    return bounds.minimum if order.descending else bounds.maximum


def reached(value: InternalValue, order: OrderedColumn) -> Predicate | None:
    """Return the condition that a row is at or before the place of a value; ``None`` if it may hold for all rows.

    >>> reached(5, OrderedColumn("a", descending=True, nulls_first=False))
    Compare(column='a', op=<CompareOp.GE: '>='>, value=5)
    """
    column, null = order.column, IsNull(order.column)
    if value is None:
        return null if order.nulls_first else None
    if value != value:
        return None if order.nulls_first else Not(null)
    found = Compare(column, CompareOp.GE if order.descending else CompareOp.LE, value)
    return Or((null, found)) if order.nulls_first else found
