"""Decides when the writers of many buckets flush rows and close files, to limit memory and the number of open files."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Final

import pyarrow as pa

from table_format.io.threads import EndingThreads, results_of
from table_format.limits import MIB
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.table.write.bucket_writer import BucketWriter
from table_format.table.write.compaction_policy import CompactionRound

MAX_OPEN_FILES: Final = 128
"""The maximum number of buckets with an open file. The file that has had no rows for longest is closed first."""

OPEN_FILES_FACTOR: Final = 4
"""The amount of rows, in write buffers, after which all open files are closed. Most of it is on disk by then, and a
smaller amount would make smaller files."""

MIN_PARALLEL_BYTES: Final = 8 * MIB
"""The minimum size of rows in memory with which buckets are flushed in parallel."""

MAX_FLUSH_THREADS: Final = 4
"""The maximum number of threads that flush buckets: each sorts a copy of its rows."""

_NO_COMPACTION: Final = CompactionRound(others=False)


class FlushSchedule:
    """Follows what is written to ``writers`` and flushes them in time; ``keep`` gets the message of each flush.

    ``buffer_bytes`` is the size of the write buffer of the table, which all writers share.
    """

    def __init__(
        self, writers: Mapping[BucketId, BucketWriter], buffer_bytes: int, keep: Callable[[CommitMessage], None]
    ) -> None:
        self._writers = writers
        self._buffer_bytes = buffer_bytes
        self._keep = keep
        self._open_files: OrderedDict[BucketId, None] = OrderedDict()
        self._waiting_bytes = 0

    def wrote(self, bucket_id: BucketId, rows: pa.RecordBatch) -> None:
        """Note that the writer of a bucket received rows.

        Raises:
            CorruptionError: a compaction was due, and one of its files is missing or damaged.
        """
        buffers_rows = self._writers[bucket_id].buffers_rows
        if not buffers_rows:
            self._note_open_file(bucket_id)
        # Each writer respects the buffer size, or a row group; many writers together also need a limit.
        self._waiting_bytes += rows.nbytes
        limit = self._buffer_bytes if buffers_rows else self._buffer_bytes * OPEN_FILES_FACTOR
        if self._waiting_bytes > limit and len(self._writers) > 1:
            self.flush(_NO_COMPACTION)

    def flush(self, compaction: CompactionRound) -> None:
        """Flush all writers; the results of the others are kept if one fails, and those until an interrupt.

        Raises:
            CorruptionError: a file to be compacted is missing or damaged.
        """
        work = [(writer, compaction.of(bucket_id)) for bucket_id, writer in self._writers.items()]
        if self._waiting_bytes < MIN_PARALLEL_BYTES or len(work) == 1:
            for writer, compact in work:
                self._keep(writer.prepare(compact=compact))
        else:
            # Sorting and encoding release the interpreter lock.
            running: list[Future[CommitMessage]] = []
            try:
                with EndingThreads(min(len(work), MAX_FLUSH_THREADS, os.cpu_count() or 1), "flush") as pool:
                    running.extend(pool.submit(writer.prepare, compact=compact) for writer, compact in work)
            finally:
                for message in results_of(running):
                    self._keep(message)
            for done in running:
                done.result()
        self.forget()
        for writer, compact in work:
            if compact is True:
                writer.begin_compaction()

    def forget(self) -> None:
        """Note that no row waits and no file is open."""
        self._waiting_bytes = 0
        self._open_files.clear()

    def _note_open_file(self, bucket_id: BucketId) -> None:
        self._open_files[bucket_id] = None
        self._open_files.move_to_end(bucket_id)
        if len(self._open_files) > MAX_OPEN_FILES:
            oldest, _ = self._open_files.popitem(last=False)
            self._keep(self._writers[oldest].prepare(compact=False))
