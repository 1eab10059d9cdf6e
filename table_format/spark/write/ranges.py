"""Sends rows to the task of their range of a sort key, as Arrow batches that are opaque to Spark.

A first job reads only the sort columns and returns samples, from which the driver determines the distribution of the
columns and the ranges. The batches preserve nanoseconds and times of day, which Spark's types lack.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.append.sort import live_rows
from table_format.errors import TableFormatError
from table_format.kernels.sort_keys import SortKey, SortKeySample, bounds_of, parts_of, with_sort_key
from table_format.lsm.sort import compacted_rows
from table_format.model.arrow_calls import concat_batches, schema
from table_format.model.arrow_types import arrow_schema
from table_format.model.commit import CommitMessage
from table_format.model.types import DataField
from table_format.spark.tasks.task_inputs import TaskInputs, numbers_in
from table_format.spark.tasks.task_results import decode_error, encode_error, result_of
from table_format.spark.tasks.worker import Batches, map_in_workers
from table_format.table.facts import TableFacts
from table_format.table.read.splits import pack
from table_format.table.upkeep.bucket_compaction import BucketCompaction, files_of
from table_format.table.upkeep.sort_compact import bucket_to_sort
from table_format.table.write.replaced_files import conflict_if_replaced

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLE_ROWS: Final = 4096
"""Rows of each task of the first job that the driver gets."""

RANGE: Final = "__range__"
ROWS_DDL: Final = f"{RANGE} int, rows binary, failure string"
_ROWS: Final = schema([(RANGE, pa.int32()), ("rows", pa.binary()), ("failure", pa.string())])
_SAMPLE: Final = schema([("part", pa.int32()), ("sample", pa.binary()), ("failure", pa.string())])
_SAMPLE_DDL: Final = "part int, sample binary, failure string"


@dataclass(frozen=True, slots=True)
class Piece:
    """The files of a bucket that one task reads. The partition has a number among those to sort."""

    partition: int
    work: BucketCompaction

    def read(self, facts: TableFacts, fields: Sequence[DataField]) -> Batches:
        """Yield the live rows.

        Raises:
            FileConflict: another commit replaced a file. It is ``BucketLost`` if buckets are sorted separately.
            CorruptionError: a file is missing or damaged.
        """
        bucket = bucket_to_sort(facts, self.work)
        if facts.schema.is_primary_key_table:
            with conflict_if_replaced(facts, self.work.partition):
                yield from compacted_rows([bucket], fields)
            return
        with conflict_if_replaced(facts, self.work.partition, self.work.bucket):
            yield from live_rows(bucket.files, bucket.live, fields, bucket.deletions)


@dataclass(frozen=True, slots=True)
class Ranges:
    """The division of one partition into ranges, numbered from ``first``; there is one more range than bounds."""

    key: SortKey
    bounds: pa.RecordBatch
    first: int

    @property
    def count(self) -> int:
        """The number of ranges."""
        return int(self.bounds.num_rows) + 1

    def of(self, rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """Return the range of each row, counted from 0."""
        return parts_of(with_sort_key(rows, self.key), self.bounds)


def pieces_of(facts: TableFacts, partitions: Sequence[Sequence[BucketCompaction]]) -> TaskInputs[Piece]:
    """Divide the reading of all rows into pieces. Each contains only the metadata of its own files."""
    return TaskInputs.of(
        Piece(number, bucket.only(files))
        for number, buckets in enumerate(partitions)
        for bucket in buckets
        for files in pack(bucket.files, lambda file: file.file_size, facts.options.scan)
    )


def ranges_of(
    spark: SparkSession,
    facts: TableFacts,
    partitions: Sequence[Sequence[BucketCompaction]],
    pieces: TaskInputs[Piece],
    key: SortKey,
) -> tuple[Ranges, ...]:
    """Return the ranges of each partition, each for about one file of the target size. Errors as ``Piece.read``."""
    samples = map_in_workers(one_task_per_piece(spark, pieces), _sampler(facts, pieces, key), _SAMPLE_DDL).collect()
    samples_of: list[list[pa.RecordBatch]] = [[] for _ in partitions]
    for row in samples:
        if row.failure is not None:
            raise decode_error(row.failure)
        samples_of[row.part].extend(_unpacked(bytes(row.sample)))
    most = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    found: list[Ranges] = []
    first = 0
    empty = pa.RecordBatch.from_pylist([], schema=arrow_schema(facts.schema.select(key.columns)))
    for buckets, batches in zip(partitions, samples_of, strict=True):
        sample = concat_batches([empty, *batches])
        sample_key = SortKeySample(key)
        sample_key.add(sample)
        own = sample_key.with_spread()
        size = sum(file.file_size for bucket in buckets for file in bucket.files)
        count = max(min(math.ceil(size / files_of(facts, buckets[0]).target_file_bytes), most), 1)
        found.append(Ranges(own, bounds_of(with_sort_key(sample, own), count), first))
        first += found[-1].count
    return tuple(found)


def one_task_per_piece(spark: SparkSession, pieces: TaskInputs[Piece]) -> DataFrame:
    """Return a DataFrame with one task for each piece, which gets the number of the piece."""
    return spark.range(0, len(pieces), 1, len(pieces))


# --- inside the tasks -------------------------------------------------------------------------------------------------


def for_each_piece(
    pieces: TaskInputs[Piece], work: Callable[[Piece], Batches], failed: Callable[[TableFormatError], pa.RecordBatch]
) -> Callable[[Batches], Batches]:
    """Do the work of the pieces with the given numbers. ``failed`` converts an error to a row."""

    def result(numbers: Batches) -> Batches:
        for number in numbers_in(numbers):
            try:
                yield from work(pieces[number])
            except TableFormatError as error:
                yield failed(error)

    return result


def part_writer(write_part: Callable[[int, Batches], Sequence[CommitMessage]]) -> Callable[[Batches], Batches]:
    """Write the rows of the part of a task. Return one row for the task."""

    def written(batches: Batches) -> Sequence[CommitMessage]:
        got = of_one_part(batches)
        return () if got is None else write_part(*got)

    def write(batches: Batches) -> Batches:
        yield result_of(lambda: written(batches))

    return write


def rows_by_part(rows: pa.RecordBatch, parts: npt.NDArray[np.int64], *, count: int, first: int = 0) -> Batches:
    """Yield rows for the tasks of their parts. There are ``count`` parts, numbered from ``first``."""
    ordered = rows.take(np.argsort(parts, kind="stable"))
    ends = np.cumsum(np.bincount(parts, minlength=count)).tolist()
    for part, (start, end) in enumerate(pairwise([0, *ends])):
        if end > start:
            yield rows_for(first + part, ordered.slice(start, end - start))


def rows_for(part: int, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows for the task of a part in the form in which they are sent."""
    return _row(_ROWS, part, _packed([rows]), None)


def error_row(error: TableFormatError) -> pa.RecordBatch:
    """Return an error in the form of rows. The task of part 0 returns it as its result."""
    return _row(_ROWS, 0, None, encode_error(error))


def of_one_part(batches: Batches) -> tuple[int, Batches] | None:
    """Return the part of a task and its rows; ``None`` if the task has no rows.

    Reading the rows raises the error of another task, if there is one.
    """
    rows = ((row[RANGE], row["rows"], row["failure"]) for batch in batches for row in batch.to_pylist())
    first = next(rows, None)
    return None if first is None else (first[0], _checked(chain((first,), rows), first[0]))


def _checked(rows: Iterable[tuple[int, bytes | None, str | None]], expected: int) -> Batches:
    for number, data, failure in rows:
        if failure is not None or data is None:
            raise decode_error(failure or "")
        if number != expected:
            message = f"Spark sent rows of range {number} to the task of range {expected}"
            raise RuntimeError(message)
        yield from _unpacked(data)


def _sampler(facts: TableFacts, pieces: TaskInputs[Piece], key: SortKey) -> Callable[[Batches], Batches]:
    def sample(piece: Piece) -> Batches:
        found: list[pa.RecordBatch] = []
        step = max(sum(file.row_count for file in piece.work.files) // SAMPLE_ROWS, 1)
        for batch in piece.read(facts, facts.schema.select(key.columns)):
            # The smallest and largest strings determine the common prefix of all strings.
            found += [batch.take(np.arange(0, batch.num_rows, step)), _ends(batch)]
        yield _row(_SAMPLE, piece.partition, _packed(found), None)

    return for_each_piece(pieces, sample, lambda error: _row(_SAMPLE, 0, None, encode_error(error)))


def _ends(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the smallest and the largest value of each column as two rows."""
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
    columns: list[pa.Array] = [
        pa.array([number], pa.int32()),
        pa.array([data], pa.binary()),
        pa.array([failure], pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
