"""Computes count, sum and extremes of columns by group, from Arrow batches, and combines the totals of several parts.

Sums are Python integers of any size: numbers are added in 32-bit parts, so that no addition overflows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.aggregates.buffers import decimal_words, numbers, validity
from table_format.kernels.equal_numbers import with_equal_bits
from table_format.kernels.values import values_of
from table_format.model.types import DataField, DataType, DecimalType, FloatingType, IntegerType, InternalValue

_HALF: Final = 32
_LOW_HALF: Final = 2**_HALF - 1
_MAX_ROWS: Final = 2**30
"""The number of 32-bit parts whose sum always fits into a 64-bit integer."""


@dataclass(frozen=True, slots=True)
class ColumnTotals:
    """The totals of the non-null values of a column; extremes are internal values, or ``None`` if there are none.

    Extremes are also ``None`` if only the count is wanted. ``total`` is the sum of integers, or of the unscaled values
    of DECIMAL, and is undefined for other types.
    """

    count: int = 0
    total: int = 0
    minimum: InternalValue = None
    maximum: InternalValue = None

    def plus(self, other: ColumnTotals) -> ColumnTotals:
        """Return the totals of the values of both.

        >>> ColumnTotals(1, 5, 5, 5).plus(ColumnTotals(2, 3, 1, 2))
        ColumnTotals(count=3, total=8, minimum=1, maximum=5)
        """
        low = [each for each in (self.minimum, other.minimum) if each is not None]
        high = [each for each in (self.maximum, other.maximum) if each is not None]
        return ColumnTotals(
            self.count + other.count,
            self.total + other.total,
            min(cast("list[Any]", low), default=None),
            max(cast("list[Any]", high), default=None),
        )


@dataclass(frozen=True, slots=True)
class GroupTotals:
    """The rows of a group, and the totals of some columns over them."""

    rows: int
    columns: tuple[ColumnTotals, ...] = ()

    def plus(self, other: GroupTotals) -> GroupTotals:
        """Return the totals of the rows of both."""
        pairs = zip(self.columns, other.columns, strict=True)
        return GroupTotals(self.rows + other.rows, tuple(one.plus(more) for one, more in pairs))

    def times(self, number: int) -> GroupTotals:
        """Return the totals of these rows, repeated ``number`` times; ``number`` is at least 1.

        >>> GroupTotals(1, (ColumnTotals(1, 5, 5, 5),)).times(3)
        GroupTotals(rows=3, columns=(ColumnTotals(count=3, total=15, minimum=5, maximum=5),))
        """
        columns = (replace(each, count=each.count * number, total=each.total * number) for each in self.columns)
        return GroupTotals(self.rows * number, tuple(columns))


Groups: TypeAlias = Mapping[InternalValue, GroupTotals]
"""Totals by group value; a single group ``None`` if rows are not grouped."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns to total; ``with_numbers`` are those that need sum and extremes in addition to the count."""

    columns: tuple[DataField, ...] = ()
    with_numbers: frozenset[str] = frozenset()
    group_by: DataField | None = None


def united(parts: Iterable[Groups]) -> Groups:
    """Return the combined totals of all parts, by group."""
    found: dict[InternalValue, GroupTotals] = {}
    for part in parts:
        for key, totals in part.items():
            value = group_value(key)
            found[value] = found[value].plus(totals) if value in found else totals
    return found


def group_value(value: InternalValue) -> InternalValue:
    """Return the representative of a group: 0.0 and -0.0 belong to one group, and so do all NaNs.

    >>> group_value(-0.0), group_value(float("-nan")) is group_value(float("nan"))
    (0.0, True)
    """
    if not isinstance(value, float):
        return value
    return math.nan if value != value else value + 0.0


def totals_of(batch: pa.RecordBatch, wanted: Wanted) -> Groups:
    """Return the totals of a batch by group; columns must have their ``arrow_type``."""
    if len(batch) > _MAX_ROWS:
        starts = range(0, len(batch), _MAX_ROWS)
        return united(totals_of(batch.slice(start, _MAX_ROWS), wanted) for start in starts)
    if wanted.group_by is None:
        columns = (_of_column(batch.column(f.name), f, f.name in wanted.with_numbers) for f in wanted.columns)
        return {None: GroupTotals(len(batch), tuple(columns))}
    return _grouped(batch, wanted, wanted.group_by)


def _of_column(array: pa.Array, field: DataField, with_numbers: bool) -> ColumnTotals:  # noqa: FBT001
    count = len(array) - array.null_count
    if not with_numbers or not count:
        return ColumnTotals(count)
    extremes = pc.min_max(array)
    low, high = values_of(pa.array([extremes["min"], extremes["max"]], array.type), field.type)
    sums = [int(part.sum()) for part in _parts(array, field.type)]
    return ColumnTotals(count, _joined(sums), low, high)


def _parts(array: pa.Array, data_type: DataType) -> list[npt.NDArray[np.int64]]:
    """Return the numbers of a column in 32-bit parts, lowest first, 0 for null; empty for types without a sum."""
    match data_type:
        case IntegerType():
            words = numbers(array, np.dtype(f"i{array.type.bit_width // 8}")).astype(np.int64)
            parts = [words & _LOW_HALF, words >> _HALF]
        case DecimalType():
            low, high = decimal_words(array)
            halves = (low & np.uint64(_LOW_HALF), low >> np.uint64(_HALF))
            parts = [*(half.astype(np.int64) for half in halves), high & _LOW_HALF, high >> _HALF]
        case _:
            return []
    valid = validity(array)
    return parts if valid.all() else [np.where(valid, part, 0) for part in parts]


def _joined(sums: Sequence[int]) -> int:
    return sum(part << (_HALF * place) for place, part in enumerate(sums))


def _grouped(batch: pa.RecordBatch, wanted: Wanted, group_by: DataField) -> Groups:
    keys = batch.column(group_by.name)
    if isinstance(group_by.type, FloatingType):
        keys = with_equal_bits(keys)
    arrays, names = [keys], ["key"]
    calls: list[Any] = [("key", "count", pc.CountOptions(mode="all"))]
    for at, field in enumerate(wanted.columns):
        values = batch.column(field.name)
        arrays.append(values)
        names.append(f"v{at}")
        calls.append((f"v{at}", "count", None))
        if field.name in wanted.with_numbers:
            calls += [(f"v{at}", "min", None), (f"v{at}", "max", None)]
            for place, part in enumerate(_parts(values, field.type)):
                arrays.append(pa.array(part))
                names.append(f"v{at}p{place}")
                calls.append((f"v{at}p{place}", "sum", None))
    found = pa.table(arrays, names=names).group_by("key", use_threads=False).aggregate(calls)
    columns = [_of_groups(found, f"v{at}", field, wanted) for at, field in enumerate(wanted.columns)]
    rows = cast("list[int]", found["key_count"].to_pylist())
    groups = values_of(found["key"].combine_chunks(), group_by.type)
    by_group = zip(*columns, strict=True) if columns else ((),) * len(rows)
    each = zip(groups, rows, by_group, strict=True)
    return united({group: GroupTotals(count, tuple(totals))} for group, count, totals in each)


def _of_groups(found: pa.Table, name: str, field: DataField, wanted: Wanted) -> list[ColumnTotals]:
    counts = cast("list[int]", found[f"{name}_count"].to_pylist())
    if field.name not in wanted.with_numbers:
        return [ColumnTotals(count) for count in counts]
    sums = [found[column].to_pylist() for column in found.column_names if column.startswith(f"{name}p")]
    totals = [_joined(parts) for parts in zip(*sums, strict=True)] if sums else [0] * len(counts)
    low, high = (values_of(found[f"{name}_{end}"].combine_chunks(), field.type) for end in ("min", "max"))
    return list(map(ColumnTotals, counts, totals, low, high))
