"""Manifest lists, manifests and index manifests of a table (format chapter 04, sections 2, 4, 6 and 8).

Files are written once under unique names and never change, so what was read or written is remembered by name
in a small cache. Sizes recorded in snapshots and lists are compared with what is read, and so is the hash in a name.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Final, Generic, TypeVar

from table_format.codecs.content_name import check_content, content_uuid
from table_format.codecs.manifest_avro import decode_index_manifest, decode_manifest, decode_manifest_list
from table_format.codecs.publishable import (
    checked_manifest,
    index_manifest_bytes,
    manifest_draft,
    manifest_list_bytes,
)
from table_format.errors import BadEncoding, MissingFile
from table_format.io.paths import index_manifest_name, manifest_list_name, manifest_name
from table_format.io.sound_files import read_file
from table_format.io.table_store import TableStore
from table_format.limits import KIB
from table_format.metastore.manifest.partitions import partition_stats
from table_format.metastore.manifest.replay import ReplayError
from table_format.metastore.publish import create_unique
from table_format.model.manifest import FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta
from table_format.model.snapshot import Snapshot
from table_format.model.types import DataType
from table_format.options.table_options import TableOptions

_Fact = TypeVar("_Fact")

_CACHED_FACTS: Final = 65_536
"""Entries kept in memory by one store: some 60 MB."""

_LARGE_MANIFEST_BYTES: Final = 64 * KIB


@dataclass(frozen=True, slots=True)
class WrittenList:
    """A manifest list as a snapshot names it."""

    name: str
    size: int


class NewFiles:
    """The paths an attempt is about to create, recorded before they exist, so that all can be taken back."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def record(self, path: str) -> None:
        """Note a path."""
        self.paths.append(path)


class ManifestStore:
    """Reads and writes the manifests of one table.

    Each new file has a UUID of its own, which states its content. Among names that differ in a digit, a damaged
    snapshot could name another one.
    """

    def __init__(self, store: TableStore, options: TableOptions) -> None:
        self._store = store
        self.options = options
        self._lists: _Cache[ManifestFileMeta] = _Cache(_CACHED_FACTS)
        self._manifests: _Cache[ManifestEntry] = _Cache(_CACHED_FACTS)
        self._indexes: _Cache[IndexManifestEntry] = _Cache(_CACHED_FACTS)

    def __reduce__(self) -> tuple[object, ...]:
        # Another process remembers for itself.
        return (ManifestStore, (self._store, self.options))

    # --- reading ----------------------------------------------------------------------------------------------------

    def data_manifests(self, snapshot: Snapshot) -> tuple[ManifestFileMeta, ...]:
        """The manifests of the snapshot's whole state, in replay order."""
        base = self.read_list(snapshot.base_manifest_list, size=snapshot.base_manifest_list_size)
        return (*base, *self.delta_manifests(snapshot))

    def delta_manifests(self, snapshot: Snapshot) -> Sequence[ManifestFileMeta]:
        """The manifests of what the snapshot changed."""
        return self.read_list(snapshot.delta_manifest_list, size=snapshot.delta_manifest_list_size)

    def changelog_manifests(self, snapshot: Snapshot) -> Sequence[ManifestFileMeta]:
        """The manifests of the snapshot's changelog files; none when it has no changelog."""
        if snapshot.changelog_manifest_list is None:
            return ()
        return self.read_list(snapshot.changelog_manifest_list, size=snapshot.changelog_manifest_list_size)

    def delta_entries(self, snapshot: Snapshot) -> list[ManifestEntry]:
        """The entries of what the snapshot changed, in replay order."""
        return [entry for manifest in self.delta_manifests(snapshot) for entry in self.read(manifest)]

    def index_entries(self, snapshot: Snapshot) -> Sequence[IndexManifestEntry]:
        """All live index files of the snapshot."""
        return () if snapshot.index_manifest is None else self.read_index(snapshot.index_manifest)

    def read_list(self, name: str, *, size: int | None = None) -> Sequence[ManifestFileMeta]:
        """The manifests of a list, in replay order; ``size`` is the recorded size in bytes, if known.

        Raises:
            CorruptionError: the list is missing, or not what was recorded.
        """
        return self._lists.get(name, lambda: self._load(name, size, decode_manifest_list))

    def read(self, manifest: ManifestFileMeta) -> Sequence[ManifestEntry]:
        """The entries of a manifest, in order.

        Raises:
            CorruptionError: the manifest is missing, or not what its list says.
        """
        return self._manifests.get(manifest.file_name, lambda: self._load_manifest(manifest))

    def read_index(self, name: str) -> Sequence[IndexManifestEntry]:
        """The live index files an index manifest names.

        Raises:
            CorruptionError: the index manifest is missing or cannot be decoded.
        """
        return self._indexes.get(name, lambda: self._load(name, None, decode_index_manifest))

    def contradiction(self, snapshot: Snapshot, error: ReplayError) -> BadEncoding:
        """The error of a snapshot whose manifests contradict each other."""
        path = self._store.paths.snapshot(snapshot.id)
        return BadEncoding(path, f"the manifests of the snapshot contradict each other: {error}")

    # --- writing ----------------------------------------------------------------------------------------------------

    def write(
        self, entries: Sequence[ManifestEntry], *, types: Sequence[DataType], schema_id: int, new: NewFiles
    ) -> tuple[ManifestFileMeta, ...]:
        """Write entries into manifests of at most about the target size; ``types`` are those of the partition keys."""
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
        """Write a manifest list; it may be empty."""
        data = manifest_list_bytes(manifests, compression=self.options.manifest.compression, path=self._directory)
        name = self._create(manifest_list_name, data, new)
        self._lists.put(name, tuple(manifests))
        return WrittenList(name, len(data))

    def write_index(self, entries: Sequence[IndexManifestEntry], *, new: NewFiles) -> str:
        """Write an index manifest and return its name."""
        data = index_manifest_bytes(entries, compression=self.options.manifest.compression, path=self._directory)
        name = self._create(index_manifest_name, data, new)
        self._indexes.put(name, tuple(entries))
        return name

    def _write_one(
        self, entries: Sequence[ManifestEntry], data: bytes, types: Sequence[DataType], schema_id: int, new: NewFiles
    ) -> ManifestFileMeta:
        with _collector_at_rest(len(data)):
            checked_manifest(data, entries, path=self._directory)
        name = self._create(manifest_name, data, new)
        self._manifests.put(name, tuple(entries))
        return manifest_file_meta(name, len(data), entries, types=types, schema_id=schema_id)

    def _draft(self, entries: Sequence[ManifestEntry]) -> bytes:
        return manifest_draft(entries, compression=self.options.manifest.compression, path=self._directory)

    @property
    def _directory(self) -> str:
        # What is still to be named by its content is called by its directory in errors.
        return self._store.paths.manifest_directory

    def _create(self, name_of: Callable[[str, int], str], data: bytes, new: NewFiles) -> str:
        name = name_of(content_uuid(self._store.runtime.ids.uuid(), data), 0)
        path = self._store.paths.manifest(name)
        new.record(path)
        create_unique(self._store, path, data)
        return name

    def _load_manifest(self, manifest: ManifestFileMeta) -> Sequence[ManifestEntry]:
        expected = manifest.num_added_files + manifest.num_deleted_files
        entries = self._load(manifest.file_name, manifest.file_size, partial(decode_manifest, entries=expected))
        if len(entries) != expected:
            path = self._store.paths.manifest(manifest.file_name)
            raise BadEncoding(path, f"expected {expected} entries, found {len(entries)}")
        return entries

    def _load(self, name: str, size: int | None, decode: Callable[..., list[_Fact]]) -> Sequence[_Fact]:
        path = self._store.paths.manifest(name)
        try:
            data = read_file(self._store.io, path, size=size)
        except FileNotFoundError as e:
            raise MissingFile(path) from e
        check_content(data, path=path)
        with _collector_at_rest(len(data)):
            return tuple(decode(data, path=path))


def manifest_file_meta(
    name: str, size: int, entries: Sequence[ManifestEntry], *, types: Sequence[DataType], schema_id: int
) -> ManifestFileMeta:
    """What a manifest list says about a manifest of these entries."""
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
    """The file names of manifests."""
    return {manifest.file_name for manifest in manifests}


@contextmanager
def _collector_at_rest(size: int) -> Iterator[None]:
    """Decode a large manifest without garbage collection.

    Its entries are many objects that all stay, and no cycle is among them: to walk them again and again while they are
    made takes as long as making them.
    """
    if size < _LARGE_MANIFEST_BYTES or not gc.isenabled():
        yield
        return
    try:
        gc.disable()
        yield
    finally:
        gc.enable()


class _Cache(Generic[_Fact]):
    """Facts by file name, the least recently used dropped first; the bound is the number of facts, not of files."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._held = 0
        self._facts: OrderedDict[str, Sequence[_Fact]] = OrderedDict()
        self._lock = Lock()

    def get(self, name: str, load: Callable[[], Sequence[_Fact]]) -> Sequence[_Fact]:
        with self._lock:
            facts = self._facts.get(name)
            if facts is not None:
                self._facts.move_to_end(name)
                return facts
        facts = load()
        self.put(name, facts)
        return facts

    def put(self, name: str, facts: Sequence[_Fact]) -> None:
        with self._lock:
            before = self._facts.pop(name, None)
            self._held += len(facts) + 1 - (0 if before is None else len(before) + 1)
            self._facts[name] = facts
            while self._held > self._capacity and len(self._facts) > 1:
                _, dropped = self._facts.popitem(last=False)
                self._held -= len(dropped) + 1
