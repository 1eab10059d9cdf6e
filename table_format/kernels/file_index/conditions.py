"""Converts conditions on one column to key ranges, once for all files, which indexes evaluate.

Every comparison becomes closed key ranges, or their complement among the non-null rows: ``a < 5`` is ``not (a >= 5)``,
and ``a NOT IN (1, 2)`` is the complement of two ranges. So an index has to evaluate only key ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from table_format.errors import InvalidData
from table_format.kernels.file_index.keys import (
    MAX_MILLI_PRECISION,
    NANOS_PER_MICRO,
    NANOS_PER_MILLI,
    Key,
    float_key,
    key_format,
    keys_of,
)
from table_format.kernels.file_index.results import SKIP, UNKNOWN, IndexResult, Leaf, rows
from table_format.kernels.values import array_of, values_of
from table_format.model.arrow_calls import equal
from table_format.model.predicate import Compare, CompareOp, In, IsNull, Not
from table_format.model.ticks import compared_with_tick, position, tick_range
from table_format.model.types import (
    AnyTimestampType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    InternalValue,
    TextType,
)

MAX_VALUES: Final = 1000
"""The maximum length of an IN; for a longer one no index is used, because some value is nearly always found."""

_MAX_MICRO_PRECISION: Final = 6
_SHIFTED_IN_ORC_NANOS: Final = -12_000_000_000_000_000_000
"""1589-09-27: dates after this are not affected by the calendar conversion of ORC files."""

_ORDER: Final = (CompareOp.EQ, CompareOp.NE, CompareOp.LT, CompareOp.LE, CompareOp.GT, CompareOp.GE)

_Prepared = TypeVar("_Prepared")


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys from ``low`` to ``high``, both included; ``None`` means unbounded."""

    low: Key | None = None
    high: Key | None = None

    @property
    def is_point(self) -> bool:
        """Whether the range contains only one key."""
        return self.low is not None and self.low == self.high


EVERYTHING: Final = KeyRange()


class SoughtValues:
    """Non-null values of a column that are looked up in the indexes of many files."""

    def __init__(self, data_type: DataType, values: pa.Array) -> None:
        self.data_type = data_type
        self.values = values
        self._prepared: dict[type[Any], Any] = {}

    def __len__(self) -> int:
        return len(self.values)

    def prepared(self, shape: type[_Prepared]) -> _Prepared:
        """Return ``shape(self)``, created only once: the values in the form that an index type needs."""
        found: _Prepared | None = self._prepared.get(shape)
        if found is None:
            found = self._prepared[shape] = shape(self)  # type: ignore[call-arg]  # each takes the values
        return found

    @cached_property
    def keys(self) -> list[Key]:
        """The key of each value."""
        return cast("list[Key]", keys_of(self.values, self.data_type).to_pylist())

    @cached_property
    def is_kept_by_orc(self) -> bool:
        """Whether ORC files return the values unchanged; timestamps before 1582 are shifted by days."""
        if not isinstance(self.data_type, AnyTimestampType):
            return True
        values = values_of(self.values, self.data_type)
        return all(isinstance(value, int) and value > _SHIFTED_IN_ORC_NANOS for value in values)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a column: a row matches if its key is in one of the ranges, which do not overlap.

    If ``is_negated``, a row matches if its key is in none of them and not null; if ``selects_nulls``, if it is null.
    ``is_exact`` means that no other row matches. ``ranges`` is ``None`` if keys cannot express the condition, and
    ``values`` is ``None`` if it is neither = nor IN.
    """

    data_type: DataType
    ranges: tuple[KeyRange, ...] | None = None
    is_negated: bool = False
    selects_nulls: bool = False
    is_exact: bool = True
    values: SoughtValues | None = None

    @property
    def is_kept_by_orc(self) -> bool:
        """Whether the result is the same for values that are read from ORC files: no bound is an old date."""
        bounds = (bound for range_ in self.ranges or () for bound in (range_.low, range_.high))
        return are_kept_by_orc((bound for bound in bounds if bound is not None), self.data_type)


def are_kept_by_orc(keys: Iterable[Key], data_type: DataType) -> bool:
    """Return whether ORC files return the values with these keys unchanged.

    >>> from table_format.model.types import TimestampType
    >>> are_kept_by_orc([0], TimestampType(3)), are_kept_by_orc([-20_000_000_000_000], TimestampType(3))
    (True, False)
    """
    if not isinstance(data_type, AnyTimestampType):
        return True
    nanos = NANOS_PER_MILLI if data_type.precision <= MAX_MILLI_PRECISION else NANOS_PER_MICRO
    return all(key * nanos > _SHIFTED_IN_ORC_NANOS for key in keys if isinstance(key, int))


def condition_of(leaf: Leaf, data_type: DataType) -> Condition | None:
    """Return a condition for indexes on a column of this type; ``None`` if no index can evaluate it.

    >>> from table_format.model.types import IntType
    >>> condition_of(Compare("a", CompareOp.LT, 5), IntType()).ranges
    (KeyRange(low=5, high=None),)
    """
    try:
        return _condition(leaf, data_type)
    except (InvalidData, TypeError, ValueError, ArithmeticError):
        return None  # an invalid value for the type: the filter itself reports it


def _condition(leaf: Leaf, data_type: DataType) -> Condition | None:
    match leaf:
        case IsNull():
            return Condition(data_type, (), selects_nulls=True)
        case Not(IsNull()):
            return Condition(data_type, (EVERYTHING,))
        case Compare(op=op, value=value) if op in _ORDER:
            return _comparison(op, value, data_type)
        case In(values=values) if len(values) <= MAX_VALUES:
            return _membership(values, data_type, is_negated=False)
        case Not(In(values=values)) if len(values) <= MAX_VALUES:
            return _membership(values, data_type, is_negated=True)
        case _:
            return None


def _membership(values: Sequence[InternalValue], data_type: DataType, *, is_negated: bool) -> Condition | None:
    if is_negated and _drops_digits(data_type):
        return None
    sought = None if is_negated else _sought(values, data_type)
    if not _has_keys(data_type):
        return None if sought is None else Condition(data_type, values=sought)
    points = {range_ for value in values for range_ in _ranges(CompareOp.EQ, value, data_type)[0]}
    ordered = tuple(sorted(points, key=lambda point: point.low))  # type: ignore[arg-type, return-value]  # one type
    return Condition(data_type, ordered, is_negated, is_exact=not _drops_digits(data_type), values=sought)


def _comparison(op: CompareOp, value: InternalValue, data_type: DataType) -> Condition | None:
    if op is CompareOp.EQ:
        return _membership((value,), data_type, is_negated=False)
    if not _has_keys(data_type) or (op is CompareOp.NE and _drops_digits(data_type)):
        return None
    ranges, is_negated = _ranges(op, value, data_type)
    return Condition(data_type, ranges, is_negated, is_exact=not _drops_digits(data_type))


def _ranges(op: CompareOp, value: InternalValue, data_type: DataType) -> tuple[tuple[KeyRange, ...], bool]:
    """Return the ranges of a comparison, and whether they are negated."""
    if isinstance(data_type, TextType):
        if not isinstance(value, str):
            raise TypeError(value)
        key = value.encode()
        return _compared(op, key, key)
    if isinstance(data_type, BooleanType):
        if not isinstance(value, bool):
            raise TypeError(value)
        return _compared(op, int(value), int(value))
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError(value)
    if isinstance(data_type, FloatType | DoubleType):
        return _compared_float(op, float(value), is_single=isinstance(data_type, FloatType))
    if isinstance(value, float):
        raise TypeError(value)
    return _compared_tick(op, value, data_type)


def _compared(op: CompareOp, first: Key, last: Key) -> tuple[tuple[KeyRange, ...], bool]:
    """Return the ranges of a comparison with a value whose keys are from ``first`` to ``last``."""
    match op:
        case CompareOp.EQ | CompareOp.NE:
            return (KeyRange(first, last),), op is CompareOp.NE
        case CompareOp.LE | CompareOp.GT:
            return (KeyRange(None, last),), op is CompareOp.GT
        case _:
            return (KeyRange(first, None),), op is CompareOp.LT


def _compared_float(op: CompareOp, value: float, *, is_single: bool) -> tuple[tuple[KeyRange, ...], bool]:
    if value == 0:
        # Both zeros are equal.
        return _compared(op, float_key(-0.0, is_single=is_single), float_key(0.0, is_single=is_single))
    below, above = _neighbours(value) if is_single else (value, value)
    if below == above or value != value:
        key = float_key(value, is_single=is_single)
        return _compared(op, key, key)
    if op in (CompareOp.EQ, CompareOp.NE):
        return (), op is CompareOp.NE
    if op in (CompareOp.LT, CompareOp.LE):
        return _compared(CompareOp.LE, b"", float_key(below, is_single=True))
    return _compared(CompareOp.GE, float_key(above, is_single=True), b"")


def _neighbours(value: float) -> tuple[float, float]:
    """Return the FLOAT values around a DOUBLE; twice the same value if it is a FLOAT.

    >>> [abs(neighbour - 0.7) < 1e-7 for neighbour in _neighbours(0.7)], _neighbours(0.7)[0] < 0.7 < _neighbours(0.7)[1]
    ([True, True], True)
    >>> _neighbours(1e39)
    (3.4028234663852886e+38, inf)
    """
    with np.errstate(over="ignore"):
        nearest = np.float32(value)
        below, above = (float(np.nextafter(nearest, np.float32(end))) for end in ("-inf", "inf"))
    # Compare as DOUBLE, because numpy would round the value to FLOAT.
    found = float(nearest)
    if found == value:
        return value, value
    return (found, above) if found < value else (below, found)


def _compared_tick(op: CompareOp, value: int | Decimal, data_type: DataType) -> tuple[tuple[KeyRange, ...], bool]:
    ticks = tick_range(data_type)
    assert ticks is not None  # noqa: S101 - the other types with keys were handled before
    found = compared_with_tick(op, position(value, data_type), ticks)
    if isinstance(found, bool):
        return ((EVERYTHING,) if found else ()), False
    op, tick = found
    if not isinstance(data_type, AnyTimestampType):
        return _compared(op, tick, tick)
    if _drops_digits(data_type):
        # Keys are microseconds: a row just below or above the tick may have its key.
        wider = {CompareOp.LT: CompareOp.LE, CompareOp.GT: CompareOp.GE}.get(op, op)
        key = tick // NANOS_PER_MICRO
        if wider is CompareOp.LE:
            return (KeyRange(None, key),), False
        return (KeyRange(key, None if wider is CompareOp.GE else key),), False
    key = tick * 1000 if data_type.precision == 0 else tick
    return _compared(op, key, key)


def _has_keys(data_type: DataType) -> bool:
    return key_format(data_type) is not None


def _drops_digits(data_type: DataType) -> bool:
    """Return whether several values may have the same key, because keys of timestamps have at most microseconds."""
    if not isinstance(data_type, AnyTimestampType):
        return False
    return data_type.precision > _MAX_MICRO_PRECISION


def _sought(values: Sequence[InternalValue], data_type: DataType) -> SoughtValues | None:
    """Return the values to look up; ``None`` if one is invalid for the type, though keys can be compared with it."""
    try:
        found = array_of(values, data_type)
    except InvalidData:
        return None
    if pa.types.is_floating(found.type) and pc.any(equal(found, 0)).as_py():
        # 0.0 and -0.0 are equal, but have different keys in indexes.
        found = pa.concat_arrays([found, pa.array([0.0, -0.0], found.type)])
    return SoughtValues(data_type, found)


def selected_rows(
    condition: Condition, row_count: int, not_null: Callable[[], BitMap], within: Callable[[KeyRange], BitMap]
) -> IndexResult:
    """Return the rows of a condition, given the non-null rows and a function that returns the rows of a key range.

    The result of ``within`` is not changed; it is called only with ranges that have a bound.
    """
    if condition.ranges is None:
        return UNKNOWN
    if condition.selects_nulls:
        return rows(BitMap(range(row_count)) - not_null())
    if EVERYTHING in condition.ranges:
        return SKIP if condition.is_negated else rows(not_null(), is_exact=condition.is_exact)
    found = BitMap.union(*map(within, condition.ranges)) if condition.ranges else BitMap()
    return rows(not_null() - found if condition.is_negated else found, is_exact=condition.is_exact)
