"""What other branches of a table need (format chapter 03, section 5).

Branches share data files and manifests. The reference relies on the tag a branch was made from; once that is gone it
deletes the files under the branch's feet. Here every file that a snapshot or tag of another branch names is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from table_format.errors import MissingFile
from table_format.io.paths import branch_name_of, snapshot_id_of
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
    names = MetadataNames()
    files: set[FileKey] = set()
    seen: set[str] = set()
    for branch in _other_branches(store):
        for snapshot in _snapshots(branch):
            names.add(metadata_names(snapshot, manifests, passing_over=MissingFile))
            for manifest in _manifests(snapshot, manifests):
                if manifest.file_name not in seen:
                    seen.add(manifest.file_name)
                    files.update(_files(manifest, manifests))
    return BranchNeeds(names, frozenset(files))


def _other_branches(store: TableStore) -> Iterator[TableStore]:
    names = [branch_name_of(child.name) for child in store.io.list(store.paths.branch_directory)]
    for name in (MAIN_BRANCH, *names):
        if name is not None and name != store.paths.branch:
            yield replace(store, paths=store.paths.for_branch(name))


def _snapshots(store: TableStore) -> Iterator[Snapshot]:
    snapshots = SnapshotStore(store)
    for child in store.io.list(store.paths.snapshot_directory):
        snapshot_id = snapshot_id_of(child.name)
        snapshot = None if snapshot_id is None else snapshots.find(snapshot_id)
        if snapshot is not None:
            yield snapshot
    yield from (without_changelog(tag.snapshot) for tag in TagStore(store).all().values())


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
