"""Finds the winning version of each key in sorted runs, all at once or batch by batch in bounded memory.

Versions of a key are ordered by the sequence columns of the user, then ``_SEQUENCE_NUMBER``, then retracts before adds,
then the age of their run; the last one wins (format chapter 12, sections 1 and 2; Java ``SortMergeReaderWithMinHeap``,
``DeduplicateMergeFunction``). A key with one version bypasses the merge function (``ReducerMergeFunctionWrapper``):
``ignore_delete`` does not apply to a single retract. Winning retracts are rows of the result; readers drop them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidData
from table_format.kernels.compiled import Backend, CompiledKernels, Int64Array, kernels_for
from table_format.kernels.engines.spec import Engine
from table_format.kernels.key_bounds import Key, SortedKeys, key_array, sorted_keys
from table_format.kernels.key_words import SortColumn, WordColumns, encode, integers
from table_format.kernels.merge_order import (
    Mask,
    RowIds,
    all_by_integer,
    all_by_words,
    as_integer,
    ends_of_groups,
    newest_by_integer,
    newest_by_words,
    order_versions,
    starts_of_groups,
)
from table_format.model.arrow_calls import bit_wise_and, equal
from table_format.model.row_kind import RowKind
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND

LEVEL: Final = "_LEVEL"
"""The column with the level of the file of a row."""

_RANGE_ROWS: Final = 65_536
"""Keys that need encoding are merged in ranges of about this many rows, so that words fit into the cache."""


@dataclass(frozen=True, slots=True)
class MergeSpec:
    """How versions of a key are identified and ordered.

    With ``by_sequence_number=False``, runs have disjoint ranges of sequence numbers and are ordered oldest first, so
    the age of the run replaces ``_SEQUENCE_NUMBER``, which need not be read. ``engine`` combines all versions of a key
    to one row. Without it, the last version wins (``deduplicate``), and only then ``ignore_delete`` is used here. With
    ``lowest_level_only`` rows have the column ``_LEVEL``, and of the versions above level 0, an engine gets only the
    one on the lowest level (Java ``LookupMergeFunction``).
    """

    key_columns: tuple[str, ...]
    sequence_columns: tuple[str, ...] = ()
    sequence_descending: bool = False
    by_sequence_number: bool = True
    engine: Engine | None = None
    ignore_delete: bool = False
    lowest_level_only: bool = False


def winners(slices: Sequence[pa.RecordBatch], spec: MergeSpec, *, backend: Backend = Backend.AUTO) -> RowIds:
    """Return the winning row of each key, in key order, as row ids in the concatenation of ``slices``.

    There is one slice for each run, oldest first, each sorted by key with unique keys. With ``ignore_delete``, a key
    with several versions that are all retracts has no row.

    >>> runs = [pa.record_batch({"k": [1, 2, 5]}), pa.record_batch({"k": [2, 3]})]
    >>> winners(runs, MergeSpec(("k",), by_sequence_number=False)).tolist()
    [0, 3, 4, 2]

    Raises:
        InvalidData: a column that the specification needs is missing, or a key is null.
    """
    if spec.ignore_delete and any(_has_retracts(s) for s in slices):
        return last_versions(*_grouped(slices, spec, backend), slices, spec)
    kernels = kernels_for(sum(s.num_rows for s in slices), backend)
    parts = [_place(_winners(part, spec, kernels), part, firsts) for part, firsts in _ranges(slices, spec)]
    return _joined(parts)


def grouped(
    slices: Sequence[pa.RecordBatch],
    spec: MergeSpec,
    *,
    backend: Backend = Backend.AUTO,
) -> tuple[RowIds, Int64Array]:
    """Return all versions in merge order (by key, oldest version first), and the start of each key in that order.

    >>> runs = [pa.record_batch({"k": [1, 2]}), pa.record_batch({"k": [2, 3]})]
    >>> order, starts = grouped(runs, MergeSpec(("k",), by_sequence_number=False))
    >>> order.tolist(), starts.tolist()
    ([0, 1, 2, 3], [0, 1, 3])
    """
    order, repeats = _grouped(slices, spec, backend)
    return order, starts_of_groups(repeats)


def last_versions(order: RowIds, repeats: Mask, slices: Sequence[pa.RecordBatch], spec: MergeSpec) -> RowIds:
    """Return the winner of each key among versions in merge order; ``repeats`` marks rows that repeat a key."""
    if spec.ignore_delete and any(_has_retracts(s) for s in slices):
        return _without_ignored(order, repeats, _is_retract(slices))
    return order[ends_of_groups(repeats)]


def version_columns(batches: Sequence[pa.RecordBatch], spec: MergeSpec) -> list[SortColumn]:
    """Return the columns that order the versions of a key, most significant first."""
    columns = [
        SortColumn(tuple(_column(b, name) for b in batches), spec.sequence_descending) for name in spec.sequence_columns
    ]
    if spec.by_sequence_number:
        columns.append(SortColumn(tuple(_column(b, SEQUENCE_NUMBER.name) for b in batches)))
        if any(_has_retracts(b) for b in batches):
            columns.append(SortColumn((pa.array(~_is_retract(batches)),)))
    return columns


def _winners(slices: Sequence[pa.RecordBatch], spec: MergeSpec, kernels: CompiledKernels | None) -> RowIds:
    if len(slices) == 1:
        return np.arange(slices[0].num_rows, dtype=np.int32)
    versions = _versions(slices, spec)
    runs = _integer_keys(slices, spec)
    if runs is None:
        words = _key_words(slices, spec)
        row_count = sum(s.num_rows for s in slices)
        keys = as_integer(words, row_count)
        if keys is None:
            lengths = [s.num_rows for s in slices]
            if not versions:
                return newest_by_words(words, lengths, kernels)
            order, repeats = all_by_words(words, lengths, kernels)
            return order_versions(order, repeats, versions)[ends_of_groups(repeats)]
        runs = _cut(keys, slices)
    if len(versions) < 2:
        version = as_integer(versions, 0) if versions else None
        return newest_by_integer(runs, kernels, version)
    order, repeats = all_by_integer(runs, kernels)
    return order_versions(order, repeats, versions)[ends_of_groups(repeats)]


def _grouped(slices: Sequence[pa.RecordBatch], spec: MergeSpec, backend: Backend) -> tuple[RowIds, Mask]:
    kernels = kernels_for(sum(s.num_rows for s in slices), backend)
    orders, masks = [], []
    for part, firsts in _ranges(slices, spec):
        order, repeats = _all_rows(part, spec, kernels)
        versions = _versions(part, spec)
        orders.append(_place(order_versions(order, repeats, versions), part, firsts))
        masks.append(repeats)
    return _joined(orders), np.concatenate(masks) if masks else np.empty(0, dtype=bool)


def _all_rows(
    slices: Sequence[pa.RecordBatch], spec: MergeSpec, kernels: CompiledKernels | None
) -> tuple[RowIds, Mask]:
    runs = _integer_keys(slices, spec)
    if runs is None:
        words = _key_words(slices, spec)
        keys = as_integer(words, sum(s.num_rows for s in slices))
        if keys is None:
            return all_by_words(words, [s.num_rows for s in slices], kernels)
        runs = _cut(keys, slices)
    return all_by_integer(runs, kernels)


def _integer_keys(slices: Sequence[pa.RecordBatch], spec: MergeSpec) -> list[Int64Array] | None:
    """Return the keys without a copy if the key is one column that fits into 64 bits, else ``None``."""
    if len(spec.key_columns) != 1:
        return None
    runs = [integers(key_array(s, spec.key_columns[0])) for s in slices]
    known = [run for run in runs if run is not None]
    return known if len(known) == len(runs) else None


def _key_words(slices: Sequence[pa.RecordBatch], spec: MergeSpec) -> WordColumns:
    pieces = [tuple(key_array(s, name) for s in slices) for name in spec.key_columns]
    # Slices are sorted by the whole key, and so by its first column.
    return encode([SortColumn(piece, is_sorted=at == 0) for at, piece in enumerate(pieces)])


def _versions(slices: Sequence[pa.RecordBatch], spec: MergeSpec) -> WordColumns:
    """Return words that order versions; none if the order of the runs is sufficient."""
    if spec.by_sequence_number and not spec.sequence_columns and _is_ordered_by_sequence(slices):
        return ()
    return encode(version_columns(slices, spec))


def _is_ordered_by_sequence(slices: Sequence[pa.RecordBatch]) -> bool:
    highest = None
    for batch in slices:
        numbers = _column(batch, SEQUENCE_NUMBER.name).to_numpy()
        if numbers.size == 0:
            continue
        if highest is not None and int(numbers.min()) <= highest:
            return False
        highest = int(numbers.max())
    return True


def _cut(keys: Int64Array, slices: Sequence[pa.RecordBatch]) -> list[Int64Array]:
    ends = np.cumsum([s.num_rows for s in slices])
    return np.split(keys, ends[:-1])


# --- ranges of keys --------------------------------------------------------------------------------------------------


def _ranges(
    slices: Sequence[pa.RecordBatch],
    spec: MergeSpec,
) -> Iterator[tuple[list[pa.RecordBatch], list[int]]]:
    """Yield the input in key ranges, each with the first row id of its slices; only one range for integer keys."""
    firsts = [0, *np.cumsum([s.num_rows for s in slices]).tolist()][:-1]
    live = [(s, first) for s, first in zip(slices, firsts, strict=True) if s.num_rows]
    if not live:
        return
    total = sum(s.num_rows for s, _ in live)
    count = 1 if _integer_keys(slices[:1], spec) else total // _RANGE_ROWS
    if count <= 1 or len(live) == 1:
        yield [s for s, _ in live], [first for _, first in live]
        return
    keys = [sorted_keys(s, spec.key_columns) for s, _ in live]
    done = [0] * len(live)
    for bound in _cut_points(keys, count):
        ends = [k.row_count if bound is None else k.count_up_to(bound, at) for k, at in zip(keys, done, strict=True)]
        part = [
            (s.slice(at, end - at), first + at)
            for (s, first), at, end in zip(live, done, ends, strict=True)
            if end > at
        ]
        done = ends
        if part:
            yield [s for s, _ in part], [first for _, first in part]


def _cut_points(keys: Sequence[SortedKeys], count: int) -> list[Key | None]:
    longest = max(keys, key=lambda k: k.row_count)
    inner: list[Key | None] = [longest.key(longest.row_count * i // count) for i in range(1, count)]
    return [*inner, None]


def _place(rows: RowIds, part: Sequence[pa.RecordBatch], firsts: Sequence[int]) -> RowIds:
    """Convert row ids of a range to row ids of the whole input."""
    dtype = np.int32 if firsts[-1] + part[-1].num_rows < 2**31 else np.int64
    ids = np.concatenate([np.arange(f, f + s.num_rows, dtype=dtype) for s, f in zip(part, firsts, strict=True)])
    if int(ids[-1]) == ids.size - 1:
        return rows
    return ids[rows]


def _joined(parts: Sequence[RowIds]) -> RowIds:
    if not parts:
        return np.empty(0, dtype=np.int32)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


# --- retracts --------------------------------------------------------------------------------------------------------


def _without_ignored(order: RowIds, repeats: Mask, is_retract: Mask) -> RowIds:
    """Return the last add of each key; a key with one version keeps it, whatever its kind."""
    starts = starts_of_groups(repeats)
    sizes = np.diff(np.append(starts, order.size))
    positions = np.where(is_retract[order], -1, np.arange(order.size))
    last = np.maximum.reduceat(positions, starts) if starts.size else starts
    last = np.where(sizes == 1, starts, last)
    return order[last[last >= 0]]


def _has_retracts(batch: pa.RecordBatch) -> bool:
    # Readers omit the column if the metadata of the files shows that there are no deletes.
    if VALUE_KIND.name not in batch.schema.names:
        return False
    return bool(pc.any(_retracts_of(_column(batch, VALUE_KIND.name))).as_py())


def _is_retract(slices: Sequence[pa.RecordBatch]) -> Mask:
    return np.concatenate([_retracts_of(_column(s, VALUE_KIND.name)).to_numpy(zero_copy_only=False) for s in slices])


def _retracts_of(kinds: pa.Array) -> pa.BooleanArray:
    # The retracts -U (1) and -D (3) are the odd kinds.
    return equal(bit_wise_and(kinds, pa.scalar(RowKind.UPDATE_BEFORE.value, kinds.type)), 1)


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    at = batch.schema.get_field_index(name)
    if at < 0:
        message = f"column '{name}' is needed to merge and is missing; the columns are {', '.join(batch.schema.names)}"
        raise InvalidData(message)
    return batch.column(at)
