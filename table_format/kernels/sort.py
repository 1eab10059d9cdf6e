"""Sorts rows in any order: the write buffer's sort by key, and sorts by any columns.

Java ``SortBufferWriteBuffer``: rows are sorted by key, then by the user's sequence columns, then by arrival, and the
versions of each key are merged before the file is written (format chapter 12, section 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from table_format.errors import InvalidData
from table_format.kernels.compiled import UInt64Array
from table_format.kernels.engines import combine
from table_format.kernels.key_bounds import key_array
from table_format.kernels.key_words import SortColumn, WordColumns, encode
from table_format.kernels.merge_order import Mask, RowIds, order_versions, repeats_of, starts_of_groups
from table_format.kernels.merge_slices import MergeSpec, last_versions, version_columns


def sort_and_merge(batch: pa.RecordBatch | pa.Table, spec: MergeSpec) -> pa.RecordBatch:
    """Return one row for each key, in key order; arrival order replaces the age of the runs in a merge.

    ``_SEQUENCE_NUMBER`` is read only if ``spec.by_sequence_number``; a buffer that numbers rows in arrival order does
    not need it. Winning retracts are kept.

    >>> batch = pa.record_batch({"k": [2, 1, 2], "v": ["a", "b", "c"]})
    >>> sort_and_merge(batch, MergeSpec(("k",), by_sequence_number=False)).to_pylist()
    [{'k': 1, 'v': 'b'}, {'k': 2, 'v': 'c'}]

    Raises:
        InvalidData: a column that the specification needs is missing, a key is null, or a table has a column of more
            bytes than one Arrow array holds.
    """
    rows = _one_batch(batch)
    if rows.num_rows < 2:
        return rows
    order, repeats = _in_versions(rows, spec)
    if spec.engine is not None:
        return combine(rows, starts_of_groups(repeats), spec.engine, order=order)
    chosen = last_versions(order, repeats, [rows], spec)
    return rows.take(chosen)


def sort_versions(batch: pa.RecordBatch | pa.Table, spec: MergeSpec) -> pa.RecordBatch:
    """Return all rows in the order of ``sort_and_merge``: by key, and for each key, oldest first.

    Raises:
        InvalidData: as ``sort_and_merge``.

    >>> batch = pa.record_batch({"k": [2, 1, 2], "v": ["a", "b", "c"]})
    >>> sort_versions(batch, MergeSpec(("k",), by_sequence_number=False)).column("v").to_pylist()
    ['b', 'a', 'c']
    """
    rows = _one_batch(batch)
    if rows.num_rows < 2:
        return rows
    return rows.take(_in_versions(rows, spec)[0])


def sort_order(
    batch: pa.RecordBatch | pa.Table,
    columns: Sequence[str],
    *,
    descending: bool = False,
) -> RowIds:
    """Return row ids in the order of these columns; nulls first in both directions; equal rows keep their order.

    >>> sort_order(pa.record_batch({"a": [2, None, 1]}), ["a"]).tolist()
    [1, 2, 0]
    """
    rows = _one_batch(batch)
    words = encode([SortColumn((rows.column(name),), descending) for name in columns])
    return _stable_order(words, rows.num_rows)[0]


def _in_versions(rows: pa.RecordBatch, spec: MergeSpec) -> tuple[RowIds, Mask]:
    words = encode([SortColumn((key_array(rows, name),)) for name in spec.key_columns])
    order, repeats = _stable_order(words, rows.num_rows)
    return order_versions(order, repeats, encode(version_columns([rows], spec))), repeats


def _one_batch(batch: pa.RecordBatch | pa.Table) -> pa.RecordBatch:
    if isinstance(batch, pa.RecordBatch):
        return batch
    pieces = batch.combine_chunks().to_batches()
    if len(pieces) > 1:
        message = f"{batch.num_rows} rows of {batch.nbytes} bytes do not fit one batch; sort them in smaller parts"
        raise InvalidData(message)
    return pieces[0] if pieces else pa.RecordBatch.from_pylist([], schema=batch.schema)


def _stable_order(words: WordColumns, row_count: int) -> tuple[RowIds, Mask]:
    """Return row ids in the order of their words, and a mask of those with the same words as the previous row."""
    if not words:
        return np.arange(row_count), np.arange(row_count) > 0
    order, repeats = _order_by_word(words[0])
    order = order_versions(order, repeats, words)
    return order, repeats_of(*(word[order] for word in words))


def _order_by_word(word: UInt64Array) -> tuple[RowIds, Mask]:
    """Return a stable order by the leading bits of the word, and a mask of rows that are equal in these bits.

    The lower bits are replaced by the row id: sorting values is several times faster than sorting indexes, and with the
    row id in the value it is stable.
    """
    row_bits = max(word.size - 1, 1).bit_length()
    dropped = max(int(word.max()).bit_length() + row_bits - 64, 0)
    packed = ((word >> np.uint64(dropped)) << np.uint64(row_bits)) | np.arange(word.size, dtype=np.uint64)
    packed.sort()
    order = (packed & np.uint64(2**row_bits - 1)).astype(np.int64)
    return order, repeats_of(packed >> np.uint64(row_bits))
