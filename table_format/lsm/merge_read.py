"""Reads the rows of a bucket as a reader sees them (format chapter 06, section 8; Java ``MergeFileSplitRead``).

Only the necessary data is read. Sections with one run are not merged. Sequence numbers are not read if the order of the
runs is sufficient, and row kinds are not read if no file has retract rows. A key column is read only once, as the
table's own column. Conditions on columns other than the key are applied only to merged rows. The order of the rows is
undefined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap, FrozenBitMap

from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.data_file_reader import POSITION, DataFileReader
from table_format.indexes.deletion_vectors import DeletionVectors
from table_format.kernels.engines import needed_columns
from table_format.kernels.merge import MergeSpec
from table_format.kernels.predicate import matches
from table_format.lsm.intervals import Section, partition_into_sections
from table_format.lsm.keys import key_ranges
from table_format.lsm.merge_spec import merge_spec
from table_format.lsm.runs import RunSource, has_disjoint_sequences, is_add, merge_section
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import Predicate, columns_of
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from table_format.model.types import DataField
from table_format.options.table_options import TableOptions
from table_format.pruning.pruning import Pruning


def read_bucket(
    reader: DataFileReader,
    partition: bytes,
    bucket: int,
    files: Sequence[DataFileMeta],
    schema: TableSchema,
    options: TableOptions,
    fields: Sequence[DataField],
    pruning: Pruning | None,
    *,
    drop_retracts: bool = True,
    decode_ahead: bool = False,
    deletions: DeletionVectors | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the merged row of each key if the filter selects it, with exactly ``fields`` (which may be system fields).

    ``files`` must include all files of the bucket whose key ranges overlap those of other files in it. ``decode_ahead``
    uses threads; ``deletions`` mark deleted rows.

    Raises:
        RetractNotSupported: the merge engine does not support a retract row.
    """
    spec = merge_spec(schema, options)
    source = RunSource(reader, partition, bucket, decode_ahead, deletions)
    request = _Request(schema, tuple(fields), pruning, drop_retracts)
    for section in partition_into_sections(files, key_ranges(schema)):
        if len(section) == 1:
            yield from _pass_through(source, section[0], request)
        else:
            yield from _merged(source, section, request, spec)


def read_raw(
    reader: DataFileReader,
    partition: bytes,
    bucket: int,
    files: Sequence[DataFileMeta],
    schema: TableSchema,
    fields: Sequence[DataField],
    pruning: Pruning | None,
    deletions: DeletionVectors | None = None,
    *,
    selections: Sequence[FrozenBitMap | None] = (),
) -> Iterator[pa.RecordBatch]:
    """Return the rows of the files, in order, that the filter selects, with exactly ``fields``.

    The files must be raw convertible (``is_raw_convertible``) or belong to an append table. ``selections`` is empty, or
    has one item for each file: the positions of the only rows that the filter can select, or ``None``.
    """
    request = _Request(schema, tuple(fields), pruning, drop_retracts=False)
    source = RunSource(reader, partition, bucket, deletions=deletions)
    if not selections:
        yield from _pass_through(source, files, request)
        return
    for file, selected in zip(files, selections, strict=True):
        yield from _pass_through(replace(source, selected=selected), (file,), request)


def is_raw_convertible(files: Sequence[DataFileMeta], *, has_each_key_once: bool = False) -> bool:
    """Return whether these files of a bucket can be read one after another: compacted, without retracts, on one level.

    With ``has_each_key_once`` each key is live in at most one of them, so their levels may differ.
    """
    settled = all(file.level != 0 and file.delete_row_count == 0 for file in files)
    return settled and (has_each_key_once or len({file.level for file in files}) <= 1)


def merged_files(
    files: Sequence[DataFileMeta], schema: TableSchema, *, raw_convertible: bool
) -> Iterator[tuple[DataFileMeta, bool]]:
    """Yield each file, and whether its rows are merged with those of other files."""
    sections = ((tuple(files),),) if raw_convertible else partition_into_sections(files, key_ranges(schema))
    for section in sections:
        for run in section:
            for file in run:
                yield file, len(section) > 1


@dataclass(frozen=True, slots=True)
class _Request:
    """The rows and columns that a reader requests."""

    schema: TableSchema
    fields: tuple[DataField, ...]
    pruning: Pruning | None
    drop_retracts: bool

    @property
    def residual(self) -> Predicate | None:
        """The condition that rows are tested with."""
        return None if self.pruning is None else self.pruning.residual

    def row_group_condition(self, *, merged: bool) -> Predicate | None:
        """Return the condition by which row groups may be skipped."""
        return None if self.pruning is None else self.pruning.row_group_condition(merged=merged)

    @property
    def is_look_up(self) -> bool:
        """Whether few rows are expected, in files that a bloom filter did not exclude."""
        return self.pruning is not None and self.pruning.is_look_up

    @property
    def columns(self) -> frozenset[str]:
        """The names of the requested fields and of those that the condition reads."""
        further = columns_of(self.residual) if self.residual is not None else frozenset()
        return further | {f.name for f in self.fields}

    def fields_with(self, names: Sequence[str], *, sequence: bool = False, kind: bool = False) -> tuple[DataField, ...]:
        """Return the fields to read: the requested fields, those that the condition reads, and ``names``."""
        wanted = {f.name: f for f in self.fields}
        for name in (*sorted(self.columns - wanted.keys()), *names):
            wanted.setdefault(name, self.schema.field(name))
        for field, is_needed in ((SEQUENCE_NUMBER, sequence), (VALUE_KIND, kind)):
            if is_needed:
                wanted[field.name] = field
        return tuple(wanted.values())

    def selected(self, batch: pa.RecordBatch, *, may_hold_retracts: bool) -> pa.RecordBatch:
        """Return the selected rows of a batch of final rows, with the columns of the request."""
        mask = is_add(batch.column(VALUE_KIND.name)) if self.drop_retracts and may_hold_retracts else None
        if self.residual is not None:
            chosen = matches(self.residual, batch, self.schema.fields)
            mask = chosen if mask is None else pc.and_(mask, chosen)
        if mask is not None and mask.true_count < len(mask):
            # Apply the mask before columns are dropped, because a count requests no column.
            kept = batch.select([f.name for f in self.fields]) if self.fields else batch
            return kept.filter(mask).select([f.name for f in self.fields])
        return batch.select([f.name for f in self.fields])


def _pass_through(source: RunSource, files: Sequence[DataFileMeta], request: _Request) -> Iterator[pa.RecordBatch]:
    condition = request.row_group_condition(merged=False)
    for file in files:
        retracts = file.delete_row_count != 0
        fields = request.fields_with((), kind=request.drop_retracts and retracts)
        rows = batch_rows_of((file,), fields)
        narrowed = _looked_up(source, file, request, fields) if request.is_look_up else source
        if narrowed is None:
            continue
        for batch in narrowed.run((file,), fields, predicate=condition, batch_rows=rows):
            rows_left = request.selected(batch, may_hold_retracts=retracts)
            if rows_left.num_rows:
                yield rows_left


def _looked_up(
    source: RunSource, file: DataFileMeta, request: _Request, fields: Sequence[DataField]
) -> RunSource | None:
    """Return the source with only the matching rows of a file, found by reading the columns of the condition.

    Return ``None`` if no row matches: most files that a bloom filter does not exclude do not have the value either.
    """
    condition = request.residual
    if condition is None or source.selected is not None or len(columns_of(condition)) == len(fields):
        return source
    columns = [request.schema.field(name) for name in sorted(columns_of(condition))]
    found = BitMap()
    for batch in source.reader.read(
        source.partition,
        source.bucket,
        file,
        columns,
        predicate=request.row_group_condition(merged=False),
        deleted=None if source.deletions is None else source.deletions.of(file),
        batch_rows=batch_rows_of((file,), columns),
        with_positions=True,
    ):
        mask = matches(condition, batch, request.schema.fields)
        if mask.true_count:
            found.update(batch.column(POSITION).filter(mask).to_numpy())
    if not found:
        return None
    return replace(source, selected=FrozenBitMap(found)) if len(found) <= file.row_count // 2 else source


def _merged(source: RunSource, section: Section, request: _Request, spec: MergeSpec) -> Iterator[pa.RecordBatch]:
    retracts = any(file.delete_row_count != 0 for run in section for file in run)
    spec = replace(
        spec,
        by_sequence_number=not has_disjoint_sequences(section),
        ignore_delete=spec.ignore_delete and retracts,
    )
    fields = request.fields_with(
        (*spec.key_columns, *spec.sequence_columns, *needed_columns(spec.engine, request.columns, may_delete=retracts)),
        sequence=spec.by_sequence_number,
        kind=retracts,
    )
    on_key = request.row_group_condition(merged=True)
    for batch in merge_section(source, section, fields, spec, predicate=on_key, ordered=False):
        rows_left = request.selected(batch, may_hold_retracts=retracts)
        if rows_left.num_rows:
            yield rows_left
