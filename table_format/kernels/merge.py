"""Merges sorted runs that do not fit in memory: a k-way merge in steps over the current batch of every run.

A step takes from each run the rows up to the smallest of the current last keys. No key is split between steps, because
keys are unique in a run. Each step consumes a batch, so there are never more steps than batches. One batch of each run
and one merged slice are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from table_format.kernels.compiled import Backend, Int64Array, kernels_for
from table_format.kernels.engines import combine
from table_format.kernels.key_bounds import Key, SortedKeys, sorted_keys
from table_format.kernels.merge_order import RowIds
from table_format.kernels.merge_slices import LEVEL, MergeSpec, grouped, winners
from table_format.model.arrow_calls import concat_batches

__all__ = ["LEVEL", "MergeSpec", "grouped", "merge_batches", "winners"]


class RunCursor:
    """A read position in a run."""

    def __init__(self, batches: Iterator[pa.RecordBatch], key_columns: Sequence[str]) -> None:
        self._batches = batches
        self._key_columns = key_columns
        self._batch: pa.RecordBatch | None = None
        self._keys = SortedKeys((), 0)
        self._position = 0
        self._last: Key = ()
        self._advance()

    @property
    def is_exhausted(self) -> bool:
        return self._batch is None

    @property
    def last_key(self) -> Key:
        """The last key of the current batch."""
        return self._last

    def take_up_to(self, bound: Key) -> pa.RecordBatch | None:
        """Return the next rows with keys up to ``bound``; ``None`` if there are none."""
        assert self._batch is not None  # noqa: S101 - not called for exhausted runs
        end = self._keys.row_count if self._last <= bound else self._keys.count_up_to(bound, self._position)
        part = self._batch.slice(self._position, end - self._position)
        self._position = end
        if end == self._keys.row_count:
            self._advance()
        return part if part.num_rows else None

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Yield the rest of the run."""
        if self._batch is not None:
            yield self._batch.slice(self._position)
            self._batch = None
            yield from (batch for batch in self._batches if batch.num_rows)

    def _advance(self) -> None:
        self._batch = next((batch for batch in self._batches if batch.num_rows), None)
        self._position = 0
        if self._batch is not None:
            self._keys = sorted_keys(self._batch, self._key_columns)
            self._last = self._keys.key(self._keys.row_count - 1)


def merge_batches(
    runs: Sequence[Iterator[pa.RecordBatch]],
    spec: MergeSpec,
    *,
    ordered: bool = True,
    backend: Backend = Backend.AUTO,
) -> Iterator[pa.RecordBatch]:
    """Merge runs, oldest first, each sorted by key with unique keys, into one row for each key, with all columns.

    Batches are in key order, and with ``ordered`` also the rows in them. Otherwise the rows of a step may be in run
    order, which is cheaper if the last version wins. Rows of a key range that only one run has are returned without a
    copy.

    >>> old, new = pa.record_batch({"k": [1, 2], "v": ["a", "b"]}), pa.record_batch({"k": [2], "v": ["c"]})
    >>> merged = merge_batches([iter([old]), iter([new])], MergeSpec(("k",), by_sequence_number=False))
    >>> [row for batch in merged for row in batch.to_pylist()]
    [{'k': 1, 'v': 'a'}, {'k': 2, 'v': 'c'}]

    Raises:
        InvalidData: a column that the specification needs is missing, or a key is null.
        RetractNotSupported: the merge engine does not support a retract.
    """
    merged_rows = 0
    for parts in merge_steps(runs, spec.key_columns):
        if len(parts) == 1:
            yield parts[0]
            continue
        merged_rows += sum(part.num_rows for part in parts)
        step_backend = _backend_of_step(merged_rows, backend)
        if spec.engine is not None:
            yield from _combined(parts, spec, step_backend)
        else:
            yield from (_merged if ordered else _masked)(parts, spec, step_backend)


def merge_steps(runs: Sequence[Iterator[pa.RecordBatch]], key_columns: Sequence[str]) -> Iterator[list[pa.RecordBatch]]:
    """Yield the steps of a merge, one key range each: the parts of the runs that have rows in it, oldest first.

    >>> runs = [iter([pa.record_batch({"k": [1, 2, 5]})]), iter([pa.record_batch({"k": [2]})])]
    >>> [[part.column("k").to_pylist() for part in step] for step in merge_steps(runs, ["k"])]
    [[[1, 2], [2]], [[5]]]
    """
    live = [cursor for run in runs if not (cursor := RunCursor(run, key_columns)).is_exhausted]
    while len(live) > 1:
        bound = min(cursor.last_key for cursor in live)
        yield [part for cursor in live if (part := cursor.take_up_to(bound)) is not None]
        live = [cursor for cursor in live if not cursor.is_exhausted]
    for cursor in live:
        for batch in cursor.rest():
            yield [batch]


def _backend_of_step(merged_rows: int, backend: Backend) -> Backend:
    """Choose the backend by the number of rows of the whole stream so far, because a single step is always small."""
    if backend is Backend.AUTO and kernels_for(merged_rows) is not None:
        return Backend.COMPILED
    return backend


def _merged(parts: Sequence[pa.RecordBatch], spec: MergeSpec, backend: Backend) -> Iterator[pa.RecordBatch]:
    rows = winners(parts, spec, backend=backend)
    if rows.size:
        yield concat_batches(parts).take(rows)


def _combined(parts: Sequence[pa.RecordBatch], spec: MergeSpec, backend: Backend) -> Iterator[pa.RecordBatch]:
    assert spec.engine is not None  # noqa: S101 - required by the caller
    order, starts = grouped(parts, spec, backend=backend)
    rows = concat_batches(parts)
    if spec.lowest_level_only:
        order, starts = _without_outdated(rows, order, starts)
    merged = combine(rows, starts, spec.engine, order=order)
    if merged.num_rows:
        yield merged


def _without_outdated(rows: pa.RecordBatch, order: RowIds, starts: Int64Array) -> tuple[RowIds, Int64Array]:
    levels = rows.column(rows.schema.get_field_index(LEVEL)).to_numpy()[order]
    is_high = levels > 0
    lowest = np.minimum.reduceat(np.where(is_high, levels, np.iinfo(levels.dtype).max), starts)
    kept = ~is_high | (levels == np.repeat(lowest, np.diff(np.append(starts, order.size))))
    return order[kept], np.append(0, np.cumsum(np.add.reduceat(kept, starts, dtype=np.int64))[:-1])


def _masked(parts: Sequence[pa.RecordBatch], spec: MergeSpec, backend: Backend) -> Iterator[pa.RecordBatch]:
    kept = np.zeros(sum(part.num_rows for part in parts), dtype=bool)
    kept[winners(parts, spec, backend=backend)] = True
    first = 0
    for part in parts:
        mask = kept[first : first + part.num_rows]
        first += part.num_rows
        if mask.all():
            yield part
        elif mask.any():
            yield part.filter(pa.array(mask))
