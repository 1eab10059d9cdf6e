"""What a write knows of where its rows go: the role that every way to place rows plays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.table.placement.routing import RoutedRows


class Placement(Protocol):
    """Gives rows their partition and bucket, for one writer. ``placement_of`` chooses the one of a table.

    A batch of a write is placed between ``begin`` and ``complete``; ``forget`` follows a failure.
    """

    @property
    def given_column(self) -> str | None:
        """The column in which rows bring their place, where an assigner has chosen it."""
        ...

    def open(self) -> None:
        """Take what this writer alone may use, before it looks up the latest snapshot.

        Raises:
            LocalStoreError: the directory of a local index cannot be used.
        """
        ...

    def begin(self, base: Snapshot | None, uncommitted: frozenset[bytes]) -> None:
        """Place rows by a snapshot from now on, except where files wait for their commit.

        ``uncommitted`` are the partitions with such files.

        Raises:
            CorruptionError: a file of the table is missing or damaged.
        """
        ...

    def place(self, rows: pa.RecordBatch, given: pa.Array | None) -> Iterator[RoutedRows]:
        """The rows by partition and bucket, those of one bucket in their order; ``given`` is the given column.

        Raises:
            CorruptionError: an index file of the table is missing or damaged.
        """
        ...

    def complete(self, messages: Sequence[CommitMessage]) -> Iterator[CommitMessage]:
        """The messages of placed rows with what a commit has to know of how they were placed.

        Index files are written one by one: what was yielded when that fails is the caller's to delete.
        """
        ...

    def forget(self) -> None:
        """Forget all rows that were placed, and release what ``open`` took."""
        ...
