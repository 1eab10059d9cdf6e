"""Rows of a split with their kinds (Java ``MergeFileSplitRead``, ``IncrementalDiffSplitRead``, ``ReverseReader``).

Changes are not merged: each row of each file is one change, in the order of the files. States are merged, and two
states are compared in the order of keys. A filter applies to the resulting rows.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.data_file_reader import DataFileReader
from table_format.indexes.deletion_vectors import vectors_of
from table_format.io.table_store import TableStore
from table_format.kernels.difference import difference
from table_format.kernels.predicate import matches
from table_format.lsm.intervals import partition_into_sections
from table_format.lsm.keys import key_ranges
from table_format.lsm.merge_read import read_bucket, read_raw
from table_format.lsm.merge_spec import merge_spec
from table_format.lsm.runs import RunSource, has_disjoint_sequences, is_add, merge_section
from table_format.metastore.references.expired_reads import explaining_expiry_of_rows
from table_format.model.arrow_types import arrow_schema
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import Predicate, columns_of
from table_format.model.row_kind import RowKind
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from table_format.model.split import DataSplit, DeletionFile, SplitContent
from table_format.model.types import DataField
from table_format.options.table_options import TableOptions
from table_format.pruning.pruning import Pruning


def read_changes(
    store: TableStore,
    schemas: Mapping[int, TableSchema],
    read_schema: TableSchema,
    options: TableOptions,
    split: DataSplit,
    fields: Sequence[DataField],
    pruning: Pruning | None = None,
    *,
    keep_deletes: bool = True,
) -> Generator[pa.RecordBatch]:
    """Return the rows of a split that the filter selects: ``fields``, then the row kinds in ``_VALUE_KIND``.

    With ``keep_deletes``, a state, or the difference between two, also shows keys whose last version is a delete.

    Raises:
        SnapshotExpired: a snapshot of the split has expired in the meantime.
        CorruptionError: a file is missing or damaged.
        UnsupportedFeature: a file has a format that this version cannot read, or rows must be merged in a way that it
            cannot.
    """
    reader = DataFileReader(store, schemas, read_schema, options)
    reading = _Reading(store, reader, read_schema, options, split, tuple(fields), pruning)
    yield from explaining_expiry_of_rows(store, split, _rows(reading, split, keep_deletes=keep_deletes))


def _rows(reading: _Reading, split: DataSplit, *, keep_deletes: bool) -> Iterator[pa.RecordBatch]:
    match split.content:
        case _ if not reading.schema.primary_keys:
            yield from reading.inserts()
        case SplitContent.CHANGES:
            yield from reading.changes()
        case SplitContent.DIFFERENCE:
            rows = reading.difference()
            yield from rows if keep_deletes else _adds(rows)
        case SplitContent.REPLACEMENT:
            before = reading.state(split.before_files, split.before_deletion_files, keep_deletes=False)
            for batch in before:
                # Rows that an update wrote are deleted as well: a reader that leaves out -U would keep them.
                yield with_kinds(batch, np.full(batch.num_rows, RowKind.DELETE.value, dtype=np.int8))
            yield from reading.state(split.files, split.deletion_files, keep_deletes=False)
        case SplitContent.STATE:
            yield from reading.state(split.files, split.deletion_files, keep_deletes=keep_deletes)


def read_rows(
    store: TableStore,
    schemas: Mapping[int, TableSchema],
    read_schema: TableSchema,
    options: TableOptions,
    split: DataSplit,
    fields: Sequence[DataField],
    pruning: Pruning | None = None,
) -> Generator[pa.RecordBatch]:
    """Return the rows that a split of changes adds, with exactly ``fields``. Retracted rows are left out."""
    names = [f.name for f in fields]
    rows = read_changes(store, schemas, read_schema, options, split, fields, pruning, keep_deletes=False)
    for batch in _adds(rows):
        yield batch.select(names)


def with_kinds(batch: pa.RecordBatch, kinds: np.ndarray[tuple[int], np.dtype[np.int8]]) -> pa.RecordBatch:
    """Return the batch with these row kinds in its last column."""
    names = [name for name in batch.schema.names if name != VALUE_KIND.name]
    plain = batch.select(names)
    schema = plain.schema.append(arrow_schema((VALUE_KIND,)).field(0))
    return pa.RecordBatch.from_arrays([*plain.columns, pa.array(kinds, pa.int8())], schema=schema)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The read of one split."""

    store: TableStore
    reader: DataFileReader
    schema: TableSchema
    options: TableOptions
    split: DataSplit
    fields: tuple[DataField, ...]
    pruning: Pruning | None

    def inserts(self) -> Iterator[pa.RecordBatch]:
        """The rows of an append table, each of which adds one."""
        split = self.split
        deletions = vectors_of(self.store.io, split.files, split.deletion_files)
        for batch in read_raw(
            self.reader, split.partition, split.bucket, split.files, self.schema, self.fields, self.pruning, deletions
        ):
            yield with_kinds(batch, np.zeros(batch.num_rows, dtype=np.int8))

    def changes(self) -> Iterator[pa.RecordBatch]:
        """Every row of every file, in the order of the files."""
        split = self.split
        needed = self._fields_with_filter()
        source = RunSource(self.reader, split.partition, split.bucket)
        condition = None if self.pruning is None else self.pruning.row_group_condition(merged=False)
        for file in split.files:
            rows = batch_rows_of((file,), needed)
            yield from self._selected(source.run((file,), needed, predicate=condition, batch_rows=rows))

    def state(
        self, files: Sequence[DataFileMeta], deletion_files: Sequence[DeletionFile | None], *, keep_deletes: bool
    ) -> Iterator[pa.RecordBatch]:
        """The last version of each key."""
        split = self.split
        if split.raw_convertible and not keep_deletes:
            rows = read_raw(
                self.reader,
                split.partition,
                split.bucket,
                files,
                self.schema,
                self.fields,
                self.pruning,
                vectors_of(self.store.io, files, deletion_files),
            )
            for batch in rows:
                yield with_kinds(batch, np.zeros(batch.num_rows, dtype=np.int8))
            return
        yield from read_bucket(
            self.reader,
            split.partition,
            split.bucket,
            files,
            self.schema,
            self.options,
            (*self.fields, VALUE_KIND),
            self.pruning,
            drop_retracts=not keep_deletes,
            deletions=vectors_of(self.store.io, files, deletion_files),
        )

    def difference(self) -> Iterator[pa.RecordBatch]:
        """Return the difference between two states; whole rows are compared."""
        split = self.split
        before = self._sorted_state(split.before_files, split.before_deletion_files)
        after = self._sorted_state(split.files, split.deletion_files)
        yield from self._selected(difference(before, after, self.schema.trimmed_primary_keys))

    def _sorted_state(
        self, files: Sequence[DataFileMeta], deletion_files: Sequence[DeletionFile | None]
    ) -> Iterator[pa.RecordBatch]:
        deletions = vectors_of(self.store.io, files, deletion_files)
        source = RunSource(self.reader, self.split.partition, self.split.bucket, deletions=deletions)
        names = [*self.schema.field_names, VALUE_KIND.name]
        fields = (*self.schema.fields, VALUE_KIND)
        for section in partition_into_sections(files, key_ranges(self.schema)):
            if len(section) == 1:
                yield from source.run(section[0], fields, batch_rows=batch_rows_of(section[0], fields))
                continue
            spec = merge_spec(self.schema, self.options)
            spec = replace(spec, by_sequence_number=not has_disjoint_sequences(section))
            for batch in merge_section(source, section, (SEQUENCE_NUMBER, *fields), spec):
                yield batch.select(names)

    @property
    def _residual(self) -> Predicate | None:
        return None if self.pruning is None else self.pruning.residual

    def _fields_with_filter(self) -> tuple[DataField, ...]:
        wanted = {f.name: f for f in self.fields}
        for name in sorted(columns_of(self._residual)) if self._residual is not None else ():
            wanted.setdefault(name, self.schema.field(name))
        return (*wanted.values(), VALUE_KIND)

    def _selected(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names, residual = [*(f.name for f in self.fields), VALUE_KIND.name], self._residual
        for batch in batches:
            chosen = batch if residual is None else batch.filter(matches(residual, batch, self.schema.fields))
            if chosen.num_rows:
                yield chosen.select(names)


def _adds(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        mask = is_add(batch.column(VALUE_KIND.name))
        # Most changes only add rows, and a filter copies them.
        kept = batch if pc.all(mask).as_py() else batch.filter(mask)
        if kept.num_rows:
            yield kept
