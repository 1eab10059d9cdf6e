"""When the writers of many buckets flush rows and close files: memory and the number of open files have a bound."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pyarrow as pa

from table_format.limits import MIB
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.table.write.bucket_writer import BucketWriter
from table_format.table.write.compaction_policy import CompactionRound

MAX_OPEN_FILES: Final = 128
"""Buckets with a file that rows go straight to; the one that got no rows for longest is closed first."""

OPEN_FILES_FACTOR: Final = 4
"""Times the write buffer that may pass into such files before all are closed: most of it is on disk by then, and files
should not be smaller than need be."""

MIN_PARALLEL_BYTES: Final = 8 * MIB
"""Rows in memory from which buckets are flushed side by side ..."""

MAX_FLUSH_THREADS: Final = 4
"""... by so many threads at most: each sorts a copy of its rows."""

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
        """The writer of a bucket got rows.

        Raises:
            CorruptionError: a compaction was due, and one of its files is missing or damaged.
        """
        buffers_rows = self._writers[bucket_id].buffers_rows
        if not buffers_rows:
            self._note_open_file(bucket_id)
        # Each writer keeps to the buffer size, or to a row group; many writers together need a bound as well.
        self._waiting_bytes += rows.nbytes
        limit = self._buffer_bytes if buffers_rows else self._buffer_bytes * OPEN_FILES_FACTOR
        if self._waiting_bytes > limit and len(self._writers) > 1:
            self.flush(_NO_COMPACTION)

    def flush(self, compaction: CompactionRound) -> None:
        """Flush all writers; what succeeded is kept even when one of them fails.

        Raises:
            CorruptionError: a file to be compacted is missing or damaged.
        """
        work = [(writer, compaction.of(bucket_id)) for bucket_id, writer in self._writers.items()]
        if self._waiting_bytes < MIN_PARALLEL_BYTES or len(work) == 1:
            for writer, compact in work:
                self._keep(writer.prepare(compact=compact))
        else:
            # Sorting and encoding leave the interpreter alone.
            with ThreadPoolExecutor(min(len(work), MAX_FLUSH_THREADS, os.cpu_count() or 1), "flush") as pool:
                running = [pool.submit(writer.prepare, compact=compact) for writer, compact in work]
            for done in running:
                if done.exception() is None:
                    self._keep(done.result())
            for done in running:
                done.result()
        self.forget()
        for writer, compact in work:
            if compact is True:
                writer.begin_compaction()

    def forget(self) -> None:
        """No row waits, and no file is open."""
        self._waiting_bytes = 0
        self._open_files.clear()

    def _note_open_file(self, bucket_id: BucketId) -> None:
        self._open_files[bucket_id] = None
        self._open_files.move_to_end(bucket_id)
        if len(self._open_files) > MAX_OPEN_FILES:
            oldest, _ = self._open_files.popitem(last=False)
            self._keep(self._writers[oldest].prepare(compact=False))
