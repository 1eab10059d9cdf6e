"""Changelogs that outlive their snapshots (format chapter 03, section 3; Java ``ChangelogManager``).

An expired snapshot whose changes are still wanted is kept as ``changelog/changelog-<id>`` with the same content; of the
files it names only those of its changes are promised to be there. The ids lead without gap to the retained snapshots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from table_format.codecs.snapshot_json import decode_snapshot
from table_format.errors import BadEncoding
from table_format.io.paths import changelog_id_of
from table_format.io.table_store import TableStore
from table_format.metastore.snapshots import SnapshotStore
from table_format.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ChangelogStore:
    """Finds the long-lived changelogs of one branch."""

    store: TableStore

    def ids(self) -> Sequence[int]:
        """The ids there are, ascending."""
        children = self.store.io.list(self.store.paths.changelog_directory)
        found = (changelog_id_of(child.name) for child in children)
        return sorted(i for i in found if i is not None)

    def earliest_id(self) -> int | None:
        """The smallest id; ``None`` without any."""
        ids = self.ids()
        return ids[0] if ids else None

    def find(self, changelog_id: int) -> Snapshot | None:
        """What the snapshot of that id was; ``None`` when no changelog of it is kept.

        Raises:
            CorruptionError: its file does not hold the changelog of that id.
        """
        path = self.store.paths.changelog(changelog_id)
        try:
            data = self.store.io.read(path)
        except FileNotFoundError:
            return None
        snapshot = decode_snapshot(data, path=path)
        if snapshot.id != changelog_id:
            raise BadEncoding(path, f"expected changelog {changelog_id}, found {snapshot.id}")
        return snapshot


@dataclass(frozen=True, slots=True)
class ChangeHistory:
    """The changes of a branch by id: those of the retained snapshots, and before them the long-lived changelogs."""

    snapshots: SnapshotStore
    changelogs: ChangelogStore

    def find(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot that made the changes of that id, retained or not; ``None`` when they are gone or to come."""
        return self.snapshots.find(snapshot_id) or self.changelogs.find(snapshot_id)

    def earliest_id(self) -> int | None:
        """The id of the earliest changes there are; ``None`` without any."""
        retained = self.snapshots.earliest_id()
        kept = self.changelogs.earliest_id()
        if retained is None or kept is None:
            return retained if kept is None else kept
        return min(retained, kept)
