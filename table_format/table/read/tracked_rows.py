"""Rows of an append table with their row ids and sequence numbers (Java ``DataFileRecordReader``).

Rows that were moved from one file to another have both in columns of the file. If a column is missing, or is null, the
metadata of the file has the values: rows are numbered from its first row id, and its sequence number applies to all
of them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence

import pyarrow as pa

from table_format.errors import BadEncoding
from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.data_file_reader import POSITION, DataFileReader
from table_format.indexes.deletion_vectors import vectors_of
from table_format.io.table_store import TableStore
from table_format.kernels.predicate import matches
from table_format.metastore.references.expired_reads import explaining_expiry_of_rows
from table_format.model.arrow_calls import add, fill_null, if_else
from table_format.model.arrow_types import arrow_schema
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import Predicate, columns_of
from table_format.model.schema import ROW_ID, ROW_TRACKING, SEQUENCE_NUMBER, TableSchema
from table_format.model.split import DataSplit
from table_format.model.types import DataField
from table_format.options.table_options import TableOptions
from table_format.pruning.pruning import Pruning

TRACKED = (ROW_ID, SEQUENCE_NUMBER)
"""The columns that follow those of the table; never null."""


def read_tracked(
    store: TableStore,
    schemas: Mapping[int, TableSchema],
    read_schema: TableSchema,
    options: TableOptions,
    split: DataSplit,
    fields: Sequence[DataField],
    pruning: Pruning | None = None,
    condition: Predicate | None = None,
) -> Generator[pa.RecordBatch]:
    """The rows of a split of an append table that ``pruning`` and ``condition`` select, with exactly ``fields``.

    ``fields`` and ``condition`` may name ``TRACKED``, ``pruning`` only columns of the table.

    Raises:
        SnapshotExpired: a snapshot of the split was expired in the meantime.
        CorruptionError: a file is missing or damaged, or has no row ids.
        UnsupportedFeature: a file has a format that this version cannot read.
    """
    reader = DataFileReader(store, schemas, read_schema, options)
    rows = _rows(reader, store, read_schema, split, tuple(fields), pruning, condition)
    yield from explaining_expiry_of_rows(store, split, rows)


def _rows(
    reader: DataFileReader,
    store: TableStore,
    read_schema: TableSchema,
    split: DataSplit,
    fields: Sequence[DataField],
    pruning: Pruning | None,
    condition: Predicate | None,
) -> Iterator[pa.RecordBatch]:
    deletions = vectors_of(store.io, split.files, split.deletion_files)
    residual = None if pruning is None else pruning.residual
    skipping = None if pruning is None else pruning.row_group_condition(merged=False)
    further = [columns_of(part) for part in (residual, condition) if part is not None]
    needed = {f.name for f in fields}.union(*further)
    stored = [*(f for f in read_schema.fields if f.name in needed), *ROW_TRACKING]
    shown, schema = [f.name for f in fields], arrow_schema(fields)
    for at, file in enumerate(split.files):
        batches = reader.read(
            split.partition,
            split.bucket,
            file,
            stored,
            predicate=skipping,
            deleted=None if deletions is None else deletions.of(file),
            selected=split.selections[at] if split.selections else None,
            batch_rows=batch_rows_of((file,), stored),
            with_positions=True,
        )
        for batch in _tracked(file, batches):
            kept = _selected(batch, (residual, condition), (*read_schema.fields, *TRACKED))
            if kept.num_rows:
                yield pa.RecordBatch.from_arrays(kept.select(shown).columns, schema=schema)


def _tracked(file: DataFileMeta, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches with the row ids and sequence numbers that their columns lack, without positions."""
    added = frozenset({ROW_ID.name, SEQUENCE_NUMBER.name, POSITION})
    for batch in batches:
        ids = batch.column(ROW_ID.name)
        if ids.null_count:
            if file.first_row_id is None:
                raise BadEncoding(file.file_name, "rows have no ids: neither the file nor its metadata holds them")
            lazy = add(batch.column(POSITION), pa.scalar(file.first_row_id, pa.int64()))
            ids = if_else(ids.is_valid(), ids, lazy)
        numbers = fill_null(batch.column(SEQUENCE_NUMBER.name), pa.scalar(file.max_sequence_number, pa.int64()))
        kept = [name for name in batch.schema.names if name not in added]
        plain = batch.select(kept)
        yield plain.append_column(ROW_ID.name, ids).append_column(SEQUENCE_NUMBER.name, numbers)


def _selected(
    batch: pa.RecordBatch, conditions: Sequence[Predicate | None], fields: Sequence[DataField]
) -> pa.RecordBatch:
    for condition in conditions:
        if condition is not None:
            batch = batch.filter(matches(condition, batch, fields))
    return batch
