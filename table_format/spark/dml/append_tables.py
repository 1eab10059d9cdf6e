"""Changes of a table without a primary key: Spark tasks mark rows as deleted or rewrite files.

This is ``table/changes`` for files whose affected rows are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from table_format.counted import counted
from table_format.indexes.deletion_vectors import BucketDeletions, VectorReader
from table_format.io.uncommitted_files import DeletingOnFailure
from table_format.model.arrow_calls import concat_batches
from table_format.model.arrow_types import arrow_schema
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource
from table_format.model.snapshot import Snapshot
from table_format.options.bucket_mode import Unaware, is_bucketed
from table_format.options.declare import Operation
from table_format.spark.dml.changed_rows import DELETED, INSERTED, KIND, UPDATED, Shape, Statistics
from table_format.spark.read.numbered_rows import FILE, POSITION
from table_format.spark.read.task_groups import parallelism
from table_format.spark.tasks.arrow_rows import frame_of_rows
from table_format.spark.tasks.task_inputs import TaskInputs
from table_format.spark.tasks.task_results import RESULT_DDL, gather, messages_of_all, result_of
from table_format.spark.tasks.worker import Batches, map_in_workers
from table_format.spark.write.few_rows import FEW_BYTES, write_changed_rows
from table_format.table.changes.append_rows import AppendBucket, append_buckets, deletion_message
from table_format.table.changes.append_tables import in_place, numbered_rows
from table_format.table.changes.row_changes import Changed, Positions, table_rows
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan
from table_format.table.rows.validate import RowRules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WORK: Final = "__dml_work"
_TASK: Final = "__dml_task"

_POSITIONS_OF_TASK: Final = 1_000_000
"""Deleted rows whose vectors one task writes. Fewer tasks write fewer index files."""


_NEW_ROWS_OF_TASK: Final = 250_000
"""Rows that one task writes to new files of a table without buckets."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """The work on some files of one bucket."""

    bucket: AppendBucket
    rows: int


def write_by_file(
    changes: DataFrame, shape: Shape, found: Statistics, plans: Sequence[Plan], base: Snapshot | None, commit_user: str
) -> tuple[CommitMessage, ...]:
    """Write the changes of rows of the snapshot ``base`` and return the messages. If this fails, no files are left.

    The driver writes few rows itself, and rewrites small files. ``plans`` has the files that were read.

    Raises:
        InvalidData: a value does not fit its column.
        UnsupportedFeature: the table's ``deletion-vectors.enabled`` changed after rows were marked.
    """
    facts = shape.facts
    facts.require(Operation.WRITE)
    uses_vectors = facts.options.deletion_vectors.enabled
    placing = {*facts.schema.partition_keys, *facts.schema.bucket_keys}
    stays = not uses_vectors and not (shape.assigned & placing)
    new_rows = found.counts.inserted + found.counts.updated
    messages: list[CommitMessage] = []
    with DeletingOnFailure(lambda: facts.delete_message_files(messages)):
        if found.files:
            pieces = _pieces(facts, plans, found.files, uses_vectors=uses_vectors)
            rewritten = 0 if uses_vectors else sum(f.file_size for p in pieces for f in p.bucket.candidates)
            job = _files_changed_here if found.are_few and rewritten <= FEW_BYTES else _files_changed_by_tasks
            messages.extend(job(changes, shape, pieces, uses_vectors=uses_vectors, stays=stays))
        if new_rows:
            is_new = F.col(KIND) == INSERTED if stays else F.col(KIND).isin(INSERTED, UPDATED)
            rows = changes.where(is_new).select(*shape.values).toDF(*facts.schema.field_names)
            if isinstance(facts.bucket_mode, Unaware):
                # Each task writes a file. The number of tasks of a scan depends on the table, not on the number of
                # changes.
                rows = rows.coalesce(1 + new_rows // _NEW_ROWS_OF_TASK)
            written = write_changed_rows(rows, facts, are_few=found.are_few, base=base, commit_user=commit_user)
            messages.extend(replace(message, rewrites=True) for message in written)
    return tuple(messages)


def _pieces(
    facts: TableFacts, plans: Sequence[Plan], touched: Mapping[str, int], *, uses_vectors: bool
) -> Sequence[_Piece]:
    """Divide the touched files into independent pieces: no two have vectors in the same index file."""
    splits = {f.file_name: s for plan in plans for s in plan.splits for f in s.files if f.file_name in touched}
    found: list[_Piece] = []
    plan = replace(plans[0], splits=tuple({id(split): split for split in splits.values()}.values()))
    for bucket in append_buckets(facts, plan):
        files = {file.file_name: file for file in bucket.candidates if file.file_name in touched}
        for names in _together(bucket, list(files), touched) if uses_vectors else [[name] for name in files]:
            part = _restricted(bucket, [files[name] for name in names], uses_vectors=uses_vectors)
            found.append(_Piece(part, sum(touched[name] for name in names)))
    return found


def _together(bucket: AppendBucket, names: Sequence[str], rows: Mapping[str, int]) -> Iterator[Sequence[str]]:
    """Group files by the index file with their vectors. Files without vectors form groups of limited size."""
    if is_bucketed(bucket.files.bucket_mode):
        yield names
        return
    index_of = {
        range_.data_file: number
        for number, index in enumerate(bucket.deletions.index_files)
        for range_ in index.deletion_vector_ranges or ()
    }
    group = [-1, 0]

    def key(name: str) -> int:
        if name in index_of:
            return index_of[name]
        group[1] += rows[name]
        if group[1] > _POSITIONS_OF_TASK:
            group[:] = [group[0] - 1, rows[name]]
        return group[0]

    keyed = sorted(((key(name), name) for name in names), key=lambda pair: pair[0])
    for _, group_names in groupby(keyed, key=lambda pair: pair[0]):
        yield [name for _, name in group_names]


def _restricted(bucket: AppendBucket, files: Sequence[DataFileMeta], *, uses_vectors: bool) -> AppendBucket:
    """Return the bucket with only some files, and with the index entries of their vectors."""
    if not uses_vectors:
        return replace(bucket, candidates=tuple(files), live={})
    index_files = bucket.index_files_of({file.file_name for file in files})
    needed = {range_.data_file for index in index_files for range_ in index.deletion_vector_ranges or ()}
    stored = {name: file for name, file in bucket.deletions.files.items() if name in needed}
    live = {name: bucket.live[name] for name in needed}
    deletions = replace(bucket.deletions, files=stored, index_files=index_files)
    return replace(bucket, candidates=tuple(files), deletions=deletions, live=live)


def _files_changed_here(
    changes: DataFrame, shape: Shape, pieces: Sequence[_Piece], *, uses_vectors: bool, stays: bool
) -> tuple[CommitMessage, ...]:
    """Collect the changed rows, and change their files in this process."""
    rows = _changed_rows(changes, shape, stays=stays).toArrow()
    names, works = zip(
        *((f.file_name, n) for n, piece in enumerate(pieces) for f in piece.bucket.candidates), strict=True
    )
    work = pa.array(works, pa.int32()).take(pc.index_in(rows[FILE].combine_chunks(), pa.array(names)))
    placed = rows.add_column(0, _WORK, work).sort_by([(name, "ascending") for name in (_WORK, FILE, POSITION)])
    buckets = [piece.bucket for piece in pieces]
    batches = iter(placed.combine_chunks().to_batches())
    return tuple(_change_files(shape.facts, buckets.__getitem__, batches, uses_vectors=uses_vectors, stays=stays))


def _changed_rows(changes: DataFrame, shape: Shape, *, stays: bool) -> DataFrame:
    columns = [KIND, *shape.values] if stays and shape.with_rows else [KIND]
    return changes.where(F.col(KIND).isin(UPDATED, DELETED)).select(FILE, POSITION, *columns)


def _files_changed_by_tasks(
    changes: DataFrame, shape: Shape, pieces: Sequence[_Piece], *, uses_vectors: bool, stays: bool
) -> tuple[CommitMessage, ...]:
    facts = shape.facts
    spark = changes.sparkSession
    tasks = _tasks(pieces, parallelism(spark), uses_vectors=uses_vectors)
    # Adjacent files go to one task, so the messages and the rows of the new files keep the order of the files.
    listed = [
        (f.file_name, n, n * tasks // len(pieces)) for n, piece in enumerate(pieces) for f in piece.bucket.candidates
    ]
    names, works, numbers = zip(*listed, strict=True)
    table = pa.table({FILE: pa.array(names), _WORK: pa.array(works, pa.int32()), _TASK: pa.array(numbers, pa.int32())})
    rows = _changed_rows(changes, shape, stays=stays)
    places = frame_of_rows(spark, table, f"{FILE} string, {_WORK} int, {_TASK} int")
    routed = rows.join(F.broadcast(places), FILE).select(_TASK, _WORK, *rows.columns)
    routed = routed.repartitionById(tasks, _TASK).drop(_TASK).sortWithinPartitions(_WORK, FILE, POSITION)
    inputs = TaskInputs.of([_Shipped.of(piece.bucket) for piece in pieces])
    write = _file_changer(facts, inputs, uses_vectors=uses_vectors, stays=stays)
    return messages_of_all(facts, gather(map_in_workers(routed, write, RESULT_DDL).collect()))


def _tasks(pieces: Sequence[_Piece], cores: int, *, uses_vectors: bool) -> int:
    if uses_vectors:
        rows = sum(piece.rows for piece in pieces)
        return min(len(pieces), max(cores, 1), 1 + rows // _POSITIONS_OF_TASK)
    return min(len(pieces), 4 * max(cores, 1))


# --- inside the tasks, or the driver ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Shipped:
    """A bucket as it is sent to tasks, without the facts that all tasks have."""

    partition: bytes
    number: int
    total_buckets: int
    candidates: tuple[DataFileMeta, ...]
    deletions: BucketDeletions
    live: Mapping[str, DataFileMeta]

    @classmethod
    def of(cls, bucket: AppendBucket) -> _Shipped:
        """Convert a bucket to the form that is sent."""
        files = bucket.files
        where = files.partition, files.bucket, files.total_buckets
        return cls(*where, bucket.candidates, bucket.deletions, bucket.live)

    def bucket(self, facts: TableFacts) -> AppendBucket:
        """Return the bucket."""
        files = facts.bucket_files(self.partition, self.number, self.total_buckets)
        return AppendBucket(files, self.candidates, self.deletions, self.live, VectorReader(facts.store.io))


def _file_changer(
    facts: TableFacts, inputs: TaskInputs[_Shipped], *, uses_vectors: bool, stays: bool
) -> Callable[[Batches], Batches]:
    """Change the files of the incoming rows, which are sorted by work, file and position. Return one row for the
    task.
    """

    def bucket_of(number: int) -> AppendBucket:
        return inputs[number].bucket(facts)

    def write(batches: Batches) -> Batches:
        yield result_of(lambda: _change_files(facts, bucket_of, batches, uses_vectors=uses_vectors, stays=stays))

    return write


def _change_files(
    facts: TableFacts,
    bucket_of: Callable[[int], AppendBucket],
    batches: Batches,
    *,
    uses_vectors: bool,
    stays: bool,
) -> Sequence[CommitMessage]:
    messages: list[CommitMessage] = []
    with DeletingOnFailure(lambda: facts.delete_message_files(messages)):
        for number, files in groupby(_by_file(batches), key=lambda found: found[0]):
            bucket = bucket_of(number)
            rows = ((name, found) for _, name, found in files)
            messages.append(_marked(bucket, rows) if uses_vectors else _rewritten(facts, bucket, rows, stays=stays))
    return messages


_FileRows = Iterator[tuple[str, pa.RecordBatch]]


def _by_file(batches: Batches) -> Iterator[tuple[int, str, pa.RecordBatch]]:
    """Return the rows file by file, with the number of their work."""
    waiting: list[pa.RecordBatch] = []
    last: tuple[int, str] | None = None
    for batch in batches:
        works = batch.column(0).to_numpy()
        names = batch.column(1).dictionary_encode()
        codes = names.indices.to_numpy()
        cuts = np.flatnonzero((works[1:] != works[:-1]) | (codes[1:] != codes[:-1])) + 1
        starts = [0, *cuts.tolist()] if batch.num_rows else []
        for start, stop in zip(starts, [*starts[1:], batch.num_rows], strict=True):
            key = (int(works[start]), str(names.dictionary[int(codes[start])].as_py()))
            if last is not None and key != last:
                yield (*last, concat_batches(waiting))
                waiting = []
            last = key
            waiting.append(batch.slice(start, stop - start))
    if last is not None:
        yield (*last, concat_batches(waiting))


def _marked(bucket: AppendBucket, files: _FileRows) -> CommitMessage:
    """Mark rows as deleted."""
    by_name = {file.file_name: file for file in bucket.candidates}
    found = {by_name[name]: _positions(rows) for name, rows in files}
    return deletion_message(bucket, found)


def _rewritten(facts: TableFacts, bucket: AppendBucket, files: _FileRows, *, stays: bool) -> CommitMessage:
    """Rewrite files. The new files keep their order among the files of the bucket."""
    by_name = {file.file_name: file for file in bucket.candidates}
    new: list[DataFileMeta] = []
    old: list[DataFileMeta] = []
    with bucket.files.deleting_on_failure(new):
        for name, rows in files:
            old.append(by_name[name])
            new.extend(_rewritten_file(facts, bucket, by_name[name], rows, stays=stays))
    return replace(bucket.files.message(new_files=tuple(new)), deleted_files=tuple(old))


def _rewritten_file(
    facts: TableFacts, bucket: AppendBucket, file: DataFileMeta, changes: pa.RecordBatch, *, stays: bool
) -> tuple[DataFileMeta, ...]:
    schema = facts.schema
    positions = _positions(changes)
    updated = changes.column(changes.schema.get_field_index(KIND)).to_numpy() == UPDATED
    if not stays:
        updated = np.zeros(len(positions), np.bool_)
    after = _conformed(facts, changes, updated)
    place = np.cumsum(updated) - updated
    met = 0
    first = file.min_sequence_number
    with bucket.files.writing(level=0, source=FileSource.APPEND, first_sequence_number=first) as writer:
        for rows, at in numbered_rows(bucket, file, schema.field_names):
            start, stop = np.searchsorted(positions, (at[0], at[-1] + 1)) if len(at) else (0, 0)
            part = positions[start:stop]
            is_selected = np.isin(at, part, assume_unique=True)
            met += int(is_selected.sum())
            if not len(part):
                writer.write(table_rows(rows, schema))
                continue
            chosen = updated[start:stop]
            values = after.take(pa.array(place[start:stop][chosen]))
            writer.write(in_place(rows, is_selected, Changed(~chosen, chosen, values), schema, keep=True))
        if met != len(positions):
            message = (
                f"{facts.name}: expected {counted(len(positions), 'row')} to change in {file.file_name}, found {met}"
            )
            raise RuntimeError(message)
        return writer.close()


def _conformed(facts: TableFacts, changes: pa.RecordBatch, updated: np.ndarray) -> pa.RecordBatch:
    """Return the updated rows with the types that the table stores."""
    schema = facts.schema
    if not updated.any():
        return pa.RecordBatch.from_pylist([], schema=arrow_schema(schema.fields))
    rows = changes.filter(pa.array(updated))
    columns = [rows.column(rows.schema.get_field_index(f"v{n}")) for n in range(len(schema.fields))]
    named = pa.RecordBatch.from_arrays(columns, names=list(schema.field_names))
    return RowRules.of(schema, facts.options).conform(named)


def _positions(rows: pa.RecordBatch) -> Positions:
    found: Positions = rows.column(rows.schema.get_field_index(POSITION)).to_numpy()
    return found
