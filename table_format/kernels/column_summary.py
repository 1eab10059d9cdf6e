"""Computes the column statistics of ANALYZE: distinct values, nulls, bounds and lengths.

Values are added in batches. The distinct values are kept, so counts are exact, and memory grows with their number. Java
``ColStats``; Spark's ANALYZE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.equal_numbers import with_equal_bits
from table_format.model.arrow_calls import binary_length, nulls, utf8_length
from table_format.model.types import (
    AnyTimestampType,
    BigIntType,
    BooleanType,
    BytesType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TextType,
    TimeType,
    TinyIntType,
)

_PENDING_VALUES: Final = 1 << 20
_COMPACT_PRECISION: Final = 18


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """The statistics of a column; ``minimum`` and ``maximum`` are arrays with one value or none.

    Lengths are in bytes, or in characters for text.
    """

    distinct_count: int
    null_count: int
    minimum: pa.Array
    maximum: pa.Array
    average_length: int
    maximum_length: int


class SummaryBuilder:
    """Counts one column batch by batch."""

    def __init__(self, data_type: DataType) -> None:
        self._type = data_type
        self._distinct: list[pa.Array] = []
        self._pending = 0
        self._nulls = 0
        self._rows = 0
        self._length = 0
        self._longest = 0

    def add(self, column: pa.Array) -> None:
        """Count the values of a batch."""
        self._rows += len(column)
        self._nulls += column.null_count
        present = column.drop_null()
        if len(present) == 0:
            return
        if isinstance(self._type, TextType | BytesType):
            lengths = (utf8_length if isinstance(self._type, TextType) else binary_length)(present)
            self._length += pc.sum(lengths).as_py()
            self._longest = max(self._longest, pc.max(lengths).as_py())
        if isinstance(self._type, FloatType | DoubleType):
            present = with_equal_bits(present)
        fresh = present.unique()
        self._distinct.append(fresh)
        self._pending += len(fresh)
        if self._pending > _PENDING_VALUES:
            self._fold()

    def summary(self) -> ColumnSummary:
        """Return the statistics so far."""
        distinct = self._fold()
        present = self._rows - self._nulls
        minimum, maximum = _bounds(distinct, self._type)
        average, longest = _fixed_length(self._type), _fixed_length(self._type)
        if isinstance(self._type, TextType | BytesType) and present:
            average, longest = -(-self._length // present), self._longest
        return ColumnSummary(len(distinct), self._nulls, minimum, maximum, average, longest)

    def _fold(self) -> pa.Array:
        if not self._distinct:
            return nulls(0)
        combined = self._distinct[0] if len(self._distinct) == 1 else pa.concat_arrays(self._distinct).unique()
        self._distinct, self._pending = [combined], 0
        return combined


def _bounds(distinct: pa.Array, data_type: DataType) -> tuple[pa.Array, pa.Array]:
    """Return the smallest and the largest value; text and bytes have none, and NaN is above every number."""
    if len(distinct) == 0 or isinstance(data_type, TextType | BytesType):
        return distinct[:0], distinct[:0]
    if isinstance(data_type, FloatType | DoubleType):
        nan = distinct.filter(pc.is_nan(distinct))[:1]
        numbers = distinct.filter(pc.invert(pc.is_nan(distinct)))
        if len(nan):
            return (_one(pc.min(numbers)) if len(numbers) else nan), nan
    return _one(pc.min(distinct)), _one(pc.max(distinct))


def _one(value: pa.Scalar) -> pa.Array:
    return pa.array([value], value.type) if not isinstance(value, pa.TimestampScalar) else _one_instant(value)


def _one_instant(value: pa.TimestampScalar) -> pa.Array:
    # Convert to a number, because Python's datetime is limited to year 9999 and to microseconds.
    return pa.array([value.value], pa.int64()).view(value.type)


def _fixed_length(data_type: DataType) -> int:
    """Return the size in bytes that Spark counts for a value; for text and bytes, its assumption without values."""
    match data_type:
        case BooleanType() | TinyIntType():
            return 1
        case SmallIntType():
            return 2
        case IntType() | FloatType() | DateType() | TimeType():
            return 4
        case BigIntType() | DoubleType() | AnyTimestampType():
            return 8
        case DecimalType(precision=precision):
            return 8 if precision <= _COMPACT_PRECISION else 16
        case TextType():
            return 20
    return 100
