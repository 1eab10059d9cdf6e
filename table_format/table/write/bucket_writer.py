"""The interface of the writer of one bucket, for all kinds of tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol, TypeAlias

import pyarrow as pa

from table_format.lsm.background import RunningCompaction
from table_format.model.commit import CommitMessage

Compaction: TypeAlias = bool | Literal["full"]
"""Nothing, what is due, or everything."""


class BucketWriter(Protocol):
    """Writes the rows of one bucket to files; they become visible when its messages are committed.

    ``MergeTreeWriter`` for primary-key tables, ``PostponeWriter`` for rows without a bucket, ``AppendWriter``.
    """

    @property
    def buffers_rows(self) -> bool:
        """Whether rows wait in memory. Other writers write them directly to an open file."""
        ...

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows: the columns of the table and, with a primary key, ``_VALUE_KIND``.

        Raises:
            CorruptionError: a file to be compacted is missing or damaged.
        """
        ...

    def prepare(self, *, compact: Compaction) -> CommitMessage:
        """Return all changes since the last call, after a compaction if the writer runs any.

        Raises:
            CorruptionError: a file to be compacted is missing or damaged.
        """
        ...

    def begin_compaction(self) -> None:
        """Start the due compaction in the background, if commits do not wait for it."""
        ...

    def finish(self) -> CommitMessage:
        """Wait for the running compaction, and return its changes. Raises the errors of ``prepare``."""
        ...

    def were_committed(self, names: Iterable[str]) -> None:
        """Note that returned files are committed, so that others may replace them."""
        ...

    def release(self) -> RunningCompaction | None:
        """Pass the running compaction to the next writer of the bucket; this writer is no longer used."""
        ...

    def abort(self) -> None:
        """Delete files that were written and not returned."""
        ...
