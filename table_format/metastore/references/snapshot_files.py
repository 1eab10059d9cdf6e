"""Which files a snapshot refers to, and what a tag or a changelog keeps of it (format chapter 10, section 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

from table_format.errors import CorruptionError
from table_format.metastore.manifest.manifest_store import ManifestStore, referenced_names
from table_format.model.data_file import FileSource
from table_format.model.manifest import FileKind, IndexManifestEntry, ManifestEntry
from table_format.model.snapshot import Snapshot

FileKey: TypeAlias = tuple[bytes, int, str]
"""Partition, bucket and name: one file on disk, whatever its level."""


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
            names.index_files.update(map(index_key, manifests.read_index(snapshot.index_manifest)))
    if snapshot.statistics:
        names.statistics.add(snapshot.statistics)
    return names


def without_changelog(snapshot: Snapshot) -> Snapshot:
    """The snapshot as a tag keeps it: with its rows, without what changed."""
    return replace(snapshot, changelog_manifest_list=None, changelog_manifest_list_size=None)


def as_changelog(snapshot: Snapshot, *, with_deltas: bool = True) -> Snapshot:
    """The snapshot as a long-lived changelog keeps it: with what changed, without deletion vectors and statistics.

    Where there are changelog files no reader needs deltas, so the lists of data manifests are left out.
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


def extra_keys(entry: ManifestEntry) -> frozenset[FileKey]:
    """What lies on disk beside the entry's file: its file index, its changelog companion."""
    return frozenset((entry.partition, entry.bucket, name) for name in entry.file.extra_files)


def file_keys(entry: ManifestEntry) -> frozenset[FileKey]:
    """What the entry's file and the files beside it are on disk."""
    return extra_keys(entry) | {file_key(entry)}


def replaced_extras(delta: Sequence[ManifestEntry]) -> Mapping[FileKey, ManifestEntry]:
    """The files that a delta takes from beside data files which stay, such as the index that a new one replaces."""
    added = [entry for entry in delta if entry.kind is FileKind.ADD]
    staying = {file_key(entry) for entry in added}
    beside = frozenset[FileKey]().union(*map(extra_keys, added))
    return {
        key: entry
        for entry in delta
        if entry.kind is FileKind.DELETE and file_key(entry) in staying
        for key in extra_keys(entry) - beside
    }


def index_key(entry: IndexManifestEntry) -> FileKey:
    """What the entry's index file is on disk, by its name, or by its URI where it lies outside the table."""
    return (entry.partition, entry.bucket, entry.index_file.external_path or entry.index_file.file_name)
