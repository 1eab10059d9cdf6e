"""The deletion vectors of one bucket while it is compacted (format chapter 07, section 7).

Java ``BucketedDvMaintainer``: a compaction marks the older rows of the keys that it writes. One new index file with
all vectors of the bucket replaces the old one. Files that are no longer live have no vector.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from table_format.codecs.deletion_vector import DeletionVector
from table_format.formats.bucket_files import BucketFiles
from table_format.indexes.deletion_vector_files import write_deletion_vectors
from table_format.indexes.deletion_vectors import BucketDeletions, VectorReader
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import IndexFileMeta
from table_format.model.split import DeletionFile

__all__ = ["BucketDeletions", "BucketVectors"]


class BucketVectors:
    """The deleted rows of a bucket, including those that a running compaction marks."""

    def __init__(self, bucket: BucketFiles, deletions: BucketDeletions) -> None:
        self._bucket = bucket
        self._reader = VectorReader(bucket.store.io)
        self._stored = dict(deletions.files)
        self._index_files = deletions.index_files
        self._vectors: dict[str, DeletionVector] = {}
        self._is_modified = False

    @property
    def index_files(self) -> tuple[IndexFileMeta, ...]:
        """The index files with the vectors that were last read or written."""
        return self._index_files

    def of(self, file: DataFileMeta) -> DeletionVector | None:
        """Return the vector of a data file, or ``None`` if no row is deleted.

        Raises:
            CorruptionError: the index file is missing or damaged, or does not match the data file.
        """
        vector = self._vectors.get(file.file_name)
        if vector is None and (stored := self._stored.get(file.file_name)) is not None:
            vector = self._reader.read(stored, file.row_count)
            self._vectors[file.file_name] = vector
        return vector if vector is not None and vector.cardinality else None

    def mark_deleted(self, file: DataFileMeta, positions: npt.NDArray[np.int64]) -> None:
        """Mark rows of a data file as deleted."""
        is_wide = self._bucket.options.deletion_vectors.bitmap64
        vector = self.of(file) or DeletionVector.of(is_wide=is_wide)
        self._vectors[file.file_name] = vector.union(positions.tolist())
        self._is_modified = True

    def files_with_deletions(self, live: Iterable[DataFileMeta]) -> tuple[DataFileMeta, ...]:
        """Return the files that have deleted rows."""
        return tuple(file for file in live if self.of(file) is not None)

    def write(self, live: Iterable[DataFileMeta]) -> tuple[tuple[IndexFileMeta, ...], tuple[IndexFileMeta, ...]]:
        """Write the vectors of the live files if they have changed. Return the removed and the added index files."""
        vectors = {file.file_name: vector for file in live if (vector := self.of(file)) is not None}
        if not self._is_modified and vectors.keys() == self._stored.keys():
            return (), ()
        added = write_deletion_vectors(self._bucket.store, vectors, self._bucket.index_path)
        path = self._bucket.index_path(added.file_name)
        removed, self._index_files = self._index_files, (added,)
        self._stored = {r.data_file: DeletionFile(path, r, added.file_size) for r in added.deletion_vector_ranges or ()}
        self._vectors, self._is_modified = vectors, False
        return removed, (added,)
