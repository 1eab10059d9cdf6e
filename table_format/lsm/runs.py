"""Reads sorted runs as streams of batches, and merges them (format chapter 07, sections 1 and 4).

Invariant: memory is a few batches for each run, whatever the size of the files. A merge of very many runs is a tree of
merges, because each step of a merge takes time for every run.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
from pyroaring import FrozenBitMap

from table_format.formats.batch_rows import MAX_BATCH_BYTES, batch_rows_of
from table_format.formats.data_file_reader import POSITION, DataFileReader
from table_format.indexes.deletion_vectors import DeletionVectorSource
from table_format.kernels.merge import LEVEL, MergeSpec, merge_batches
from table_format.lsm.flushed_rows import FlushedRows
from table_format.lsm.intervals import Run, Section
from table_format.lsm.prefetch import prefetched
from table_format.lsm.record_expiry import RecordExpiry
from table_format.model.arrow_calls import bit_wise_and, equal
from table_format.model.arrow_types import arrow_schema
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import Predicate
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from table_format.model.types import DataField

MAX_FAN_IN: Final = 16
"""The maximum number of runs in one merge; more runs are first merged in groups."""


@dataclass(frozen=True, slots=True)
class RunSource:
    """Reads the files of one bucket, without the rows that ``deletions`` mark.

    ``decode_ahead`` reads each run in its own thread. ``selected`` are the positions of the only rows to read; ``None``
    selects all. ``firsts`` are the positions of the first row of each file, by name; with them, rows have a column
    ``_POSITION`` that counts over all files. ``flushed`` are the rows of a file that are still in memory: the file is
    not read, and all its rows are returned. Rows that have expired by ``expiry`` are left out; ``fields`` must then
    include its column.
    """

    reader: DataFileReader
    partition: bytes
    bucket: int
    decode_ahead: bool = False
    deletions: DeletionVectorSource | None = None
    selected: FrozenBitMap | None = None
    firsts: Mapping[str, int] | None = None
    flushed: FlushedRows | None = None
    expiry: RecordExpiry | None = None

    def run(
        self, run: Run, fields: Sequence[DataField], *, predicate: Predicate | None = None, batch_rows: int
    ) -> Generator[pa.RecordBatch]:
        """Yield the rows of a run in order; rows that do not match ``predicate`` may be left out."""
        for file in run:
            rows = self._rows(file, fields, predicate, batch_rows)
            yield from rows if self.expiry is None else self.expiry.kept(rows)

    def _rows(
        self, file: DataFileMeta, fields: Sequence[DataField], predicate: Predicate | None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        if self.flushed is not None and self.flushed.file_name == file.file_name:
            yield from self.flushed.batches(fields, batch_rows)
            return
        batches = self.reader.read(
            self.partition,
            self.bucket,
            file,
            fields,
            predicate=predicate,
            deleted=None if self.deletions is None else self.deletions.of(file),
            selected=self.selected,
            batch_rows=batch_rows,
            with_positions=self.firsts is not None,
        )
        if self.firsts is not None:
            batches = _counted_from(self.firsts[file.file_name], batches)
        if file.row_count <= batch_rows:
            # A small file is closed before its rows are used, so that a merge of a thousand files does not keep all
            # open.
            yield from _read_ahead(batches)
        yield from batches


def merge_section(
    source: RunSource,
    section: Section,
    fields: Sequence[DataField],
    spec: MergeSpec,
    *,
    predicate: Predicate | None = None,
    ordered: bool = True,
) -> Iterator[pa.RecordBatch]:
    """Yield the merged rows of a section, retract rows included.

    ``predicate`` must use only key columns, because it is applied before versions of a key are compared. If ``spec``
    compares sequence numbers, ``fields`` must include them; otherwise newer runs win.
    """
    runs = oldest_first(section)
    batch_rows = batch_rows_of([file for run in runs for file in run], fields, side_by_side=len(runs))
    with ExitStack() as stack:
        streams: Sequence[Generator[pa.RecordBatch]] = [
            with_levels(source, run, fields, predicate, batch_rows)
            if spec.lowest_level_only
            else source.run(run, fields, predicate=predicate, batch_rows=batch_rows)
            for run in runs
        ]
        if source.decode_ahead and len(runs) > 1:
            pool = stack.enter_context(ThreadPoolExecutor(min(len(runs), MAX_FAN_IN), "decode"))
            streams = [prefetched(stream, pool) for stream in streams]
        for stream in streams:
            stack.callback(stream.close)
        yield from _merge_tree(streams, spec, ordered=ordered)


def with_levels(
    source: RunSource, run: Run, fields: Sequence[DataField], predicate: Predicate | None, batch_rows: int
) -> Generator[pa.RecordBatch]:
    """Yield the rows of a run with the level of their file as the column ``_LEVEL``."""
    for file in run:
        for batch in source.run((file,), fields, predicate=predicate, batch_rows=batch_rows):
            yield batch.append_column(LEVEL, pa.array(np.full(batch.num_rows, file.level, dtype=np.int32)))


def oldest_first(section: Section) -> tuple[Run, ...]:
    """Return the runs ordered by newest sequence number; if that is equal, the higher level is older."""
    return tuple(sorted(section, key=lambda run: (_sequence_range(run)[::-1], -min(file.level for file in run))))


def has_disjoint_sequences(section: Section) -> bool:
    """Return whether every row of a run is older than every row of the next, so that no sequence number is needed."""
    ranges = sorted(_sequence_range(run) for run in section)
    return all(older[1] < newer[0] for older, newer in pairwise(ranges))


def physical_batch(batch: pa.RecordBatch, schema: TableSchema) -> pa.RecordBatch:
    """Return rows in the layout of a data file: key columns are repeated in front (format chapter 06, section 1)."""
    names = [*schema.trimmed_primary_keys, SEQUENCE_NUMBER.name, VALUE_KIND.name, *schema.field_names]
    columns = [batch.column(name) for name in names]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(schema.physical_fields))


def is_add(kinds: pa.Array) -> pa.BooleanArray:
    """Return, for each row kind, whether it adds a row.

    >>> is_add(pa.array([0, 1, 2, 3], pa.int8())).to_pylist()
    [True, False, True, False]
    """
    # +I is 0, -U 1, +U 2, -D 3: the retracts are odd.
    return equal(bit_wise_and(kinds, pa.scalar(1, kinds.type)), pa.scalar(0, kinds.type))


def _sequence_range(run: Run) -> tuple[int, int]:
    return min(file.min_sequence_number for file in run), max(file.max_sequence_number for file in run)


def _counted_from(first: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a file with row positions that count from ``first``."""
    for batch in batches:
        at = batch.schema.get_field_index(POSITION)
        positions = batch.column(at).to_numpy() + first
        yield batch.set_column(at, POSITION, pa.array(positions))


def _read_ahead(batches: Iterator[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Return the next batches, to the end of the file if they fit in memory."""
    held: list[pa.RecordBatch] = []
    size = 0
    while size < MAX_BATCH_BYTES and (batch := next(batches, None)) is not None:
        held.append(batch)
        size += batch.nbytes
    return held


def _merge_tree(
    streams: Sequence[Iterator[pa.RecordBatch]], spec: MergeSpec, *, ordered: bool
) -> Iterator[pa.RecordBatch]:
    """Merge streams; if they are too many for one merge, first merge groups of adjacent ones.

    The newest version still wins. Engines that compute values always merge all versions of a key at once, because a
    result of some versions cannot always be merged further correctly (format chapter 12, section 7).
    """
    while len(streams) > MAX_FAN_IN and spec.engine is None:
        streams = [
            merge_batches(streams[start : start + MAX_FAN_IN], spec) for start in range(0, len(streams), MAX_FAN_IN)
        ]
    return merge_batches(streams, spec, ordered=ordered)
