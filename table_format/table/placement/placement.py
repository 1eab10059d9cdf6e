"""The protocol of placements, which give the rows of a write their partitions and buckets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.table.placement.routing import RoutedRows


class Placement(Protocol):
    """Gives rows their partition and bucket, for one writer. ``placement_of`` chooses the placement of a table.

    Call ``begin``, place batches, then ``complete``. Call ``forget`` after a failure.
    """

    @property
    def given_column(self) -> str | None:
        """The column with the place of each row, if an assigner has chosen it."""
        ...

    def open(self) -> None:
        """Acquire exclusive resources, before the writer reads the latest snapshot.

        Raises:
            LocalStoreError: the directory of a local index cannot be used.
        """
        ...

    def begin(self, base: Snapshot | None, uncommitted: frozenset[bytes]) -> None:
        """Place rows by this snapshot, except in partitions with uncommitted files.

        ``uncommitted`` are the partitions with such files.

        Raises:
            CorruptionError: a file of the table is missing or damaged.
        """
        ...

    def place(self, rows: pa.RecordBatch, given: pa.Array | None) -> Iterator[RoutedRows]:
        """Return the rows by partition and bucket. Rows of one bucket keep their order. ``given`` is the given column.

        Raises:
            CorruptionError: an index file of the table is missing or damaged.
        """
        ...

    def complete(self, messages: Sequence[CommitMessage]) -> Iterator[CommitMessage]:
        """Return the messages with the information on placement that a commit needs.

        Index files are written one by one. If this fails, the caller deletes the files of yielded messages.
        """
        ...

    def forget(self) -> None:
        """Forget all placed rows, and release what ``open`` has acquired."""
        ...
