"""What branches of a table need (format chapter 03, section 5).

Branches share data files and manifests. The reference relies on the tag a branch was made from; once that is gone it
deletes the files under the branch's feet. Here every file that a snapshot, tag or long-lived changelog of another
branch names is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from table_format.codecs.snapshot_json import decode_snapshot
from table_format.errors import MissingFile
from table_format.io.paths import branch_name_of, changelog_id_of
from table_format.io.table_store import TableStore
from table_format.metastore.deletions import FileKey, MetadataNames, file_key, metadata_names, without_changelog
from table_format.metastore.manifests import ManifestStore
from table_format.metastore.snapshots import SnapshotStore
from table_format.metastore.tags import TagStore
from table_format.model.identifier import MAIN_BRANCH
from table_format.model.manifest import ManifestFileMeta
from table_format.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class BranchNeeds:
    """Names of metadata files and keys of data files that must stay."""

    names: MetadataNames
    files: frozenset[FileKey]


def needs_of_other_branches(store: TableStore, manifests: ManifestStore) -> BranchNeeds:
    """What all branches but the store's own name, live or not.

    Raises:
        CorruptionError: a branch holds a broken file, so nobody knows what it needs.
    """
    return _needs((branch for branch in _branches(store) if branch.paths.branch != store.paths.branch), manifests)


def needs_of_all_branches(store: TableStore, manifests: ManifestStore) -> BranchNeeds:
    """What all branches name, the store's own too; raises as ``needs_of_other_branches``."""
    return _needs(_branches(store), manifests)


def branch_names(store: TableStore) -> tuple[str, ...]:
    """All branches that have a directory, sorted, without the main one."""
    children = store.io.list(store.paths.branch_directory)
    names = (branch_name_of(child.name) for child in children if child.is_directory)
    return tuple(sorted(name for name in names if name is not None))


def long_lived_changelogs(store: TableStore) -> Iterator[tuple[int, Snapshot]]:
    """The changelogs that outlive their snapshots, by id."""
    for child in store.io.list(store.paths.changelog_directory):
        changelog_id = changelog_id_of(child.name)
        if changelog_id is not None:
            path = store.paths.changelog(changelog_id)
            try:
                data = store.io.read(path)
            except FileNotFoundError:
                continue  # expired meanwhile
            yield changelog_id, decode_snapshot(data, path=path)


def _needs(branches: Iterable[TableStore], manifests: ManifestStore) -> BranchNeeds:
    names = MetadataNames()
    files: set[FileKey] = set()
    seen: set[str] = set()
    for branch in branches:
        for snapshot in _snapshots(branch):
            names.add(metadata_names(snapshot, manifests, passing_over=MissingFile))
            for manifest in _manifests(snapshot, manifests):
                if manifest.file_name not in seen:
                    seen.add(manifest.file_name)
                    files.update(_files(manifest, manifests))
    return BranchNeeds(names, frozenset(files))


def _branches(store: TableStore) -> Iterator[TableStore]:
    for name in (MAIN_BRANCH, *branch_names(store)):
        yield replace(store, paths=store.paths.for_branch(name))


def _snapshots(store: TableStore) -> Iterator[Snapshot]:
    snapshots = SnapshotStore(store)
    for snapshot_id in snapshots.listed_ids():
        snapshot = snapshots.find(snapshot_id)
        if snapshot is not None:
            yield snapshot
    yield from (without_changelog(tag.snapshot) for tag in TagStore(store).all().values())
    yield from (changelog for _, changelog in long_lived_changelogs(store))


def _manifests(snapshot: Snapshot, manifests: ManifestStore) -> Iterator[ManifestFileMeta]:
    for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list):
        if name is not None:
            try:
                yield from manifests.read_list(name)
            except MissingFile:
                continue  # gone already: there is nothing left to protect


def _files(manifest: ManifestFileMeta, manifests: ManifestStore) -> set[FileKey]:
    try:
        return {file_key(entry) for entry in manifests.read(manifest)}
    except MissingFile:
        return set()
