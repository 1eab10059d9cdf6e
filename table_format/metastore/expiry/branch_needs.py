"""The files that branches of a table need (format chapter 03, section 5).

Branches share data files and manifests. The reference relies on the tag from which a branch was created, and deletes
files of the branch once that tag is deleted. This library keeps every file that a snapshot, tag or long-lived
changelog of another branch needs. A table that is renamed or dropped meanwhile seems to need nothing, but its files
outside its directory are where they were. The table is therefore compared after its needs were read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from table_format.errors import MissingFile
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.file_deletions import NeededFiles
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.replay import ReplayError, live_entries, merge_entries
from table_format.metastore.references.branch_list import all_branches
from table_format.metastore.references.change_source import keeps_deltas
from table_format.metastore.references.snapshot_files import (
    FileKey,
    MetadataNames,
    as_changelog,
    file_keys,
    is_change,
    metadata_names,
    without_changelog,
)
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.schema.table_identity import require_same_table
from table_format.metastore.snapshot.changelog_store import ChangelogStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore, last_run
from table_format.model.identifier import MAIN_BRANCH
from table_format.model.manifest import FileKind, ManifestEntry, ManifestFileMeta
from table_format.model.snapshot import Snapshot

_TRIES: Final = 5
"""How often the snapshots of a branch are listed if others expire all of them before they are read."""


@dataclass(frozen=True, slots=True)
class BranchHistory:
    """The states that a branch keeps: snapshots with ascending ids, long-lived changelogs, and tags."""

    branch: TableStore
    snapshots: tuple[Snapshot, ...]
    changelogs: tuple[Snapshot, ...]
    tagged: Mapping[str, Snapshot]
    """The snapshots of tags, as the tags keep them, by the names of the tags."""

    @classmethod
    def of(cls, branch: TableStore, *, without_tags: frozenset[str] = frozenset()) -> BranchHistory:
        """Read the current history of a branch, optionally without some tags.

        The order of reading matters: an expiry creates the changelog, and a user the tag, before the snapshot is
        deleted.

        Raises:
            CorruptionError: one of the files is broken.
        """
        return cls(
            branch,
            _listed_snapshots(branch),
            tuple(ChangelogStore(branch).all()),
            {
                name: without_changelog(tag.snapshot)
                for name, tag in TagStore(branch).all().items()
                if name not in without_tags
            },
        )

    @property
    def identities(self) -> frozenset[tuple[str, int, str]]:
        """The identities of the states; ids may be reused after a rollback."""
        branch = self.branch.paths.branch
        states = (*self.snapshots, *self.changelogs, *self.tagged.values())
        return frozenset((branch, state.id, state.delta_manifest_list) for state in states)


def _listed_snapshots(branch: TableStore) -> tuple[Snapshot, ...]:
    """Return the snapshots of a branch, among them the last one that was listed.

    Raises:
        MissingFile: the last one was expired or removed before it was read, each time.
    """
    snapshots = SnapshotStore(branch)
    for _ in range(_TRIES):
        ids = snapshots.listed_ids()
        found = tuple(snapshot for snapshot in map(snapshots.find, ids) if snapshot is not None)
        if not ids or (found and found[-1].id == ids[-1]):
            return found
    raise MissingFile(branch.paths.snapshot(ids[-1]))


def needs_of_other_branches(store: TableStore, manifests: ManifestStore) -> NeededFiles:
    """Return the files that all branches except the store's own need.

    Missing files of a snapshot are ignored if an expiry has announced its deletion.

    Raises:
        CorruptionError: a branch has a broken or missing file, so its needs are unknown. A tag with one damaged bit may
            name another file.
        TableNotFound, TableReplaced: the table was dropped, renamed or created again.
    """
    # The own branch is left out before its history is read: a commit that expires one snapshot may retain thousands.
    others = (branch for branch in all_branches(store) if branch.paths.branch != store.paths.branch)
    return _of_same_table(store, needs_of(map(BranchHistory.of, others), manifests, strict=True))


def needs_of_all_branches(store: TableStore, manifests: ManifestStore) -> NeededFiles:
    """Return the files that all branches need, including the store's own; raises as ``needs_of_other_branches``."""
    return _of_same_table(store, needs_of(histories(store), manifests, strict=True))


def needs_beside_tags(
    store: TableStore, manifests: ManifestStore, names: frozenset[str], wanted: frozenset[str]
) -> NeededFiles:
    """Return the files that everything except some tags of the store's own branch needs.

    Of data files, only those with the names ``wanted`` are returned. All listed snapshots count, whatever hints and
    notices say.

    Raises:
        CorruptionError: the needed files cannot be determined.
        TableNotFound, TableReplaced: the table was dropped, renamed or created again.
    """
    own = store.paths.branch
    found = (
        BranchHistory.of(branch, without_tags=names if branch.paths.branch == own else frozenset())
        for branch in all_branches(store)
    )
    return _of_same_table(store, needs_of(found, manifests, wanted=wanted, strict=True))


def needs_of_changelogs(store: TableStore, manifests: ManifestStore) -> NeededFiles:
    """Return the needs of the long-lived changelogs of the store's branch; raises as ``needs_of_other_branches``."""
    needs = _Needs(manifests)
    needs.add_changelogs(store, ChangelogStore(store).all())
    return _of_same_table(store, needs.found())


def needs_of(
    found: Iterable[BranchHistory],
    manifests: ManifestStore,
    *,
    wanted: frozenset[str] | None = None,
    strict: bool = False,
) -> NeededFiles:
    """Return the files that some branches need; of data files, only those with the names ``wanted``.

    With ``strict``, a missing file is an error unless an expiry has announced the deletion of its snapshot.

    Raises:
        CorruptionError: the needed files cannot be determined.
    """
    needs = _Needs(manifests, wanted, strict=strict)
    for history in found:
        _add_history(needs, history)
    return needs.found()


def _add_history(needs: _Needs, history: BranchHistory) -> None:
    """Add the needs of a branch, as it is when all of them were read.

    Later snapshots need no older files than those of the last one that was listed. If others have committed more
    snapshots and expired that one before it was read, the later ones must be listed.

    Raises:
        MissingFile: this happens each time.
    """
    for _ in range(_TRIES):
        is_whole = needs.add_states(history)
        needs.add_changelogs(history.branch, history.changelogs)
        if is_whole:
            return
        later = BranchHistory.of(history.branch)
        if not later.snapshots or later.snapshots[-1].is_same(history.snapshots[-1]):
            return
        history = replace(later, tagged={})  # tags were read
    raise MissingFile(history.branch.paths.snapshot(history.snapshots[-1].id))


def histories(store: TableStore) -> Iterator[BranchHistory]:
    """Yield the histories of all branches of the table, the main branch first; raises as ``BranchHistory.of``."""
    yield from map(BranchHistory.of, all_branches(store))


def _of_same_table(store: TableStore, needs: NeededFiles) -> NeededFiles:
    """Return what was read, if the table is still the loaded one."""
    require_same_table(store)
    return needs


def _always() -> bool:
    return True


def _is_untagged(tags: TagStore, name: str, snapshot: Snapshot) -> bool:
    # The order matters: the notice is deleted after the tag.
    if tags.is_being_deleted(name):
        return True
    found = tags.find(name)
    return found is None or not found.snapshot.is_same(snapshot)


def _is_unconfirmed(branch: TableStore, snapshot_id: int) -> bool:
    """Return whether the branch was created from a tag of this snapshot, but never confirmed because of a crash."""
    tags = TagStore(branch)
    is_other = branch.paths.branch != MAIN_BRANCH
    return is_other and any(tags.is_being_deleted(name) for name in tags.keeping(snapshot_id))


def _is_let_go(snapshots: SnapshotStore, branch: TableStore, snapshot: Snapshot) -> bool:
    # After a rollback, another snapshot may have the id.
    is_gone = snapshots.is_expiring(snapshot.id) or snapshots.has_removed(snapshot)
    return is_gone or _is_unconfirmed(branch, snapshot.id)


class _Needs:
    """Collects needed files."""

    def __init__(self, manifests: ManifestStore, wanted: frozenset[str] | None = None, *, strict: bool = False) -> None:
        self._manifests = manifests
        self._wanted = wanted
        self._strict = strict
        self._names = MetadataNames()
        self._files: set[FileKey] = set()
        self._extra: set[str] = set()

    def found(self) -> NeededFiles:
        return NeededFiles(self._names, frozenset(self._files), frozenset(self._extra))

    def add_states(self, history: BranchHistory) -> bool:
        """Add the files of every snapshot and tag of a branch. Return whether the last snapshot was read completely.

        For a run of snapshots, these are the files of the first, the files added since, and the files of the last.
        While the history is being replaced by another, a snapshot need not follow the previous one.
        """
        tags = TagStore(history.branch)
        for name, tagged in history.tagged.items():
            self._add_state(tagged, partial(_is_untagged, tags, name, tagged))
        snapshots, follower = SnapshotStore(history.branch), None
        is_linear = bool(history.snapshots) and not snapshots.rewriting.exists()
        run, is_whole = last_run([snapshot.id for snapshot in history.snapshots]), True
        for snapshot in history.snapshots:
            # A snapshot below a gap may be left from a lost race; then its missing files have never existed.
            is_removed = partial(_is_let_go, snapshots, history.branch, snapshot) if snapshot.id >= run[0] else _always
            if snapshot.id == follower and snapshot is not history.snapshots[-1]:
                entries, is_whole = self._read(snapshot, (snapshot.delta_manifest_list,), is_removed)
                self._add_files(entry for entry in entries if entry.kind is FileKind.ADD)
            else:
                is_whole = self._add_state(snapshot, is_removed)
            self._add_files(self._entries(snapshot.changelog_manifest_list))
            follower = snapshot.id + 1 if is_whole and is_linear else None
        return is_whole

    def add_changelogs(self, branch: TableStore, changelogs: Iterable[Snapshot]) -> None:
        """Add the files that commits of kept changelogs wrote; files of compactions are not needed any more."""
        listed = tuple(changelogs)
        with_deltas = keeps_deltas(SchemaStore(branch), listed)
        for changelog in listed:
            kept = as_changelog(changelog, with_deltas=with_deltas)
            self._names.add(metadata_names(kept, self._manifests, passing_over=MissingFile))
            self._add_files(self._entries(kept.changelog_manifest_list))
            self._add_files(e for e in self._entries(kept.delta_manifest_list) if is_change(e))

    def _add_state(self, snapshot: Snapshot, is_removed: Callable[[], bool]) -> bool:
        lists = (snapshot.base_manifest_list, snapshot.delta_manifest_list)
        entries, is_whole = self._read(snapshot, lists, is_removed)
        try:
            self._add_files(live_entries(merge_entries(entries)))
        except ReplayError:
            # Something is missing or damaged: keep everything that may have been there.
            self._add_files(entry for entry in entries if entry.kind is FileKind.ADD)
            return False
        return is_whole

    def _read(
        self, snapshot: Snapshot, lists: Sequence[str], is_removed: Callable[[], bool]
    ) -> tuple[list[ManifestEntry], bool]:
        """Return the entries of lists, and whether they are complete. Collect the names of metadata."""
        try:
            self._names.add(metadata_names(snapshot, self._manifests))
            sized = ((name, snapshot.list_size(name)) for name in lists)
            manifests = [each for name, size in sized for each in self._manifests.read_list(name, size=size)]
            return [entry for manifest in manifests for entry in self._manifests.read(manifest)], True
        except MissingFile:
            if self._strict and not is_removed():
                raise
        self._names.add(metadata_names(snapshot, self._manifests, passing_over=MissingFile))
        return [entry for name in lists for entry in self._entries(name)], False

    def _add_files(self, entries: Iterable[ManifestEntry]) -> None:
        for entry in entries:
            if self._wanted is None or entry.file.file_name in self._wanted:
                self._files |= file_keys(entry)
            self._extra.update(entry.file.extra_files)

    def _entries(self, name: str | None) -> Iterator[ManifestEntry]:
        for manifest in self._manifests_of(name) if name else ():
            with suppress(MissingFile):  # already deleted: nothing is left to protect
                yield from self._manifests.read(manifest)

    def _manifests_of(self, name: str) -> Sequence[ManifestFileMeta]:
        try:
            return self._manifests.read_list(name)
        except MissingFile:
            return ()
