"""Paths of the data, changelog and index files that entries of manifests name."""

from __future__ import annotations

from collections.abc import Iterable

from table_format.io.paths import TablePaths, parent
from table_format.io.table_store import TableStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.references.snapshot_files import FileKey, extra_keys, file_key
from table_format.model.manifest import ManifestEntry


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
        """The files of the entries with what belongs to them, each once, without the protected ones.

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
                        found[self._store.paths.file_in_bucket(text, entry.bucket, name)] = None
        return tuple(found)

    def beside(self, keys: Iterable[FileKey], protected: frozenset[FileKey]) -> tuple[str, ...]:
        """Files among the data files of buckets, without the protected ones."""
        left = sorted(key for key in keys if key not in protected)
        return tuple(
            self._store.paths.file_in_bucket(self._partitions.text(partition), bucket, name)
            for partition, bucket, name in left
        )

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
