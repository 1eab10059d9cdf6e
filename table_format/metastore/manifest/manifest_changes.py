"""Commit messages as manifest entries: the two parts of a commit (format chapter 10, sections 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import DELETION_VECTORS, FileKind, IndexFileMeta, IndexManifestEntry, ManifestEntry


@dataclass(frozen=True, slots=True)
class Changes:
    """What one snapshot changes: data files, changelog files, index files, each in order of replay.

    ``hash_index_bases`` are fingerprints of the hash indexes, by partition, that the changes rest on,
    ``key_places_bases`` the snapshots that told where keys lie, ``rows_bases`` those in which the rows were found
    that a statement changes, and ``numbers_bases`` those from which the sequence numbers of upserts go on.
    ``worked_under`` are ids of the schemas the work was done under, as far as it says, and ``rewrites`` tells that new
    rows were made from rows of the table.
    """

    entries: tuple[ManifestEntry, ...] = ()
    changelog: tuple[ManifestEntry, ...] = ()
    index: tuple[IndexManifestEntry, ...] = ()
    hash_index_bases: Mapping[bytes, bytes] = field(default_factory=dict)
    key_places_bases: frozenset[str] = frozenset()
    rows_bases: frozenset[str] = frozenset()
    numbers_bases: frozenset[str] = frozenset()
    worked_under: frozenset[int] = frozenset()
    rewrites: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change."""
        return not (self.entries or self.changelog or self.index)

    @property
    def rests_on_keys(self) -> bool:
        """Whether what others wrote to the same keys since a snapshot matters."""
        return bool(self.key_places_bases or self.rows_bases or self.numbers_bases)

    @property
    def schema_ids(self) -> frozenset[int]:
        """The schemas that what is new was written under; files that only change their level are not new."""
        if self.is_empty:
            return frozenset()
        moved = {(e.partition, e.bucket, e.file.file_name) for e in self.entries if e.kind is FileKind.DELETE}
        new = {
            e.file.schema_id
            for e in self.entries
            if e.kind is FileKind.ADD and (e.partition, e.bucket, e.file.file_name) not in moved
        }
        return self.worked_under | new | {e.file.schema_id for e in self.changelog}

    @property
    def partitions(self) -> frozenset[bytes]:
        """The partitions touched."""
        return frozenset(e.partition for e in self.entries) | frozenset(e.partition for e in self.index)

    @property
    def buckets(self) -> frozenset[tuple[bytes, int]]:
        """The buckets touched."""
        touched = frozenset((e.partition, e.bucket) for e in self.entries)
        return touched | frozenset((e.partition, e.bucket) for e in self.index)

    @property
    def removes(self) -> bool:
        """Whether rows committed before may go: files are removed, or deletion vectors change."""
        return any(e.kind is FileKind.DELETE for e in self.entries) or any(
            e.index_file.index_type == DELETION_VECTORS for e in self.index
        )

    @property
    def added_names(self) -> frozenset[str]:
        """The names of the files that come into the table, or to another level of it."""
        data = (e.file.file_name for e in (*self.entries, *self.changelog) if e.kind is FileKind.ADD)
        index = (e.index_file.file_name for e in self.index if e.kind is FileKind.ADD)
        return frozenset((*data, *index))

    def without_changelog(self) -> Changes:
        """The same without changelog, for overwrites, which have none."""
        return replace(self, changelog=())


def append_changes(messages: Iterable[CommitMessage]) -> Changes:
    """The part for the APPEND snapshot: new files first, then removed ones, message by message."""
    entries: list[ManifestEntry] = []
    changelog: list[ManifestEntry] = []
    index: list[IndexManifestEntry] = []
    bases: dict[bytes, bytes] = {}
    places_bases: set[str] = set()
    rows_bases: set[str] = set()
    numbers_bases: set[str] = set()
    worked_under: set[int] = set()
    rewrites = False
    for m in messages:
        rewrites = rewrites or m.rewrites
        if m.schema_id is not None and (m.new_files or m.deleted_files or m.new_index_files or m.deleted_index_files):
            worked_under.add(m.schema_id)
        if m.key_places_base is not None:
            places_bases.add(m.key_places_base)
        if m.rows_base is not None:
            rows_bases.add(m.rows_base)
        if m.numbers_base is not None:
            numbers_bases.add(m.numbers_base)
        if m.hash_index_base is not None:
            # Later messages rest on the work of earlier ones.
            bases.setdefault(m.partition, m.hash_index_base)
        entries += _entries(FileKind.ADD, m, m.new_files)
        entries += _entries(FileKind.DELETE, m, m.deleted_files)
        changelog += _entries(FileKind.ADD, m, m.changelog_files)
        index += _index(FileKind.DELETE, m, m.deleted_index_files)
        index += _index(FileKind.ADD, m, m.new_index_files)
    return Changes(
        tuple(entries),
        tuple(changelog),
        tuple(index),
        bases,
        frozenset(places_bases),
        frozenset(rows_bases),
        frozenset(numbers_bases),
        worked_under=frozenset(worked_under),
        rewrites=rewrites,
    )


def compact_changes(messages: Iterable[CommitMessage]) -> Changes:
    """The part for the COMPACT snapshot: inputs removed, then results added, message by message."""
    entries: list[ManifestEntry] = []
    changelog: list[ManifestEntry] = []
    index: list[IndexManifestEntry] = []
    worked_under: set[int] = set()
    for m in messages:
        if m.schema_id is not None and (m.compact_before or m.compact_after or m.compact_new_index_files):
            worked_under.add(m.schema_id)
        entries += _entries(FileKind.DELETE, m, m.compact_before)
        entries += _entries(FileKind.ADD, m, m.compact_after)
        changelog += _entries(FileKind.ADD, m, m.compact_changelog_files)
        index += _index(FileKind.DELETE, m, m.compact_deleted_index_files)
        index += _index(FileKind.ADD, m, m.compact_new_index_files)
    return Changes(tuple(entries), tuple(changelog), tuple(index), worked_under=frozenset(worked_under))


def _entries(kind: FileKind, message: CommitMessage, files: Iterable[DataFileMeta]) -> Iterable[ManifestEntry]:
    return (ManifestEntry(kind, message.partition, message.bucket, message.total_buckets, file) for file in files)


def _index(kind: FileKind, message: CommitMessage, files: Iterable[IndexFileMeta]) -> Iterable[IndexManifestEntry]:
    return (IndexManifestEntry(kind, message.partition, message.bucket, file) for file in files)
