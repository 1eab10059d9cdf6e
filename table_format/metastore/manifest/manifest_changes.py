"""Converts commit messages to manifest entries for the two parts of a commit (format chapter 10, sections 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import DELETION_VECTORS, FileKind, IndexFileMeta, IndexManifestEntry, ManifestEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeBases:
    """The states on which changes are based, and which other commits must not have changed.

    ``hash_indexes`` are fingerprints of hash indexes by partition, and ``levels`` those of the files above level 0 by
    bucket, in which a compaction looked up keys. The others are identities of snapshots:
    ``key_places`` are those with which rows were placed, ``rows`` those in which a statement found the rows that it
    changes, ``sequence_numbers`` those from which the sequence numbers of upserts continue. ``earlier_files`` are files
    by whose rows rows were placed too; they must have been committed since ``key_places``.
    """

    hash_indexes: Mapping[bytes, bytes] = field(default_factory=dict)
    key_places: frozenset[str] = frozenset()
    earlier_files: frozenset[str] = frozenset()
    rows: frozenset[str] = frozenset()
    sequence_numbers: frozenset[str] = frozenset()
    levels: Mapping[BucketId, bytes] = field(default_factory=dict)

    @property
    def are_keys(self) -> bool:
        """Whether the changes depend on the keys that others have written since a snapshot."""
        return bool(self.key_places or self.rows or self.sequence_numbers)


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The changes of one snapshot: data files, changelog files and index files, each in replay order.

    ``worked_under`` are the ids of the writers' schemas, as far as the messages contain them, and ``schemas`` the
    identities of the schemas of new files. ``made_ms`` is the epoch time when the first message was made; ``None`` if
    it is not known of all. ``rewrites`` is true if new rows were computed from rows of the table.
    """

    entries: tuple[ManifestEntry, ...] = ()
    changelog: tuple[ManifestEntry, ...] = ()
    index: tuple[IndexManifestEntry, ...] = ()
    bases: ChangeBases = field(default_factory=ChangeBases)
    worked_under: frozenset[int] = frozenset()
    schemas: frozenset[str] = frozenset()
    made_ms: int | None = None
    rewrites: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there are no changes."""
        return not (self.entries or self.changelog or self.index)

    @property
    def schema_ids(self) -> frozenset[int]:
        """The schemas of new files; files that only change their level are not new."""
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
        """The affected partitions."""
        return frozenset(e.partition for e in self.entries) | frozenset(e.partition for e in self.index)

    @property
    def buckets(self) -> frozenset[BucketId]:
        """The affected buckets."""
        touched = frozenset(e.bucket_id for e in self.entries)
        return touched | frozenset(e.bucket_id for e in self.index)

    @property
    def removes(self) -> bool:
        """Whether committed rows may be removed: files are removed, or deletion vectors change."""
        return any(e.kind is FileKind.DELETE for e in self.entries) or any(
            e.index_file.index_type == DELETION_VECTORS for e in self.index
        )

    @property
    def added_names(self) -> frozenset[str]:
        """The names of the files that are added to the table, or moved to another level."""
        data = (e.file.file_name for e in (*self.entries, *self.changelog) if e.kind is FileKind.ADD)
        index = (e.index_file.file_name for e in self.index if e.kind is FileKind.ADD)
        return frozenset((*data, *index))

    def without_changelog(self) -> FileChanges:
        """Return the changes without changelog files, for overwrites, which have no changelog."""
        return replace(self, changelog=())

    def after_removal(self, entries: Iterable[ManifestEntry], index: Iterable[IndexManifestEntry]) -> FileChanges:
        """Return the changes preceded by the removal of replaced files. They are then not based on any state."""
        return replace(
            self,
            entries=(*entries, *self.entries),
            changelog=(),
            index=(*index, *self.index),
            bases=ChangeBases(),
        )


def append_changes(messages: Sequence[CommitMessage]) -> FileChanges:
    """Return the changes of the APPEND snapshot: new files first, then removed ones, message by message."""
    entries: list[ManifestEntry] = []
    changelog: list[ManifestEntry] = []
    index: list[IndexManifestEntry] = []
    hash_indexes: dict[bytes, bytes] = {}
    worked_under: set[int] = set()
    schemas: set[str] = set()
    rewrites = False
    for m in messages:
        rewrites = rewrites or m.rewrites
        if m.schema_id is not None and (m.new_files or m.deleted_files or m.new_index_files or m.deleted_index_files):
            worked_under.add(m.schema_id)
        if m.new_files or m.changelog_files:
            schemas.update(m.schemas)
        if m.hash_index_base is not None:
            # Later messages are based on the work of earlier ones.
            hash_indexes.setdefault(m.partition, m.hash_index_base)
        entries += _entries(FileKind.ADD, m, m.new_files)
        entries += _entries(FileKind.DELETE, m, m.deleted_files)
        changelog += _entries(FileKind.ADD, m, m.changelog_files)
        index += _index(FileKind.DELETE, m, m.deleted_index_files)
        index += _index(FileKind.ADD, m, m.new_index_files)
    return FileChanges(
        tuple(entries),
        tuple(changelog),
        tuple(index),
        ChangeBases(
            hash_indexes=hash_indexes,
            key_places=_given(m.key_places_base for m in messages),
            earlier_files=_earlier_files(messages),
            rows=_given(m.rows_base for m in messages),
            sequence_numbers=_given(m.numbers_base for m in messages),
        ),
        worked_under=frozenset(worked_under),
        schemas=frozenset(schemas),
        made_ms=_first_made(m.made_ms for m in messages if m.new_files),
        rewrites=rewrites,
    )


def compact_changes(messages: Sequence[CommitMessage]) -> FileChanges:
    """Return the changes of the COMPACT snapshot: inputs removed, then results added, message by message."""
    entries: list[ManifestEntry] = []
    changelog: list[ManifestEntry] = []
    index: list[IndexManifestEntry] = []
    worked_under: set[int] = set()
    schemas: set[str] = set()
    levels: dict[BucketId, bytes] = {}
    for m in messages:
        if m.levels_base is not None:
            # Later compactions of a bucket are based on the results of earlier ones.
            levels.setdefault(m.bucket_id, m.levels_base)
        if m.schema_id is not None and (m.compact_before or m.compact_after or m.compact_new_index_files):
            worked_under.add(m.schema_id)
        if m.compact_after or m.compact_changelog_files:
            schemas.update(m.schemas)
        entries += _entries(FileKind.DELETE, m, m.compact_before)
        entries += _entries(FileKind.ADD, m, m.compact_after)
        changelog += _entries(FileKind.ADD, m, m.compact_changelog_files)
        index += _index(FileKind.DELETE, m, m.compact_deleted_index_files)
        index += _index(FileKind.ADD, m, m.compact_new_index_files)
    return FileChanges(
        tuple(entries),
        tuple(changelog),
        tuple(index),
        ChangeBases(levels=levels),
        worked_under=frozenset(worked_under),
        schemas=frozenset(schemas),
        made_ms=_first_made(m.made_ms for m in messages if m.compact_after),
    )


def _entries(kind: FileKind, message: CommitMessage, files: Iterable[DataFileMeta]) -> Iterable[ManifestEntry]:
    return (ManifestEntry(kind, message.partition, message.bucket, message.total_buckets, file) for file in files)


def _index(kind: FileKind, message: CommitMessage, files: Iterable[IndexFileMeta]) -> Iterable[IndexManifestEntry]:
    return (IndexManifestEntry(kind, message.partition, message.bucket, file) for file in files)


def _first_made(times: Iterable[int | None]) -> int | None:
    known: list[int] = []
    for time_ms in times:
        if time_ms is None:
            return None
        known.append(time_ms)
    return min(known, default=None)


def _earlier_files(messages: Sequence[CommitMessage]) -> frozenset[str]:
    """Return the files that have to be committed before these messages."""
    after = {name for m in messages for name in m.key_places_after}
    return frozenset(after.difference(file.file_name for m in messages for file in m.new_files) if after else ())


def _given(bases: Iterable[str | None]) -> frozenset[str]:
    return frozenset(base for base in bases if base is not None)
