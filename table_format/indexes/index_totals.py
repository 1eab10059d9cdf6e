"""Computes totals of the rows of a data file from its indexes, without opening the file.

Bit slices give the sum, minimum and maximum of a column, bitmaps give the groups, and every index that finds rows gives
the count of values that are not null. An index that does not hold the exact values is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyroaring import BitMap, FrozenBitMap

from table_format.indexes.file_index import FileIndex
from table_format.kernels.file_index.conditions import are_kept_by_orc
from table_format.kernels.file_index.keys import Key, value_of_key
from table_format.kernels.file_index.results import Rows, Skip
from table_format.kernels.totals import ColumnTotals, Groups, GroupTotals, Wanted, united
from table_format.model.predicate import IsNull, Not, Predicate
from table_format.model.ticks import tick_range
from table_format.model.types import AnyTimestampType, DataField, InternalValue

_MAX_GROUPS: Final = 256
"""The maximum number of groups to combine from bitmaps. With more, reading the columns is as fast."""
_MAX_MICRO_PRECISION: Final = 6
"""The maximum precision of timestamps. Index keys truncate timestamps with more digits."""


def index_totals(
    index: FileIndex,
    row_count: int,
    condition: Predicate | None,
    deleted: BitMap | None,
    wanted: Wanted,
    *,
    selected: FrozenBitMap | None = None,
) -> Groups | None:
    """Return the totals of the rows that meet the condition and are not deleted; ``None`` if the indexes cannot decide.

    ``row_count`` is the number of rows of the file; Without a ``condition``, all rows count, or those in ``selected``.

    Raises:
        CorruptionError: an index that is needed is damaged.
    """
    chosen: BitMap | None = None if selected is None else BitMap(selected)
    if condition is not None:
        match index.evaluate(condition):
            case Skip():
                return {}
            case Rows(positions, is_exact=True):
                chosen = positions
            case _:
                return None
    if deleted is not None:
        chosen = (BitMap(range(row_count)) if chosen is None else chosen) - deleted
    if wanted.group_by is not None:
        return _by_group(index, row_count, chosen, wanted, wanted.group_by)
    totals = _totals(index, row_count, chosen, wanted)
    return None if totals is None else {None: totals}


def _by_group(
    index: FileIndex, row_count: int, rows: BitMap | None, wanted: Wanted, group_by: DataField
) -> Groups | None:
    reader = index.groups(group_by)
    if reader is None:
        return None
    if not wanted.columns:
        counts, nulls = reader.group_counts(rows)
        values = exact_values(index, [key for key, _ in counts], group_by)
        if values is None:
            return None
        groups = ({value: GroupTotals(count)} for value, (_, count) in zip(values, counts, strict=True))
        return united([*groups, {None: GroupTotals(nulls)} if nulls else {}])
    if reader.key_count > _MAX_GROUPS:
        return None
    found = reader.groups(rows)
    values = exact_values(index, [key for key, _ in found], group_by)
    if values is None:
        return None
    parts: list[Groups] = []
    for value, (_, members) in zip(values, found, strict=True):
        totals = _totals(index, row_count, members, wanted)
        if totals is None:
            return None
        parts.append({value: totals})
    return united(parts)


def _totals(index: FileIndex, row_count: int, rows: BitMap | None, wanted: Wanted) -> GroupTotals | None:
    columns: list[ColumnTotals] = []
    for field in wanted.columns:
        found = (_numbers if field.name in wanted.with_numbers else _count)(index, rows, field)
        if found is None:
            return None
        columns.append(found)
    return GroupTotals(row_count if rows is None else len(rows), tuple(columns))


def _count(index: FileIndex, rows: BitMap | None, field: DataField) -> ColumnTotals | None:
    match index.evaluate(Not(IsNull(field.name))):
        case Skip():
            return ColumnTotals()
        case Rows(positions, is_exact=True):
            return ColumnTotals(len(positions) if rows is None else positions.intersection_cardinality(rows))
        case _:
            return None


def _numbers(index: FileIndex, rows: BitMap | None, field: DataField) -> ColumnTotals | None:
    reader = index.numbers(field)
    if reader is None:
        return None
    found = reader.aggregate(rows)
    extremes = exact_values(index, [found.minimum, found.maximum], field)
    return None if extremes is None else ColumnTotals(found.count, found.total, *extremes)


def exact_values(index: FileIndex, keys: Sequence[Key | None], field: DataField) -> list[InternalValue] | None:
    """Return the values of keys; ``None`` if a key is not exactly the value that a reader of the data file gets."""
    if isinstance(field.type, AnyTimestampType) and field.type.precision > _MAX_MICRO_PRECISION:
        return None
    known = [key for key in keys if key is not None]
    if index.is_orc and not are_kept_by_orc(known, field.type):
        return None
    ticks = tick_range(field.type)
    if ticks is not None and not all(key in ticks for key in known):
        return None  # the index is damaged, or holds values that the column cannot have
    try:
        return [None if key is None else value_of_key(key, field.type) for key in keys]
    except UnicodeDecodeError:
        return None
