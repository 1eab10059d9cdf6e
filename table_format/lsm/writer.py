"""The writer of one bucket of a primary-key table (format chapter 07, section 2; Java ``MergeTreeWriter``).

Rows get their sequence numbers when they arrive, and are buffered in memory until the write buffer is full. Then they
are written to level-0 files, sorted by key, with one row for each key. Unless the table is ``write-only``, each flush
is followed by the compaction that is due; the writer waits for it, or runs it in the background. Nothing is visible
before the message of ``prepare`` is committed.
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
"""The maximum size of the write buffer: a larger flush could exceed the size of an Arrow string column."""


class MergeTreeWriter:
    """Writes to one bucket, which must have only one writer at a time.

    ``existing`` are the live files of the bucket, which determine the next sequence number and take part in compaction.
    ``deletions`` are the deletion vectors of the existing files. With ``are_results`` rows are already merged, one for
    each key, and are written unchanged. With an ``executor`` compactions run there while the writer continues, unless
    the options require that a commit waits for them. If a file of a compaction is missing, and ``is_replaced`` confirms
    that others have replaced it, this and all later compactions are skipped, because the writer's view of the bucket is
    out of date. ``sequence_numbers`` is the range of this writer among parallel writers, relative to the next number of
    the bucket.
    """

    buffers_rows: Final = True
    """Rows are buffered in memory until ``prepare`` is called or the write buffer is full."""

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
        # Rows in the buffer are in the order of their sequence numbers, so the numbers need not be compared.
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
        """The last sequence number that any writer used in this bucket; -1 before the first."""
        return self._next_sequence - 1

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows with the table's columns and ``_VALUE_KIND`` (int8). This may flush the buffer and start a
        compaction.

        Raises:
            RetractNotSupported: the merge engine does not support a retract row.
            CorruptionError: a file to be compacted is missing or damaged.
            InvalidInputError: the writer has used up its range of sequence numbers.
        """
        if self._spec.ignore_delete:
            batch = batch.filter(is_add(batch.column(VALUE_KIND.name)))
        elif self._spec.engine is not None:
            check_retracts(batch, self._spec.engine)
        if self._next_sequence + batch.num_rows > self._numbers.stop:
            where = f"{self._bucket.partition_text or 'the table'}, bucket {self._bucket.bucket}"
            message = (
                f"{where}: a task has more rows than its {len(self._numbers)} sequence numbers; write "
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
        """Flush, compact what is due (or everything), and return all changes since the last call.

        Raises:
            CorruptionError: a file to be compacted is missing or damaged, also in a compaction that was started
                earlier.
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
        """Start a background compaction of the files in earlier messages, if commits do not wait for compactions.

        A later ``prepare``, or ``finish``, returns its result.
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
        """Wait for the running compaction and return its result; raises the same errors as ``prepare``."""
        self._finish_running(wait=True)
        return self._drain()

    def release(self) -> RunningCompaction | None:
        """Return the running compaction, for another writer; this writer must not be used any more."""
        running, self._running = self._running, None
        return running

    def resume(self, running: RunningCompaction) -> None:
        """Continue a compaction that another writer of this bucket started, or discard it if it no longer fits."""
        if running.fits(self._levels, self._deletion_vectors):
            self._running, self._deletion_vectors = running, running.deletion_vectors
        else:
            running.discard()

    def abort(self) -> None:
        """Discard buffered rows, and delete the files of changes that were not returned by ``prepare``."""
        self._buffer.drain()
        self._changes.abort()
        running = self.release()
        if running is not None:
            running.discard()

    @property
    def _stop_trigger(self) -> int:
        return self._bucket.options.compaction.stop_trigger

    def _waits(self, most_runs: int) -> bool:
        """Return whether the writer waits for the compaction that is due (Java ``shouldWaitForLatestCompaction``)."""
        options = self._bucket.options.compaction
        if options.force_compact or len(self._levels.runs) > most_runs:
            return True
        return options.lookup_wait if self._bucket.options.compacts_by_lookup else self._executor is None

    def _drain(self) -> CommitMessage:
        if self._running is None:
            with self._giving_up_if_replaced():
                return self._changes.drain(self._deletion_vectors, self._levels)
        # A running compaction owns the vectors; after a skipped compaction there are none.
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
        """Record that files of this writer are committed, so that other writers may replace them."""
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
        """Skip all compactions if a file is missing that others have replaced; rows then stay on level 0."""
        try:
            yield
        except MissingFile as error:
            # Files that are not committed cannot be replaced by others.
            name = error.path.rpartition("/")[2]
            if name not in self._committed or self._is_replaced is None or not self._is_replaced(error):
                raise
            # Earlier compactions may have marked rows in vectors that are lost with this compaction.
            self._changes.forget_compactions()
            self._deletion_vectors = None
            self._is_outdated = True

    def _compacted(self, result: CompactResult) -> None:
        self._changes.compacted(result, self._levels)
        self._levels = replace_files(self._levels, result.before, result.after, self._key_range)


def _shifted(numbers: range, by: int) -> range:
    return range(numbers.start + by, numbers.stop + by)
