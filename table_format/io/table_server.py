"""The server of a catalog that decides what the latest snapshot of a table is, and publishes new ones.

Without one, the files decide. The files of a table with a server are where the others are, and every snapshot has its
file: the server writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from table_format.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PartitionChange:
    """What a commit adds to a partition; negative numbers if it removes more (Java ``PartitionStatistics``)."""

    values: Mapping[str, str]
    row_count: int
    bytes: int
    file_count: int
    last_creation_ms: int
    total_buckets: int


class TableServer(Protocol):
    """The server of one table with its branches. It can be sent to other processes, which connect when they use it.

    All methods raise ``MetastoreUnavailable`` if the server does not answer or refuses, and ``TableNotFound`` if it has
    no such table or branch.
    """

    def latest(self, branch: str) -> Snapshot | None:
        """Return the latest snapshot of a branch; ``None`` if it has none."""
        ...

    def commit(self, branch: str, snapshot: Snapshot, changes: Sequence[PartitionChange], *, give_up_ms: int) -> bool:
        """Make a snapshot the latest of a branch; return ``False`` if it does not follow the latest one.

        A request that is repeated is sent before the monotonic time ``give_up_ms``.

        Raises:
            OSError: there is no answer, or the server failed: the snapshot may be published, or may still be.
        """
        ...

    def roll_back(self, branch: str, target: int | str) -> None:
        """Make an earlier snapshot, or that of a tag, the latest of a branch.

        Raises:
            SnapshotNotFound, TagNotFound: the server has no such snapshot or tag.
        """
        ...

    def create_branch(self, branch: str, name: str, tag: str | None) -> None:
        """Create a branch with the schemas of another one, empty or with the snapshot of a tag.

        Raises:
            AlreadyExistsError: there is such a branch. TagNotFound: there is no such tag.
        """
        ...

    def delete_branch(self, name: str) -> None:
        """Delete a branch. Raises ``BranchNotFound``."""
        ...

    def rename_branch(self, name: str, new_name: str) -> None:
        """Rename a branch. Raises ``BranchNotFound`` and ``AlreadyExistsError``."""
        ...

    def fast_forward(self, branch: str, source: str) -> None:
        """Replace the history of a branch by that of another. Raises ``BranchNotFound``."""
        ...
