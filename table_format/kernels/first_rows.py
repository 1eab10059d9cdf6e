"""Finds the first rows in an order among batches in any order. It keeps at most about twice as many rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.key_words import SortColumn, encode
from table_format.model.row_order import OrderedColumn, RowLimit

_MIN_ROWS_TO_SORT: Final = 65_536


def first_rows(batches: Iterable[pa.RecordBatch], limit: RowLimit) -> Iterator[pa.RecordBatch]:
    """Yield the first rows of all batches in the order of the limit; without an order, any rows.

    >>> rows = [pa.record_batch({"a": [3, None, 1]}), pa.record_batch({"a": [2, 9]})]
    >>> limit = RowLimit(2, (OrderedColumn("a", descending=True, nulls_first=False),))
    >>> [batch.to_pydict() for batch in first_rows(rows, limit)]
    [{'a': [9, 3]}]
    """
    return _sorted(batches, limit) if limit.order else _cut(batches, limit.count)


def _cut(batches: Iterable[pa.RecordBatch], count: int) -> Iterator[pa.RecordBatch]:
    left = count
    if not left:
        return
    for batch in batches:
        yield batch.slice(0, left)
        left -= min(left, batch.num_rows)
        if not left:
            return


def _sorted(batches: Iterable[pa.RecordBatch], limit: RowLimit) -> Iterator[pa.RecordBatch]:
    held: list[pa.RecordBatch] = []
    rows = kept = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows - kept >= max(limit.count, _MIN_ROWS_TO_SORT):
            held = _first(held, limit)
            rows = kept = sum(each.num_rows for each in held)
    yield from _first(held, limit)


def _first(batches: list[pa.RecordBatch], limit: RowLimit) -> list[pa.RecordBatch]:
    if not batches:
        return []
    rows = pa.Table.from_batches(batches)
    found: list[pa.RecordBatch] = rows.take(_places(rows, limit)).to_batches()
    return found


def _places(rows: pa.Table, limit: RowLimit) -> npt.NDArray[np.int64]:
    """Return the positions of the first rows, in order."""
    if not rows.num_rows:
        return np.empty(0, np.int64)
    words = encode([column for ordered in limit.order for column in _sort_columns(rows, ordered)])
    if not words:
        return np.arange(min(limit.count, rows.num_rows))
    order: npt.NDArray[np.int64] = np.lexsort(words[::-1])
    return order[: limit.count]


def _sort_columns(rows: pa.Table, ordered: OrderedColumn) -> Iterator[SortColumn]:
    pieces = tuple(rows.column(ordered.column).chunks)
    if not ordered.nulls_first:
        # In words, null comes before all values.
        yield SortColumn(tuple(piece.is_null() for piece in pieces))
    yield SortColumn(pieces, ordered.descending)
