"""Manifest lists, manifests and index manifests of a table (format chapter 04, sections 2, 4, 6 and 8).

Files are written once with unique names and never change, so their contents are cached, up to a number of bytes, by the
store itself or in a cache that all tables of a catalog share. Contents are checked against recorded sizes and the hash
in the name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from table_format.codecs.content_name import check_content, content_uuid
from table_format.codecs.manifest_avro import decode_index_manifest, decode_manifest_list
from table_format.codecs.manifest_columns import ManifestColumns, decode_manifest_columns
from table_format.codecs.many_objects import collector_at_rest
from table_format.codecs.publishable import (
    checked_manifest,
    index_manifest_bytes,
    manifest_draft,
    manifest_list_bytes,
)
from table_format.counted import counted
from table_format.decoded_files import DecodedFiles
from table_format.errors import BadEncoding, MissingFile
from table_format.io.paths import index_manifest_name, manifest_list_name, manifest_name
from table_format.io.regular_files import read_file
from table_format.io.table_store import TableStore
from table_format.limits import KIB, MIB
from table_format.metastore.manifest.partitions import partition_stats
from table_format.metastore.manifest.replay import ReplayError
from table_format.metastore.publish import create_unique
from table_format.model.manifest import FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta
from table_format.model.snapshot import Snapshot
from table_format.model.types import DataType
from table_format.options.table_options import TableOptions

_Fact = TypeVar("_Fact")
_Decoded = TypeVar("_Decoded")

_OWN_BYTES: Final = 64 * MIB
"""The size of the cache of a store that has its own."""

_BYTES_OF_A_FACT: Final = 800
_BYTES_OF_A_RANGE: Final = 200
"""The estimated memory of a deletion vector range in an index manifest."""

_LARGE_MANIFEST_BYTES: Final = 64 * KIB


@dataclass(frozen=True, slots=True)
class WrittenList:
    """The name and size of a manifest list, as a snapshot contains them."""

    name: str
    size: int


class NewFiles:
    """The paths of new files of an attempt, recorded before they are created, so that all can be deleted."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def record(self, path: str) -> None:
        """Record a path."""
        self.paths.append(path)


class ManifestStore:
    """Reads and writes the manifests of one table.

    Each new file has its own UUID, which contains a hash of its content. With names that differ only in a digit, a
    damaged snapshot could name another file. ``decoded`` is a cache that may be shared with other stores; without it,
    the store has its own.
    """

    def __init__(self, store: TableStore, options: TableOptions, decoded: DecodedFiles | None = None) -> None:
        self._store = store
        self.options = options
        self._decoded = DecodedFiles(_OWN_BYTES) if decoded is None else decoded

    def __reduce__(self) -> tuple[object, ...]:
        return (ManifestStore, (self._store, self.options, self._decoded))

    # --- reading ----------------------------------------------------------------------------------------------------

    def data_manifests(self, snapshot: Snapshot) -> tuple[ManifestFileMeta, ...]:
        """Return the manifests of the complete state of a snapshot, in replay order."""
        base = self.read_list(snapshot.base_manifest_list, size=snapshot.base_manifest_list_size)
        return (*base, *self.delta_manifests(snapshot))

    def delta_manifests(self, snapshot: Snapshot) -> Sequence[ManifestFileMeta]:
        """Return the manifests of the changes of a snapshot."""
        return self.read_list(snapshot.delta_manifest_list, size=snapshot.delta_manifest_list_size)

    def changelog_manifests(self, snapshot: Snapshot) -> Sequence[ManifestFileMeta]:
        """Return the manifests of the changelog files of a snapshot; empty if it has no changelog."""
        if snapshot.changelog_manifest_list is None:
            return ()
        return self.read_list(snapshot.changelog_manifest_list, size=snapshot.changelog_manifest_list_size)

    def delta_entries(self, snapshot: Snapshot) -> list[ManifestEntry]:
        """Return the entries of the changes of a snapshot, in replay order."""
        return [entry for manifest in self.delta_manifests(snapshot) for entry in self.read(manifest)]

    def index_entries(self, snapshot: Snapshot) -> Sequence[IndexManifestEntry]:
        """Return all live index files of a snapshot."""
        return () if snapshot.index_manifest is None else self.read_index(snapshot.index_manifest)

    def read_list(self, name: str, *, size: int | None = None) -> Sequence[ManifestFileMeta]:
        """Return the manifests of a list, in replay order; ``size`` is the recorded size in bytes, if known.

        Raises:
            CorruptionError: the list is missing, or differs from what was recorded.
        """
        return self._decoded.get(
            (self._store.paths.manifest(name), size),
            lambda: self._load(name, size, decode_manifest_list),
            size_of=_size_of_facts,
        )

    def read(self, manifest: ManifestFileMeta) -> Sequence[ManifestEntry]:
        """Return the entries of a manifest, in order.

        Raises:
            CorruptionError: the manifest is missing, or differs from its entry in the list.
        """
        return tuple(self.columns(manifest).entries())

    def columns(self, manifest: ManifestFileMeta) -> ManifestColumns:
        """Return the entries of a manifest as columns; raises the same errors as ``read``."""
        return self._decoded.get(
            (self._store.paths.manifest(manifest.file_name), manifest.file_size),
            lambda: self._load_manifest(manifest),
            size_of=lambda columns: columns.size,
        )

    def read_index(self, name: str) -> Sequence[IndexManifestEntry]:
        """Return the live index files in an index manifest.

        Raises:
            CorruptionError: the index manifest is missing or cannot be decoded.
        """
        return self._decoded.get(
            (self._store.paths.manifest(name), None),
            lambda: self._load(name, None, decode_index_manifest),
            size_of=_size_of_index,
        )

    def contradiction(self, snapshot: Snapshot, error: ReplayError) -> BadEncoding:
        """Return the error for a snapshot whose manifests contradict each other."""
        path = self._store.paths.snapshot(snapshot.id)
        return BadEncoding(path, f"the manifests of the snapshot contradict each other: {error}")

    # --- writing ----------------------------------------------------------------------------------------------------

    def write(
        self, entries: Sequence[ManifestEntry], *, types: Sequence[DataType], schema_id: int, new: NewFiles
    ) -> tuple[ManifestFileMeta, ...]:
        """Write entries to manifests of about the target size at most; ``types`` are those of the partition keys."""
        if not entries:
            return ()
        data = self._draft(entries)
        parts = -(-len(data) // self.options.manifest.target_file_size)
        if parts <= 1 or len(entries) == 1:
            return (self._write_one(entries, data, types, schema_id, new),)
        step = -(-len(entries) // parts)
        chunks = (entries[i : i + step] for i in range(0, len(entries), step))
        return tuple(self._write_one(chunk, self._draft(chunk), types, schema_id, new) for chunk in chunks)

    def write_list(self, manifests: Sequence[ManifestFileMeta], *, new: NewFiles) -> WrittenList:
        """Write a manifest list, which may be empty."""
        data = manifest_list_bytes(manifests, **self._encoding)
        name = self._create(manifest_list_name, data, new)
        kept = tuple(manifests)
        self._decoded.put((self._store.paths.manifest(name), len(data)), kept, _size_of_facts(kept))
        return WrittenList(name, len(data))

    def write_index(self, entries: Sequence[IndexManifestEntry], *, new: NewFiles) -> str:
        """Write an index manifest and return its name."""
        data = index_manifest_bytes(entries, **self._encoding)
        name = self._create(index_manifest_name, data, new)
        kept = tuple(entries)
        self._decoded.put((self._store.paths.manifest(name), None), kept, _size_of_index(kept))
        return name

    def _write_one(
        self, entries: Sequence[ManifestEntry], data: bytes, types: Sequence[DataType], schema_id: int, new: NewFiles
    ) -> ManifestFileMeta:
        with collector_at_rest(when=len(data) >= _LARGE_MANIFEST_BYTES):
            checked_manifest(data, entries, path=self._directory)
        name = self._create(manifest_name, data, new)
        columns = ManifestColumns.of(entries)
        self._decoded.put((self._store.paths.manifest(name), len(data)), columns, columns.size)
        return manifest_file_meta(name, len(data), entries, types=types, schema_id=schema_id)

    def _draft(self, entries: Sequence[ManifestEntry]) -> bytes:
        return manifest_draft(entries, **self._encoding)

    @property
    def _encoding(self) -> dict[str, str]:
        options = self.options.manifest
        return {"compression": options.compression, "file_format": options.format, "path": self._directory}

    @property
    def _directory(self) -> str:
        # The name depends on the content, so errors about the content name the directory.
        return self._store.paths.manifest_directory

    def _create(self, name_of: Callable[[str, int], str], data: bytes, new: NewFiles) -> str:
        name = name_of(content_uuid(self._store.runtime.ids.uuid(), data), 0)
        path = self._store.paths.manifest(name)
        new.record(path)
        create_unique(self._store, path, data)
        return name

    def _load_manifest(self, manifest: ManifestFileMeta) -> ManifestColumns:
        expected = manifest.num_added_files + manifest.num_deleted_files
        columns = self._decode(
            manifest.file_name, manifest.file_size, partial(decode_manifest_columns, entries=expected)
        )
        if len(columns) != expected:
            path = self._store.paths.manifest(manifest.file_name)
            raise BadEncoding(path, f"expected {counted(expected, 'entry', 'entries')}, found {len(columns)}")
        return columns

    def _load(self, name: str, size: int | None, decode: Callable[..., list[_Fact]]) -> Sequence[_Fact]:
        return tuple(self._decode(name, size, decode))

    def _decode(self, name: str, size: int | None, decode: Callable[..., _Decoded]) -> _Decoded:
        path = self._store.paths.manifest(name)
        try:
            data = read_file(self._store.io, path, size=size)
        except FileNotFoundError as e:
            raise MissingFile(path) from e
        check_content(data, path=path)
        with collector_at_rest(when=len(data) >= _LARGE_MANIFEST_BYTES):
            return decode(data, path=path)


def _size_of_facts(facts: Sequence[ManifestFileMeta]) -> int:
    return (len(facts) + 1) * _BYTES_OF_A_FACT


def _size_of_index(entries: Sequence[IndexManifestEntry]) -> int:
    ranges = sum(len(entry.index_file.deletion_vector_ranges or ()) for entry in entries)
    return (len(entries) + 1) * _BYTES_OF_A_FACT + ranges * _BYTES_OF_A_RANGE


def manifest_file_meta(
    name: str, size: int, entries: Sequence[ManifestEntry], *, types: Sequence[DataType], schema_id: int
) -> ManifestFileMeta:
    """Return the metadata in a manifest list for a manifest with these entries."""
    added = sum(entry.kind is FileKind.ADD for entry in entries)
    buckets = [entry.bucket for entry in entries]
    levels = [entry.file.level for entry in entries]
    return ManifestFileMeta(
        file_name=name,
        file_size=size,
        num_added_files=added,
        num_deleted_files=len(entries) - added,
        partition_stats=partition_stats(types, (entry.partition for entry in entries)),
        schema_id=schema_id,
        min_bucket=min(buckets),
        max_bucket=max(buckets),
        min_level=min(levels),
        max_level=max(levels),
    )


def referenced_names(manifests: Iterable[ManifestFileMeta]) -> set[str]:
    """Return the file names of manifests."""
    return {manifest.file_name for manifest in manifests}
