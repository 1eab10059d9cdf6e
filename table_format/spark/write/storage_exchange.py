"""Sends rows to the tasks of their buckets through files in the storage of the table.

Each task appends its rows to one file as Arrow streams, one stream for each writing task, and sends only the location
of each stream: the file, its offset and its length. A writing task reads the ranges that it gets, those of earlier
tasks first, so that rows keep the order of the DataFrame.

The name of a file contains the attempt of a task, and the directory is never listed, so files of failed, repeated or
speculative attempts are never read. The driver deletes the directory of its job at the end. If the driver dies,
removing orphan files deletes the directory (``TablePaths.exchange_directory``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import TaskContext

from table_format.errors import InvalidData, TableFormatError
from table_format.io.file_io import FileIO, ScratchFiles
from table_format.io.regular_files import opened_file
from table_format.kernels.hashing import row_hashes
from table_format.limits import MIB
from table_format.model.arrow_calls import concat_batches, schema
from table_format.model.types import DataField
from table_format.spark.tasks.task_results import RESULT_DDL, decode_error, encode_error
from table_format.spark.tasks.worker import Batches, map_in_workers
from table_format.spark.write.buckets import bucket_function
from table_format.table.facts import TableFacts
from table_format.table.rows.casts import cast_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BYTES_AT_ONCE: Final = 16 * MIB
"""Bytes of rows that a task buffers before it appends them to its file. It needs about five times as much memory."""

_WRITER: Final = "writer"
_SEGMENT: Final = schema(
    [
        (_WRITER, pa.int32()),
        ("task", pa.int32()),
        ("path", pa.string()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("failure", pa.string()),
    ]
)
_Place: TypeAlias = tuple[int, int, int]
"""A writing task, and the offset and the length of its rows in a file."""

_SEGMENT_DDL: Final = f"{_WRITER} int, task int, path string, offset long, length long, failure string"


@dataclass(frozen=True, slots=True)
class StorageExchange:
    """An exchange between tasks. ``names`` are the column names, ``tasks`` is the number of writing tasks."""

    facts: TableFacts
    names: tuple[str, ...]
    buckets: int
    tasks: int
    directory: str

    def writers_of(self, rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """Return the writing task of each row. All rows of a bucket of a partition have the same task."""
        facts = self.facts
        fields = facts.schema.select(facts.schema.bucket_keys)
        function = bucket_function(fields, self.buckets, facts.options.bucket.function)
        targets = np.asarray(function(*self._columns(rows, fields)).to_numpy(), np.int64)
        if facts.schema.partition_keys:
            targets = targets + self._partition_hashes(rows)
        found: npt.NDArray[np.int64] = targets % self.tasks
        return found

    def _partition_hashes(self, rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
        fields = self.facts.schema.select(self.facts.schema.partition_keys)
        try:
            columns = [cast_column(c, f.type, f.name) for c, f in zip(self._columns(rows, fields), fields, strict=True)]
            return row_hashes([field.type for field in fields], columns).astype(np.int64)
        except InvalidData:
            # The task that writes these rows raises the error.
            return np.zeros(rows.num_rows, np.int64)

    def _columns(self, rows: pa.RecordBatch, fields: Sequence[DataField]) -> list[pa.Array]:
        return [rows.column(self.names.index(field.name)) for field in fields]


@contextmanager
def exchange_directory(facts: TableFacts) -> Iterator[str]:
    """Return a directory for the files of one job. It is deleted at the end."""
    io, paths = facts.store.io, facts.store.paths
    directory = paths.exchange(facts.store.runtime.ids.uuid())
    io.make_directory(directory)
    try:
        yield directory
    finally:
        io.delete_tree(directory)
        io.delete_empty_directory(paths.exchange_directory)


def written_through_storage(frame: DataFrame, job: StorageExchange, write: Callable[[Batches], Batches]) -> list[Any]:
    """Return the results of the writing tasks, after ``write`` has received all rows of its buckets."""
    segments = map_in_workers(frame, sender(job), _SEGMENT_DDL)
    return map_in_workers(segments.repartitionById(job.tasks, _WRITER), receiver(job, write), RESULT_DDL).collect()


# --- inside the tasks -------------------------------------------------------------------------------------------------


def sender(job: StorageExchange) -> Callable[[Batches], Batches]:
    """Append rows to a file of this attempt, and return the locations of the rows of each writer."""

    def send(batches: Batches) -> Batches:
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        try:
            yield from _sent(job, number, batches)
        except TableFormatError as error:
            yield _segments([(0, number, "", 0, 0, encode_error(error))])

    return send


def _sent(job: StorageExchange, number: int, batches: Batches) -> Batches:
    gathered = _gathered(batches)
    first = next(gathered, None)
    if first is None:
        return
    store = job.facts.store
    path = f"{job.directory}/{store.runtime.ids.uuid()}"
    places: list[_Place] = []
    # Spark prepares the next rows only while this thread reads them, so another thread appends the last ones.
    with _new_file(store.io, path) as file, ThreadPoolExecutor(1) as background:
        appended = background.submit(_append, job, file, first)
        for rows in gathered:
            places += appended.result()
            appended = background.submit(_append, job, file, rows)
        places += appended.result()
    # The places are sent once the file is complete, because their readers may start at once.
    yield _segments([(writer, number, path, offset, length, None) for writer, offset, length in places])


def _append(job: StorageExchange, file: pa.NativeFile, batches: Sequence[pa.RecordBatch]) -> list[_Place]:
    places: list[_Place] = []
    for writer, part in _by_writer(job, concat_batches(batches)):
        offset = file.tell()
        with pa.ipc.new_stream(file, part.schema) as stream:
            stream.write_batch(part)
        places.append((writer, offset, file.tell() - offset))
    return places


def _new_file(io: FileIO, path: str) -> pa.NativeFile:
    return io.open_scratch(path) if isinstance(io, ScratchFiles) else io.open_output(path)


def _by_writer(job: StorageExchange, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    writers = job.writers_of(rows)
    # NumPy sorts numbers of at most 16 bits by their digits, which is ten times as fast.
    ordered = rows.take(np.argsort(writers.astype(np.min_scalar_type(job.tasks)), kind="stable"))
    ends = np.concatenate(([0], np.cumsum(np.bincount(writers, minlength=job.tasks)))).tolist()
    for writer in range(job.tasks):
        start, end = ends[writer], ends[writer + 1]
        if end > start:
            yield writer, ordered.slice(start, end - start)


def _gathered(batches: Batches) -> Iterator[list[pa.RecordBatch]]:
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        size += batch.nbytes
        if size >= _BYTES_AT_ONCE:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


def receiver(job: StorageExchange, write: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """Pass the rows at the given locations to ``write``."""

    def receive(batches: Batches) -> Batches:
        yield from write(_received(job, batches))

    return receive


def _received(job: StorageExchange, batches: Batches) -> Batches:
    found = sorted(
        (row for batch in batches for row in batch.to_pylist()), key=lambda row: (row["task"], row["offset"])
    )
    for row in found:
        if row["failure"] is not None:
            raise decode_error(row["failure"])
    at = 0
    while at < len(found):
        path = found[at]["path"]
        with opened_file(job.facts.store.io, path) as file:
            while at < len(found) and found[at]["path"] == path:
                yield from _rows_at(file, found[at]["offset"], found[at]["length"])
                at += 1


def _rows_at(file: pa.NativeFile, offset: int, length: int) -> Batches:
    file.seek(offset)
    with pa.ipc.open_stream(file.read_buffer(length)) as stream:
        yield from stream


def _segments(rows: Sequence[tuple[int, int, str, int, int, str | None]]) -> pa.RecordBatch:
    columns = [pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), _SEGMENT, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=_SEGMENT)
