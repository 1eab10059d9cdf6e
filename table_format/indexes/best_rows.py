"""Finds the first rows of a data file in a sort order from its indexes, without opening the file.

Corresponds to Java ``RangeBitmapFileIndex.visitTopN``. Here, bit slices do the same for numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyroaring import BitMap

from table_format.indexes.file_index import FileIndex
from table_format.indexes.index_totals import exact_values
from table_format.kernels.file_index.keys import Key
from table_format.kernels.file_index.results import Rows
from table_format.kernels.row_places import place_of
from table_format.model.predicate import Compare, CompareOp
from table_format.model.row_order import OrderedColumn
from table_format.model.types import AnyTimestampType, DataField, InternalValue

_MAX_SHARE_OF_TIES: Final = 0.5
"""The maximum fraction of the rows of a file. If more rows share the last value, reading all rows is as fast."""
_MAX_MICRO_PRECISION: Final = 6
"""The maximum precision of timestamps. Index keys truncate timestamps with more digits and lose their order."""


@dataclass(frozen=True, slots=True)
class BestRows:
    """Positions of rows in the file and the value of each row in the column, in any order."""

    positions: list[int]
    values: list[InternalValue]


def best_rows(
    index: FileIndex, field: DataField, order: OrderedColumn, count: int, rows: BitMap, *, with_ties: bool
) -> BestRows | None:
    """Return the first ``count`` of these rows, or all if there are fewer. ``None`` if the indexes cannot decide.

    If several rows have the last value, any of them are returned; with ``with_ties``, all of them.

    Raises:
        CorruptionError: an index that is needed is damaged.
    """
    if isinstance(field.type, AnyTimestampType) and field.type.precision > _MAX_MICRO_PRECISION:
        return None
    ranking = index.ranking(field)
    if ranking is None:
        return None
    with_value, nulls = rows & ranking.not_null, rows - ranking.not_null
    positions: list[int] = list(nulls[:count]) if order.nulls_first else []
    values: list[InternalValue] = [None] * len(positions)
    keys: list[Key] = []
    for found, found_keys in ranking.best_rows(with_value, count - len(positions), largest=order.descending):
        positions += found
        keys += found_keys
    exact = exact_values(index, keys, field)
    if exact is None:
        return None
    values += exact
    if not order.nulls_first:
        further = list(nulls[: count - len(positions)])
        positions += further
        values += [None] * len(further)
    best = BestRows(positions, values)
    return _with_ties(index, order, best, rows, nulls) if with_ties and len(positions) == count else best


def _with_ties(index: FileIndex, order: OrderedColumn, best: BestRows, rows: BitMap, nulls: BitMap) -> BestRows | None:
    last = max(best.values, key=lambda value: place_of(value, order))
    if last is None:
        ties = nulls
    else:
        match index.evaluate(Compare(order.column, CompareOp.EQ, last)):
            case Rows(positions, is_exact=True):
                ties = positions & rows
            case _:
                return None
    further = ties - BitMap(best.positions)
    if len(further) > _MAX_SHARE_OF_TIES * index.row_count:
        return None
    return BestRows([*best.positions, *further], [*best.values, *[last] * len(further)])
