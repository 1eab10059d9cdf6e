"""Finds the files that an expiry must keep for retained snapshots, tags, branches and changelogs.

If something that must stay cannot be read, an error is raised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from table_format.errors import MissingFile
from table_format.metastore.expiry.file_deletions import NeededFiles
from table_format.metastore.expiry.kept_snapshots import KeptSnapshots, naming, nearest_before
from table_format.metastore.expiry.removal import Removal
from table_format.metastore.expiry.table_history import TableHistory
from table_format.metastore.references.snapshot_files import (
    FileKey,
    MetadataNames,
    file_keys,
    metadata_names,
    without_changelog,
)
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.snapshot.changelog_store import ChangeHistory
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.snapshot import CommitKind, Snapshot

_LONGEST_LOOK: Final = 256
"""The maximum number of snapshots whose kinds are read; if there are more, the latest state is read instead."""


class RetainedFiles:
    """Reads the files that a history needs after a removal."""

    def __init__(self, history: TableHistory) -> None:
        self._history = history

    def needed(
        self, removal: Removal, removed: Sequence[ManifestEntry], kept_snapshots: KeptSnapshots, others: NeededFiles
    ) -> NeededFiles:
        """Return the files that stay: retained metadata, and those of the ``removed`` files that may still be needed.

        ``others`` are the needs of other branches and of changelogs.

        Raises:
            CorruptionError: the files that must stay cannot be determined.
        """
        files = others.files
        if removed:
            files |= self._protected(removal.delta_ids, removal.last_delta, kept_snapshots, removed)
        metadata = self._metadata(removal.first_retained, kept_snapshots, others.metadata)
        for state in removal.also_retained:
            metadata.add(metadata_names(state, self._history.manifests, passing_over=MissingFile))
        return NeededFiles(metadata, files)

    def _metadata(self, end: Snapshot, kept_snapshots: KeptSnapshots, others: MetadataNames) -> MetadataNames:
        manifests = self._history.manifests
        needed = MetadataNames()
        for state in self._up_to_a_whole_one(end):
            needed.add(metadata_names(state, manifests, passing_over=MissingFile))
        needed.add(others)
        for keeper, snapshot in kept_snapshots.all.items():
            passing_over = MissingFile if self._history.may_lack_files(keeper) else None
            with naming(keeper):
                needed.add(metadata_names(without_changelog(snapshot), manifests, passing_over=passing_over))
        return needed

    def _up_to_a_whole_one(self, end: Snapshot) -> Iterator[Snapshot]:
        """Yield ``end``, and then later snapshots while another expiry has deleted files of the previous one.

        If a later snapshot shares a manifest with one before ``end``, all snapshots in between name it.

        Raises:
            MissingFile: the table is damaged, or others expire faster than this reads.
        """
        snapshots, manifests = self._history.snapshots, self._history.manifests
        yield end
        try:
            metadata_names(end, manifests)
        except MissingFile as error:
            if not snapshots.is_expiring(end.id):
                raise
            later = (snapshots.find(i) for i in snapshots.listed_ids() if i > end.id)
            for state in (state for state in later if state is not None):
                yield state
                with suppress(MissingFile):
                    metadata_names(state, manifests)
                    return
            raise error from None

    def _protected(
        self, ids: Iterable[int], end: Snapshot, kept_snapshots: KeptSnapshots, removed: Sequence[ManifestEntry]
    ) -> set[FileKey]:
        """Return the files of the nearest tag before each snapshot, and the files that were restored after ``end``."""
        wanted = FileFilter(
            partitions=frozenset(entry.partition for entry in removed),
            buckets=frozenset(entry.bucket for entry in removed),
        )
        files: set[FileKey] = set()
        nearest = nearest_before({keeper: kept.id for keeper, kept in kept_snapshots.before.items()}, ids)
        for keeper in (*nearest, *kept_snapshots.unplaced):
            with naming(keeper):
                try:
                    files |= self._live(kept_snapshots.all[keeper], wanted)
                except MissingFile:
                    if not self._history.may_lack_files(keeper):
                        raise
        return files | self._restored(end, wanted)

    def _restored(self, end: Snapshot, wanted: FileFilter) -> set[FileKey]:
        """Return the files that snapshots after ``end`` may have added again after an earlier removal.

        Only Java's rollback to an old state as a new snapshot, with the kind OVERWRITE, does that.
        """
        latest = self._history.snapshots.latest()
        if latest is None or latest.id == end.id:
            return set()
        if latest.id - end.id > _LONGEST_LOOK:
            return self._live(latest, wanted)
        changes = ChangeHistory(self._history.snapshots, self._history.changelogs)
        later = (changes.find(snapshot_id) for snapshot_id in range(end.id + 1, latest.id + 1))
        files: set[FileKey] = set()
        for snapshot in later:
            if snapshot is not None and snapshot.commit_kind is CommitKind.OVERWRITE:
                files |= self._added_by(snapshot)
        return files

    def _added_by(self, snapshot: Snapshot) -> set[FileKey]:
        try:
            delta = self._history.manifests.delta_entries(snapshot)
            return {key for entry in delta if entry.kind is FileKind.ADD for key in file_keys(entry)}
        except MissingFile:
            if self._history.snapshots.exists(snapshot.id):
                raise
            return set()  # a changelog that keeps only changelog files

    def _live(self, snapshot: Snapshot, wanted: FileFilter) -> set[FileKey]:
        h = self._history
        plan = live_files(h.manifests, snapshot, schema=h.schema, schemas={}, filter=wanted)
        return {key for entry in plan.entries for key in file_keys(entry)}
