"""The role of the writer of one bucket, whatever kind of table the bucket is of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol, TypeAlias

import pyarrow as pa

from table_format.lsm.background import RunningCompaction
from table_format.model.commit import CommitMessage

Compaction: TypeAlias = bool | Literal["full"]
"""Nothing, what is due, or everything."""


class BucketWriter(Protocol):
    """Writes the rows of one bucket to files; nothing of it is visible before its messages are committed.

    ``MergeTreeWriter`` for primary-key tables, ``PostponeWriter`` for rows without a bucket, ``AppendWriter``.
    """

    @property
    def buffers_rows(self) -> bool:
        """Whether rows wait in memory, where others go straight to an open file."""
        ...

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows in: the table's columns and, with a primary key, ``_VALUE_KIND``.

        Raises:
            CorruptionError: a file to be compacted is missing or damaged.
        """
        ...

    def prepare(self, *, compact: Compaction) -> CommitMessage:
        """Hand over all changes since the last call, after a compaction where the writer makes any.

        Raises:
            CorruptionError: a file to be compacted is missing or damaged.
        """
        ...

    def begin_compaction(self) -> None:
        """Begin the compaction that is due beside the writer, where commits do not wait for it."""
        ...

    def finish(self) -> CommitMessage:
        """Wait for the compaction that is running, and hand over what it changed; raises as ``prepare``."""
        ...

    def were_committed(self, names: Iterable[str]) -> None:
        """Files that this writer handed over are the table's, and others may replace them."""
        ...

    def release(self) -> RunningCompaction | None:
        """Give up the compaction that is running to the next writer of the bucket; this one is not used any more."""
        ...

    def abort(self) -> None:
        """Delete what was written and not handed over."""
        ...
