"""Reads the history of one branch for an expiry: snapshots, long-lived changelogs, and separately kept snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from table_format.io.table_store import TableStore
from table_format.metastore.expiry.kept_snapshots import Keeper, KeptByFile, KeptByTag, KeptSnapshots, place
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.references.consumers import first_needed_snapshot
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.snapshot.changelog_store import ChangelogStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.options.table_options import TableOptions


class TableHistory:
    """Reads the history of one branch during one expiry."""

    def __init__(
        self,
        store: TableStore,
        options: TableOptions,
        snapshots: SnapshotStore | None = None,
        manifests: ManifestStore | None = None,
    ) -> None:
        self.store = store
        self.options = options
        self.snapshots = snapshots or SnapshotStore(store)
        self.manifests = manifests or ManifestStore(store, options)
        self.changelogs = ChangelogStore(store)
        self._tags_read: frozenset[str] = frozenset()

    @cached_property
    def schema(self) -> TableSchema:
        """The latest schema."""
        return SchemaStore(self.store).latest()

    @property
    def partitions(self) -> Partitions:
        """The partitions of the table."""
        return Partitions(self.schema, self.options)

    def first_needed(self) -> int | None:
        """Return the first snapshot that a consumer still has to read; raises as ``first_needed_snapshot``."""
        return first_needed_snapshot(self.store)

    def kept_states(self) -> Mapping[Keeper, Snapshot]:
        """Return the snapshots that are kept outside the history, by keeper: tags, and snapshot files below a gap."""
        tags = TagStore(self.store).all()
        self._tags_read = frozenset(tags)
        found: dict[Keeper, Snapshot] = {KeptByTag(name): tag.snapshot for name, tag in tags.items()}
        alone = ((i, self.snapshots.find(i)) for i in self.snapshots.lone_ids())
        return found | {KeptByFile(i): snapshot for i, snapshot in alone if snapshot is not None}

    def kept_snapshots(self, kept: Mapping[Keeper, Snapshot], end: Snapshot) -> KeptSnapshots:
        """Return the places of kept snapshots in the history before ``end``."""
        listed = self.snapshots.listed_ids()
        wanted = {snapshot.id for snapshot in kept.values()} & set(listed)
        retained = {i: snapshot for i in sorted(wanted) if (snapshot := self.snapshots.find(i)) is not None}
        is_rewritten = self.snapshots.rewriting.exists()
        if is_rewritten:
            later = ((i, self.snapshots.find(i)) for i in listed if i >= end.id)
            retained |= {i: snapshot for i, snapshot in later if snapshot is not None}
        return place(kept, retained, end, is_rewritten=is_rewritten)

    def may_lack_files(self, keeper: Keeper) -> bool:
        """Return whether files of the keeper may be missing without damage: for a tag, only during its deletion."""
        return isinstance(keeper, KeptByFile) or TagStore(self.store).is_being_deleted(keeper.tag)

    def is_overtaken(self, first_id: int) -> bool:
        """Return whether another expiry from ``first_id`` on, or the deletion of a tag, may be deleting files now."""
        tags = TagStore(self.store)
        if tags.names_being_deleted() or frozenset(tags.names()) != self._tags_read:
            return True
        return any(notice.end > first_id for notice in self.snapshots.notices.all())
