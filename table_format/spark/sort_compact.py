"""Sort compaction of an append table as a Spark job: each task puts one range of the sort key in order and writes it.

Two jobs. The first reads the sort columns alone and answers with samples, from which the driver takes how the columns
are spread and where to cut. The second reads all rows, sends each to the task of its range, as Arrow batches that Spark
does not look into, and sorts and writes them there. The driver gets samples and metadata.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_format.append.compact import replacement
from table_format.append.sort import live_rows, write_sorted
from table_format.errors import TableFormatError
from table_format.formats.bucket_files import BucketFiles
from table_format.indexes.deletion_vectors import BucketDeletions
from table_format.kernels.sort_keys import FirstLook, SortKey, bounds_of, parts_of, with_sort_key
from table_format.model.arrow_types import arrow_schema
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta
from table_format.model.snapshot import Snapshot
from table_format.spark.answers import ANSWER_DDL, answer_of, decode_error, encode_error, gather
from table_format.table.commit import fresh_user
from table_format.table.facts import TableFacts
from table_format.table.maintenance import BucketWork, files_of
from table_format.table.sort_compact import sort_compact
from table_format.table.splits import pack
from table_format.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE_ROWS: Final = 4096
"""Rows of each task of the first job that the driver sees."""

_RANGE: Final = "__range__"
_SAMPLE: Final = pa.schema([("work", pa.int32()), ("sample", pa.binary()), ("failure", pa.string())])
_SAMPLE_DDL: Final = "work int, sample binary, failure string"
_ROWS: Final = pa.schema([(_RANGE, pa.int32()), ("rows", pa.binary()), ("failure", pa.string())])
_ROWS_DDL: Final = f"{_RANGE} int, rows binary, failure string"
_Batches: TypeAlias = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some files of a partition, to be read by one task."""

    work: int
    files: tuple[DataFileMeta, ...]


@dataclass(frozen=True, slots=True)
class _Ranges:
    """How one partition is cut: its ranges count from ``first``, one more than there are bounds."""

    key: SortKey
    bounds: pa.RecordBatch
    first: int

    @property
    def count(self) -> int:
        return int(self.bounds.num_rows) + 1


def sort_compact_on_spark(
    spark: SparkSession,
    table: Table,
    order_by: Sequence[str],
    strategy: str,
    *,
    partitions: Sequence[Mapping[str, object]] | None,
) -> tuple[Snapshot, ...]:
    """Put the rows of a table in order in Spark's tasks and commit the result; raises as ``sort_compact``."""
    facts = table.facts

    def perform(works: Sequence[BucketWork], key: SortKey) -> Iterable[CommitMessage]:
        return _perform(spark, facts, works, key)

    return sort_compact(facts, fresh_user(facts), order_by, strategy, partitions=partitions, perform=perform)


def _perform(
    spark: SparkSession, facts: TableFacts, works: Sequence[BucketWork], key: SortKey
) -> Iterable[CommitMessage]:
    pieces = [
        _Piece(number, tuple(files))
        for number, work in enumerate(works)
        for files in pack(work.files, lambda file: file.file_size, facts.options.scan)
    ]
    numbers = spark.range(0, len(pieces), 1, len(pieces))
    samples = numbers.mapInArrow(_sampler(facts, works, pieces, key), _SAMPLE_DDL).collect()
    ranges = _cut(facts, works, key, samples, most=int(spark.conf.get("spark.sql.shuffle.partitions") or 1))
    total = sum(cut.count for cut in ranges)
    rows = numbers.mapInArrow(_dealer(facts, works, pieces, ranges), _ROWS_DDL).repartitionById(total, _RANGE)
    answers = gather(rows.mapInArrow(_range_writer(facts, works, ranges), ANSWER_DDL).collect())
    if answers.failure is not None:
        facts.committer("").abort(answers.messages)
        raise answers.failure
    try:
        return list(_replacements(facts, works, answers.messages))
    except (TableFormatError, OSError):
        facts.committer("").abort(answers.messages)
        raise


def _cut(
    facts: TableFacts, works: Sequence[BucketWork], key: SortKey, samples: Iterable[object], *, most: int
) -> tuple[_Ranges, ...]:
    """The ranges of each partition, of about a file of the target size each."""
    looked: list[list[pa.RecordBatch]] = [[] for _ in works]
    for row in samples:
        failure, work, data = row.failure, row.work, row.sample  # type: ignore[attr-defined]
        if failure is not None:
            raise decode_error(failure)
        looked[work].extend(_unpacked(bytes(data)))
    found: list[_Ranges] = []
    first = 0
    empty = pa.RecordBatch.from_pylist([], schema=arrow_schema(facts.schema.select(key.columns)))
    for work, batches in zip(works, looked, strict=True):
        sample = pa.concat_batches([empty, *batches])
        look = FirstLook(key)
        look.add(sample)
        own = look.with_spread()
        target = files_of(facts, work).target_file_bytes
        count = max(min(math.ceil(sum(file.file_size for file in work.files) / target), most), 1)
        found.append(_Ranges(own, bounds_of(with_sort_key(sample, own), count), first))
        first += found[-1].count
    return tuple(found)


def _replacements(
    facts: TableFacts, works: Sequence[BucketWork], messages: Sequence[CommitMessage]
) -> Iterator[CommitMessage]:
    """One message for each partition, of what the tasks of its ranges wrote; files are numbered in order."""
    written: dict[tuple[bytes, int], list[DataFileMeta]] = {}
    for message in messages:
        written.setdefault((message.partition, message.bucket), []).extend(message.compact_after)
    for work in works:
        after: list[DataFileMeta] = []
        following = 0
        for file in written.get((work.partition, work.bucket), ()):
            last = following + file.row_count - 1
            after.append(replace(file, min_sequence_number=following, max_sequence_number=last))
            following = last + 1
        yield replacement(files_of(facts, work), work.files, work.files, after, work.deletions or BucketDeletions())


# --- inside the tasks -------------------------------------------------------------------------------------------------


def _sampler(
    facts: TableFacts, works: Sequence[BucketWork], pieces: Sequence[_Piece], key: SortKey
) -> Callable[[_Batches], _Batches]:
    def sample(piece: _Piece) -> bytes:
        bucket, deletions = _bucket(facts, works[piece.work])
        found: list[pa.RecordBatch] = []
        step = max(sum(file.row_count for file in piece.files) // SAMPLE_ROWS, 1)
        for batch in live_rows(bucket, piece.files, bucket.schema.select(key.columns), deletions):
            # The ends say which prefix all strings share.
            found += [batch.take(pa.array(np.arange(0, batch.num_rows, step))), _ends(batch)]
        return _packed(found)

    def answer(numbers: _Batches) -> _Batches:
        for piece in _chosen(pieces, numbers):
            try:
                yield _row(_SAMPLE, piece.work, sample(piece), None)
            except TableFormatError as error:
                yield _row(_SAMPLE, piece.work, None, encode_error(error))

    return answer


def _dealer(
    facts: TableFacts, works: Sequence[BucketWork], pieces: Sequence[_Piece], ranges: Sequence[_Ranges]
) -> Callable[[_Batches], _Batches]:
    def dealt(piece: _Piece) -> _Batches:
        cut = ranges[piece.work]
        bucket, deletions = _bucket(facts, works[piece.work])
        for batch in live_rows(bucket, piece.files, bucket.schema.fields, deletions):
            parts = parts_of(with_sort_key(batch, cut.key), cut.bounds)
            rows = batch.take(pa.array(np.argsort(parts, kind="stable")))
            ends = np.cumsum(np.bincount(parts, minlength=cut.count)).tolist()
            for part, (start, end) in enumerate(pairwise([0, *ends])):
                if end > start:
                    yield _row(_ROWS, cut.first + part, _packed([rows.slice(start, end - start)]), None)

    def deal(numbers: _Batches) -> _Batches:
        for piece in _chosen(pieces, numbers):
            try:
                yield from dealt(piece)
            except TableFormatError as error:
                # The task of the first range says so, in its answer.
                yield _row(_ROWS, 0, None, encode_error(error))

    return deal


def _range_writer(
    facts: TableFacts, works: Sequence[BucketWork], ranges: Sequence[_Ranges]
) -> Callable[[_Batches], _Batches]:
    owners = [number for number, cut in enumerate(ranges) for _ in range(cut.count)]

    def written(batches: _Batches) -> tuple[CommitMessage, ...]:
        rows = ((row[_RANGE], row["rows"], row["failure"]) for batch in batches for row in batch.to_pylist())
        first = next(rows, None)
        if first is None:
            return ()
        bucket, _ = _bucket(facts, works[owners[first[0]]])
        sorted_rows = _of_one_range(chain((first,), rows), first[0])
        return (bucket.message(compact_after=write_sorted(bucket, sorted_rows, ranges[owners[first[0]]].key)),)

    def write(batches: _Batches) -> _Batches:
        yield answer_of(lambda: written(batches))
        # After a failure the rest is still to be taken, or the worker cannot serve another task.
        for _ in batches:
            pass

    return write


def _of_one_range(rows: Iterable[tuple[int, bytes | None, str | None]], expected: int) -> _Batches:
    for number, data, failure in rows:
        if failure is not None or data is None:
            raise decode_error(failure or "")
        if number != expected:
            message = f"Spark sent rows of range {number} to the task of range {expected}"
            raise RuntimeError(message)
        yield from _unpacked(data)


def _bucket(facts: TableFacts, work: BucketWork) -> tuple[BucketFiles, BucketDeletions]:
    return files_of(facts, work), work.deletions or BucketDeletions()


def _chosen(pieces: Sequence[_Piece], numbers: _Batches) -> Iterator[_Piece]:
    for batch in numbers:
        yield from (pieces[number] for number in batch.column(0).to_pylist())


def _ends(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The smallest and the largest value of each column, in two rows."""
    columns = []
    for column in batch.columns:
        found = pc.min_max(column)
        columns.append(pa.array([found["min"].as_py(), found["max"].as_py()], column.type))
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _packed(batches: Sequence[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    if batches:
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(sink, batches[0].schema, options=options) as writer:
            for batch in batches:
                writer.write_batch(batch)
    return bytes(sink.getvalue())


def _unpacked(data: bytes) -> list[pa.RecordBatch]:
    if not data:
        return []
    with pa.ipc.open_stream(data) as reader:
        return list(reader)


def _row(schema: pa.Schema, number: int, data: bytes | None, failure: str | None) -> pa.RecordBatch:
    columns = [pa.array([number], pa.int32()), pa.array([data], pa.binary()), pa.array([failure], pa.string())]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
