"""The paths of the data, changelog and index files that manifest entries name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from table_format.errors import UnsupportedFeature
from table_format.io.paths import TablePaths, base_name, external_path, is_plain_path, parent, without_scheme
from table_format.io.table_store import TableStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.references.snapshot_files import FileKey, extra_keys, file_key
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.manifest import ManifestEntry
from table_format.options.files import EXTERNAL_PATHS


class DataPaths:
    """The paths of the data, changelog and index files of entries."""

    def __init__(self, store: TableStore, partitions: Partitions) -> None:
        self._store = store
        self._partitions = partitions

    @property
    def paths(self) -> TablePaths:
        """The paths of the table."""
        return self._store.paths

    def index_file(self, key: FileKey) -> str:
        """Return the path of an index file; its name is a full URI if it is outside the table."""
        partition, bucket, name = key
        if "/" in name:
            return external_path(name, base_name(name))
        return self._partitions.index_path(self._store.paths, partition, bucket, name)

    def files_of(self, entries: Iterable[ManifestEntry], protected: frozenset[FileKey]) -> tuple[str, ...]:
        """Return the paths of the files of entries and of their extra files, each once, without the protected ones.

        One data file may have had several indexes, of which some are protected.
        """
        found: dict[str, None] = {}
        for entry in entries:
            text = self._partitions.text(entry.partition)
            if file_key(entry) not in protected:
                found[self._store.paths.data_file(text, entry.bucket, entry.file)] = None
            if not extra_keys(entry) <= protected:
                for name in entry.file.extra_files:
                    if (entry.partition, entry.bucket, name) not in protected:
                        found[self._store.paths.beside(text, entry.bucket, entry.file, name)] = None
        return tuple(found)

    def is_own(self, entry: ManifestEntry) -> bool:
        """Return whether a file belongs to the table: it is in the table, or where writers create files of external
        paths.
        """
        uri = entry.file.external_path
        return uri is None or self._is_laid_out(entry.partition, entry.bucket, uri, entry.file.file_name)

    def is_own_index(self, key: FileKey) -> bool:
        """Return the same for an index file."""
        partition, bucket, name = key
        return "/" not in name or self._is_laid_out(partition, bucket, name, base_name(name))

    def _is_laid_out(self, partition: bytes, bucket: int, uri: str, name: str) -> bool:
        if not self._store.paths.has_external_files:
            return False
        try:
            path = external_path(uri, name)
        except UnsupportedFeature:
            return False
        return self._store.paths.is_laid_out(self._partitions.text(partition), bucket, path)

    def beside(self, files: Mapping[FileKey, ManifestEntry], protected: frozenset[FileKey]) -> tuple[str, ...]:
        """Return the paths of extra files of data files, without the protected ones."""
        left = sorted(key for key in files if key not in protected)
        return tuple(
            self._store.paths.beside(self._partitions.text(key[0]), key[1], files[key].file, key[2]) for key in left
        )

    def directories_of(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return the directories that may be empty without the files: buckets first, then partitions, deepest first."""
        root = self._store.paths.partition_directory("")
        found: set[str] = set()
        for path in paths:
            directory = parent(path)
            while directory != root and directory.startswith(root):
                found.add(directory)
                directory = parent(directory)
        return tuple(sorted(found, key=lambda directory: (-directory.count("/"), directory)))


def external_roots(store: TableStore) -> Sequence[str]:
    """Return the external paths of a table in the local file system, including those of older schemas, sorted.

    Raises:
        CorruptionError: a schema cannot be read.
    """
    schemas = SchemaStore(store)
    found: set[str] = set()
    for schema_id in schemas.ids():
        uris = EXTERNAL_PATHS.read(schemas.load(schema_id).options) or ()
        found.update(path for uri in uris if is_plain_path(path := without_scheme(uri)))
    return sorted(found)
