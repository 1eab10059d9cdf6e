"""The writer of one bucket of a primary key table (format chapter 07, section 2; Java ``MergeTreeWriter``).

Rows get their sequence numbers as they arrive, wait in memory until the write buffer is full, and become level-0 files
sorted by key with one row for each key. Unless the table is ``write-only``, each flush is followed by the compaction
that is due; the writer waits for it, leaves it to others, or has it done beside itself. Nothing is visible before the
message of ``prepare`` is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, Literal

import numpy as np
import pyarrow as pa

from table_format.errors import InvalidInputError, MissingFile
from table_format.formats.batch_rows import MAX_BATCH_ROWS
from table_format.formats.bucket_files import BucketFiles
from table_format.kernels.aggregates import initial_values
from table_format.kernels.engines import Aggregation, PartialUpdate
from table_format.kernels.sort import sort_and_merge, sort_versions
from table_format.limits import MIB
from table_format.lsm.background import RunningCompaction
from table_format.lsm.bucket_deletion_vectors import BucketDeletions
from table_format.lsm.buffer import WriteBuffer
from table_format.lsm.commit_increment import CommitIncrement, CompactResult
from table_format.lsm.compact import bucket_vectors, due_compaction, run_compaction, whole_compaction
from table_format.lsm.flushed_rows import FlushedRows
from table_format.lsm.keys import key_ranges
from table_format.lsm.levels import levels_of, replace_files
from table_format.lsm.merge_spec import merge_spec
from table_format.lsm.retracts import check_retracts
from table_format.lsm.runs import is_add, physical_batch
from table_format.lsm.universal import CompactUnit
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND
from table_format.options.stream import ChangelogProducer
from table_format.options.values import MAX_LONG

_MAX_BUFFER_BYTES: Final = 1024 * MIB
"""Beyond this, one flush could have more bytes of text than an Arrow string column holds."""


class MergeTreeWriter:
    """Write to one bucket; one writer for each bucket at a time.

    ``existing`` are the live files of the bucket: they say where sequence numbers go on, and take part in compaction.
    ``deletions`` are the deletion vectors of the existing files. With ``are_results`` rows have been merged before, one
    for each key, and are written as they are. With an ``executor`` compactions run there while the writer goes on,
    unless the options want a commit to wait for them. A compaction that misses a file of which ``is_replaced`` says
    that others have replaced it is given up, and so are those after it: the writer knows a bucket of the past.
    ``sequence_numbers`` are those of this writer beside others, counted from where the bucket goes on.
    """

    buffers_rows: Final = True
    """Rows wait in memory until ``prepare``, or until the write buffer is full."""

    def __init__(
        self,
        bucket: BucketFiles,
        *,
        existing: Sequence[DataFileMeta] = (),
        deletions: BucketDeletions | None = None,
        are_results: bool = False,
        executor: Executor | None = None,
        is_replaced: Callable[[MissingFile], bool] | None = None,
        sequence_numbers: range | None = None,
    ) -> None:
        self._are_results = are_results
        self._bucket = bucket
        schema, options = bucket.schema, bucket.options
        # The buffer holds rows in the order of their numbers, so that the numbers themselves need not be compared.
        self._spec = replace(merge_spec(schema, options), by_sequence_number=False)
        self._key_range = key_ranges(schema)
        self._levels = levels_of(existing, options.compaction.num_levels, self._key_range)
        goes_on = max((file.max_sequence_number for file in existing), default=-1) + 1
        self._numbers = range(goes_on, MAX_LONG) if sequence_numbers is None else _shifted(sequence_numbers, goes_on)
        self._next_sequence = self._numbers.start
        self._buffer = WriteBuffer(min(options.write.buffer_size, _MAX_BUFFER_BYTES))
        self._changes = CommitIncrement(self._bucket)
        self._deletion_vectors = bucket_vectors(self._bucket, deletions)
        self._flushed: FlushedRows | None = None
        self._executor = executor
        self._running: RunningCompaction | None = None
        self._is_replaced = is_replaced
        self._is_outdated = False
        self._committed = {name for file in existing for name in (file.file_name, *file.extra_files)}
        self._committed.update(index.file_name for index in (() if deletions is None else deletions.index_files))

    @property
    def max_sequence_number(self) -> int:
        """The last number given out, in this bucket by whomever; -1 before the first."""
        return self._next_sequence - 1

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows in: the table's columns and ``_VALUE_KIND`` (int8). May flush, and compact.

        Raises:
            RetractNotSupported: a row takes back what the merge engine cannot.
            CorruptionError: a file to be compacted is missing or damaged.
            InvalidInputError: the writer has no more sequence numbers of its own.
        """
        if self._spec.ignore_delete:
            batch = batch.filter(is_add(batch.column(VALUE_KIND.name)))
        elif self._spec.engine is not None:
            check_retracts(batch, self._spec.engine)
        if self._next_sequence + batch.num_rows > self._numbers.stop:
            where = f"{self._bucket.partition_text or 'the table'}, bucket {self._bucket.bucket}"
            message = (
                f"{where}: a task has more rows than the {len(self._numbers)} sequence numbers of its own; write "
                "them with another 'spark.write.exchange'"
            )
            raise InvalidInputError(message)
        numbers = np.arange(self._next_sequence, self._next_sequence + batch.num_rows, dtype=np.int64)
        self._next_sequence += batch.num_rows
        rows = batch.append_column(SEQUENCE_NUMBER.name, pa.array(numbers))
        while rows.num_rows:
            rows = self._buffer.add(rows)
            if self._buffer.is_full:
                self._flush()
                if not self._bucket.options.compaction.write_only and self._waits(self._stop_trigger):
                    self._compact_due()
                self._flushed = None

    def prepare(self, *, compact: bool | Literal["full"]) -> CommitMessage:
        """Flush, compact what is due (or everything), and hand over all changes since the last call.

        Raises:
            CorruptionError: a file to be compacted is missing or damaged, also by a compaction begun earlier.
        """
        self._finish_running(wait=compact == "full")
        self._flush()
        if compact == "full":
            self._compact(lambda: whole_compaction(self._bucket, self._levels, self._deletion_vectors))
        elif compact and self._waits(self._stop_trigger + 1):
            self._compact_due()
        self._flushed = None
        return self._drain()

    def begin_compaction(self) -> None:
        """Have the compaction of what was handed over done beside the writer, where commits do not wait for it.

        What comes of it is handed over by a later ``prepare``, or by ``finish``.
        """
        if self._executor is None or self._running is not None or self._waits(self._stop_trigger + 1):
            return
        if self._is_outdated:
            return
        unit = due_compaction(self._bucket, self._levels)
        if unit is not None:
            self._running = RunningCompaction.begin(
                self._executor, self._bucket, self._levels, unit, self._deletion_vectors
            )

    def finish(self) -> CommitMessage:
        """Wait for the compaction that is running, and hand over what came of it; raises as ``prepare``."""
        self._finish_running(wait=True)
        return self._drain()

    def release(self) -> RunningCompaction | None:
        """Give away the compaction that is running; the writer is not used any more."""
        running, self._running = self._running, None
        return running

    def resume(self, running: RunningCompaction) -> None:
        """Continue a compaction that another writer of this bucket has begun, or discard it if it no longer fits."""
        if running.fits(self._levels, self._deletion_vectors):
            self._running, self._deletion_vectors = running, running.deletion_vectors
        else:
            running.discard()

    def abort(self) -> None:
        """Forget buffered rows and delete the files of changes that were not handed over."""
        self._buffer.drain()
        self._changes.abort()
        running = self.release()
        if running is not None:
            running.discard()

    @property
    def _stop_trigger(self) -> int:
        return self._bucket.options.compaction.stop_trigger

    def _waits(self, most_runs: int) -> bool:
        """Whether the writer waits for the compaction that is due (Java ``shouldWaitForLatestCompaction``)."""
        options = self._bucket.options.compaction
        if options.force_compact or len(self._levels.runs) > most_runs:
            return True
        return options.lookup_wait if self._bucket.options.compacts_by_lookup else self._executor is None

    def _drain(self) -> CommitMessage:
        if self._running is None:
            with self._giving_up_if_replaced():
                return self._changes.drain(self._deletion_vectors, self._levels)
        # The vectors are those of the compaction while it is running, and nobody's when it was given up.
        return self._changes.drain(None, self._levels)

    def _finish_running(self, *, wait: bool) -> None:
        if self._running is not None and (wait or self._running.is_done):
            running, self._running = self._running, None
            with self._giving_up_if_replaced():
                self._compacted(running.result())

    def _flush(self) -> None:
        rows = self._buffer.drain()
        if rows is None:
            return
        changelog: tuple[DataFileMeta, ...] = ()
        if self._bucket.changelog_producer is ChangelogProducer.INPUT:
            changelog = self._written(sort_versions(rows, self._spec), changelog=True)
        with self._bucket.deleting_on_failure(changelog):
            merged = sort_and_merge(self._with_initial_values(rows), self._spec)
            files = self._written(merged)
        self._flushed = FlushedRows.of(self._bucket, files, merged)
        self._changes.flushed(files, changelog)
        self._levels = replace_files(self._levels, (), files, self._key_range)

    def _written(self, rows: pa.RecordBatch, *, changelog: bool = False) -> tuple[DataFileMeta, ...]:
        batch = physical_batch(rows, self._bucket.schema)
        with self._bucket.writing(level=0, source=FileSource.APPEND, changelog=changelog) as writer:
            for start in range(0, batch.num_rows, MAX_BATCH_ROWS):
                writer.write(batch.slice(start, MAX_BATCH_ROWS))
            return writer.close()

    def were_committed(self, names: Iterable[str]) -> None:
        """Files that this writer handed over are the table's, and others may replace them."""
        self._committed.update(names)

    def _with_initial_values(self, rows: pa.Table) -> pa.Table:
        if self._are_results or not isinstance(self._spec.engine, Aggregation | PartialUpdate):
            return rows
        for spec in self._spec.engine.aggregates:
            if spec.partial_counts:
                at = rows.schema.get_field_index(spec.field.name)
                values = initial_values(spec, rows.column(at).combine_chunks())
                rows = rows.set_column(at, rows.schema.field(at), values)
        return rows

    def _compact_due(self) -> None:
        self._finish_running(wait=True)
        self._compact(lambda: due_compaction(self._bucket, self._levels))

    def _compact(self, pick: Callable[[], CompactUnit | None]) -> None:
        if self._is_outdated:
            return
        with self._giving_up_if_replaced():
            unit = pick()
            if unit is not None:
                vectors, flushed = self._deletion_vectors, self._flushed
                self._compacted(run_compaction(self._bucket, self._levels, unit, vectors, flushed))

    @contextmanager
    def _giving_up_if_replaced(self) -> Iterator[None]:
        """Go on without compactions when one misses a file that others have replaced; rows wait on level 0."""
        try:
            yield
        except MissingFile as error:
            # What is not committed nobody replaces.
            name = error.path.rpartition("/")[2]
            if name not in self._committed or self._is_replaced is None or not self._is_replaced(error):
                raise
            # What was compacted before may have marked rows, in vectors that are lost with this compaction.
            self._changes.forget_compactions()
            self._deletion_vectors = None
            self._is_outdated = True

    def _compacted(self, result: CompactResult) -> None:
        self._changes.compacted(result)
        self._levels = replace_files(self._levels, result.before, result.after, self._key_range)


def _shifted(numbers: range, by: int) -> range:
    return range(numbers.start + by, numbers.stop + by)
