"""Computes the difference between two states of a bucket in bounded memory (Java ``IncrementalDiffSplitRead``).

Both states are rows in key order, one for each key, with all columns and ``_VALUE_KIND``. As in the merge, a step takes
from both the rows up to the smaller of their current last keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.merge import MergeSpec, RunCursor, grouped
from table_format.model.arrow_calls import concat_batches, equal, fill_null
from table_format.model.row_kind import RowKind
from table_format.model.schema import VALUE_KIND


def difference(
    before: Iterator[pa.RecordBatch], after: Iterator[pa.RecordBatch], key_columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the new and changed rows of the later state, and deletes for the rows that only the earlier state has.

    >>> old = pa.record_batch({"k": [1, 2, 3], "v": ["a", "b", "c"], "_VALUE_KIND": pa.array([0, 0, 0], pa.int8())})
    >>> new = pa.record_batch({"k": [2, 3, 4], "v": ["b", "x", "d"], "_VALUE_KIND": pa.array([0, 0, 0], pa.int8())})
    >>> [row for batch in difference(iter([old]), iter([new]), ["k"]) for row in batch.to_pylist()]
    [{'k': 1, 'v': 'a', '_VALUE_KIND': 3}, {'k': 3, 'v': 'x', '_VALUE_KIND': 0}, {'k': 4, 'v': 'd', '_VALUE_KIND': 0}]
    """
    old, new = RunCursor(before, key_columns), RunCursor(after, key_columns)
    spec = MergeSpec(tuple(key_columns), by_sequence_number=False)
    while not (old.is_exhausted or new.is_exhausted):
        bound = min(old.last_key, new.last_key)
        left, right = old.take_up_to(bound), new.take_up_to(bound)
        if left is not None and right is not None:
            yield from _non_empty(_compared(left, right, spec))
        elif left is not None:
            yield from _non_empty(_as_deletes(left))
        elif right is not None:
            yield right
    for batch in old.rest():
        yield from _non_empty(_as_deletes(batch))
    yield from new.rest()


def _compared(left: pa.RecordBatch, right: pa.RecordBatch, spec: MergeSpec) -> pa.RecordBatch:
    order, starts = grouped([left, right], spec)
    sizes = np.diff(np.append(starts, order.size))
    pairs = starts[sizes == 2]
    alone = order[starts[sizes == 1]]
    rows = concat_batches([_as_deletes(left, keep_all=True), right])
    old, new = order[pairs], order[pairs + 1]
    kinds = np.concatenate([_kinds(left), _kinds(right)])
    changed = kinds[old] % 2 != kinds[new] % 2
    before, after = rows.take(old), rows.take(new)
    for name in rows.schema.names:
        if name != VALUE_KIND.name:
            changed |= ~equal_values(before.column(name), after.column(name))
    # A key that was already deleted before has not changed.
    wanted = np.zeros(order.size, dtype=bool)
    wanted[alone[(alone >= left.num_rows) | (kinds[alone] % 2 == 0)]] = True
    wanted[new[changed]] = True
    return rows.take(order[wanted[order]])


def _as_deletes(batch: pa.RecordBatch, *, keep_all: bool = False) -> pa.RecordBatch:
    """Return the rows of the earlier state as deletes."""
    kinds = _kinds(batch)
    at = batch.schema.get_field_index(VALUE_KIND.name)
    deletes = np.full(kinds.size, RowKind.DELETE.value, dtype=np.int8)
    marked = batch.set_column(at, batch.schema.field(at), pa.array(deletes, batch.schema.field(at).type))
    return marked if keep_all else marked.filter(pa.array(kinds % 2 == 0))


def _kinds(batch: pa.RecordBatch) -> npt.NDArray[np.int8]:
    found: npt.NDArray[np.int8] = batch.column(VALUE_KIND.name).to_numpy()
    return found


def _non_empty(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.num_rows:
        yield batch


def equal_values(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    """Return a mask of values with the same stored form: null equals null, NaN equals NaN, and 0.0 is not -0.0.

    >>> equal_values(pa.array([1.0, None, float("nan"), 0.0]), pa.array([1.0, None, float("nan"), -0.0])).tolist()
    [True, True, True, False]
    """
    if pa.types.is_nested(left.type):
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        return np.fromiter((repr(a) == repr(b) for a, b in pairs), dtype=bool, count=len(left))
    if pa.types.is_floating(left.type):
        bits = pa.int32() if pa.types.is_float32(left.type) else pa.int64()
        left, right = left.view(bits), right.view(bits)
    same = fill_null(equal(left, right), False)
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    found: npt.NDArray[np.bool_] = pc.or_(same, both_null).to_numpy(zero_copy_only=False)
    return found
