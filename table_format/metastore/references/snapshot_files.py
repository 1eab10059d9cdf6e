"""What may be deleted with snapshots and tags, and in which order (format chapter 10, section 9; Java
``SnapshotDeletion``, ``TagDeletion``).

Data before metadata, contents before the lists that name them, the snapshot last: a crash between any two deletions
leaves enough to find the rest again. Whatever cannot be read is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

from table_format.errors import CorruptionError
from table_format.io.paths import TablePaths, parent
from table_format.io.table_store import TableStore
from table_format.metastore.manifest.manifest_store import ManifestStore, referenced_names
from table_format.metastore.manifest.partitions import Partitions
from table_format.model.data_file import FileSource
from table_format.model.manifest import FileKind, IndexManifestEntry, ManifestEntry
from table_format.model.snapshot import Snapshot

FileKey: TypeAlias = tuple[bytes, int, str]
"""Partition, bucket and name: one file on disk, whatever its level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletions:
    """Full paths in the order in which they are deleted, group by group."""

    data_files: tuple[str, ...] = ()
    changelog_files: tuple[str, ...] = ()
    empty_directories: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    index_files: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    manifest_lists: tuple[str, ...] = ()
    index_manifests: tuple[str, ...] = ()
    changelogs: tuple[str, ...] = ()
    snapshots: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All files, in order of deletion."""
        groups = (getattr(self, f.name) for f in fields(self) if f.name != "empty_directories")
        return tuple(path for group in groups for path in group)

    def apply(self, store: TableStore) -> None:
        """Delete everything, one after the other. Raises ``OSError``; what remains can be planned again."""
        for group in fields(self):
            for path in getattr(self, group.name):
                if group.name == "empty_directories":
                    store.io.delete_empty_directory(path)
                else:
                    store.io.delete(path)


@dataclass(frozen=True, slots=True)
class MetadataNames:
    """The names of the metadata files that snapshots need; index files with the partition and bucket they lie in."""

    manifests: set[str] = field(default_factory=set)
    manifest_lists: set[str] = field(default_factory=set)
    index_files: set[FileKey] = field(default_factory=set)
    index_manifests: set[str] = field(default_factory=set)
    statistics: set[str] = field(default_factory=set)

    def add(self, other: MetadataNames) -> None:
        """Add the names of another."""
        for group in fields(self):
            getattr(self, group.name).update(getattr(other, group.name))

    def deletions_except(self, kept: MetadataNames, files: DataPaths) -> Deletions:
        """The files of these names that ``kept`` does not need."""
        paths = files.paths
        return Deletions(
            manifests=tuple(map(paths.manifest, sorted(self.manifests - kept.manifests))),
            index_files=tuple(map(files.index_file, sorted(self.index_files - kept.index_files))),
            statistics=tuple(map(paths.statistics, sorted(self.statistics - kept.statistics))),
            manifest_lists=tuple(map(paths.manifest, sorted(self.manifest_lists - kept.manifest_lists))),
            index_manifests=tuple(map(paths.manifest, sorted(self.index_manifests - kept.index_manifests))),
        )


def metadata_names(
    snapshot: Snapshot, manifests: ManifestStore, *, passing_over: type[CorruptionError] | None = None
) -> MetadataNames:
    """The metadata files of a snapshot, as far as its lists can be read.

    Lists that fail with the error ``passing_over`` are named without what they name.

    Raises:
        CorruptionError: a list cannot be read.
    """
    passed = () if passing_over is None else (passing_over,)
    names = MetadataNames()
    lists = (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list)
    names.manifest_lists.update(name for name in lists if name)
    for name in sorted(names.manifest_lists):
        with suppress(*passed):
            names.manifests.update(referenced_names(manifests.read_list(name, size=snapshot.list_size(name))))
    if snapshot.index_manifest:
        names.index_manifests.add(snapshot.index_manifest)
        with suppress(*passed):
            entries = manifests.read_index(snapshot.index_manifest)
            # What lies outside the table is not ours to delete.
            names.index_files.update(index_key(entry) for entry in entries if entry.index_file.external_path is None)
    if snapshot.statistics:
        names.statistics.add(snapshot.statistics)
    return names


def without_changelog(snapshot: Snapshot) -> Snapshot:
    """The snapshot as a tag keeps it: with its rows, without what changed."""
    return replace(snapshot, changelog_manifest_list=None, changelog_manifest_list_size=None)


def as_changelog(snapshot: Snapshot, *, with_deltas: bool = True) -> Snapshot:
    """The snapshot as a long-lived changelog keeps it: with what changed, without what was deleted or counted.

    Where there are changelog files nobody reads deltas, and lists of data manifests have no name any more.
    """
    kept = replace(snapshot, index_manifest=None, statistics=None)
    return kept if with_deltas else replace(kept, base_manifest_list="", delta_manifest_list="")


def is_change(entry: ManifestEntry) -> bool:
    """Whether the file is what a commit wrote, which is the change to who reads deltas, and no compaction's work.

    Old files do not say.
    """
    return entry.file.file_source is not FileSource.COMPACT


def removed_files(delta: Sequence[ManifestEntry]) -> list[ManifestEntry]:
    """The files a delta takes out of the table: removed, and not put back at another level."""
    added = added_files(delta)
    return [entry for entry in delta if entry.kind is FileKind.DELETE and file_key(entry) not in added]


def added_files(delta: Iterable[ManifestEntry]) -> set[FileKey]:
    """The files a delta puts into the table, or gives another level."""
    return {file_key(entry) for entry in delta if entry.kind is FileKind.ADD}


def file_key(entry: ManifestEntry) -> FileKey:
    """What the entry's file is on disk."""
    return (entry.partition, entry.bucket, entry.file.file_name)


def index_key(entry: IndexManifestEntry) -> FileKey:
    """What the entry's index file is on disk."""
    return (entry.partition, entry.bucket, entry.index_file.file_name)


class DataPaths:
    """Paths of the data, changelog and index files of entries."""

    def __init__(self, store: TableStore, partitions: Partitions) -> None:
        self._store = store
        self._partitions = partitions

    @property
    def paths(self) -> TablePaths:
        """The paths of the table."""
        return self._store.paths

    def index_file(self, key: FileKey) -> str:
        """The path of an index file of the table."""
        partition, bucket, name = key
        if not self._partitions.options.bucket.index_in_data_file_dir:
            return self._store.paths.index(name)
        return self._store.paths.file_in_bucket(self._partitions.text(partition), bucket, name)

    def files_of(self, entries: Iterable[ManifestEntry], protected: frozenset[FileKey]) -> tuple[str, ...]:
        """The files of the entries with what belongs to them, each once, without the protected ones."""
        found: dict[str, None] = {}
        for entry in entries:
            if file_key(entry) not in protected:
                text = self._partitions.text(entry.partition)
                found[self._store.paths.data_file(text, entry.bucket, entry.file)] = None
                found.update(dict.fromkeys(self._store.paths.extra_files(text, entry.bucket, entry.file)))
        return tuple(found)

    def directories_of(self, paths: Iterable[str]) -> tuple[str, ...]:
        """The directories that may be empty without the files: buckets first, then partitions from the deepest up."""
        root = self._store.paths.partition_directory("")
        found: set[str] = set()
        for path in paths:
            directory = parent(path)
            while directory != root and directory.startswith(root):
                found.add(directory)
                directory = parent(directory)
        return tuple(sorted(found, key=lambda directory: (-directory.count("/"), directory)))
