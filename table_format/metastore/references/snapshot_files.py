"""The files to which a snapshot refers, and those that a tag or a changelog keeps (format chapter 10, section 9)."""

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
"""Partition, bucket and name, which identify a file on disk, whatever its level."""

EntryKey: TypeAlias = tuple[FileKey, tuple[str, ...]]
"""A data file and its extra files; a new index is a further extra file of the same data file."""


@dataclass(frozen=True, slots=True)
class MetadataNames:
    """The names of the metadata files that snapshots need; index files with their partition and bucket."""

    manifests: set[str] = field(default_factory=set)
    manifest_lists: set[str] = field(default_factory=set)
    index_files: set[FileKey] = field(default_factory=set)
    index_manifests: set[str] = field(default_factory=set)
    statistics: set[str] = field(default_factory=set)

    def add(self, other: MetadataNames) -> None:
        """Add the names of another object."""
        for group in fields(self):
            getattr(self, group.name).update(getattr(other, group.name))


def metadata_names(
    snapshot: Snapshot, manifests: ManifestStore, *, passing_over: type[CorruptionError] | None = None
) -> MetadataNames:
    """Return the metadata files of a snapshot, as far as its lists can be read.

    For lists that fail with the error ``passing_over``, only their own names are included.

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
    """Return the snapshot as a tag keeps it: without its changelog."""
    return replace(snapshot, changelog_manifest_list=None, changelog_manifest_list_size=None, changelog_record_count=0)


def as_changelog(snapshot: Snapshot, *, with_deltas: bool = True) -> Snapshot:
    """Return the snapshot as a long-lived changelog keeps it: without deletion vectors and statistics.

    If there are changelog files, readers do not need deltas, so the lists of data manifests are left out.
    """
    kept = replace(snapshot, index_manifest=None, statistics=None)
    return kept if with_deltas else replace(kept, base_manifest_list="", delta_manifest_list="")


def is_change(entry: ManifestEntry) -> bool:
    """Return whether a commit, not a compaction, wrote the file, so that it is a change for readers of deltas.

    Old files do not contain this information.
    """
    return entry.file.file_source is not FileSource.COMPACT


def removed_files(delta: Sequence[ManifestEntry]) -> list[ManifestEntry]:
    """Return the files that a delta removes from the table, without those that it moves to another level."""
    added = added_files(delta)
    return [entry for entry in delta if entry.kind is FileKind.DELETE and file_key(entry) not in added]


def added_files(delta: Iterable[ManifestEntry]) -> set[FileKey]:
    """Return the files that a delta adds to the table, or moves to another level."""
    return {file_key(entry) for entry in delta if entry.kind is FileKind.ADD}


def file_key(entry: ManifestEntry) -> FileKey:
    """Return the key of the entry's file."""
    return (entry.partition, entry.bucket, entry.file.file_name)


def entry_key(entry: ManifestEntry) -> EntryKey:
    """Return the key of the entry's file with its extra files."""
    return (file_key(entry), entry.file.extra_files)


def extra_keys(entry: ManifestEntry) -> frozenset[FileKey]:
    """Return the keys of the extra files of the entry's file: its file index, its changelog companion."""
    return frozenset((entry.partition, entry.bucket, name) for name in entry.file.extra_files)


def file_keys(entry: ManifestEntry) -> frozenset[FileKey]:
    """Return the keys of the entry's file and of its extra files."""
    return extra_keys(entry) | {file_key(entry)}


def replaced_extras(delta: Sequence[ManifestEntry]) -> Mapping[FileKey, ManifestEntry]:
    """Return the extra files that a delta removes from data files that stay, such as a replaced index."""
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
    """Return the key of the entry's index file, with its name, or with its URI if it is outside the table."""
    return (entry.partition, entry.bucket, entry.index_file.external_path or entry.index_file.file_name)
