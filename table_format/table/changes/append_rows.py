"""Marks rows of an append table as deleted.

Java ``AppendDeleteFileMaintainer``; format chapter 08, section 2. With ``deletion-vectors.enabled`` the data files
stay. One new index file replaces the index files with vectors of the affected files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from table_format.append.vectors import write_vectors
from table_format.codecs.deletion_vector import DeletionVector
from table_format.errors import UnsupportedFeature
from table_format.formats.bucket_files import BucketFiles
from table_format.indexes.deletion_vectors import VectorReader
from table_format.lsm.bucket_deletion_vectors import BucketDeletions
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import by_bucket
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import IndexFileMeta, ManifestEntry
from table_format.options.bucket_mode import is_bucketed
from table_format.table.changes.row_changes import Positions
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan


@dataclass(frozen=True, slots=True)
class AppendBucket:
    """The files of one bucket that may hold affected rows."""

    files: BucketFiles
    candidates: tuple[DataFileMeta, ...]
    deletions: BucketDeletions
    live: Mapping[str, DataFileMeta]
    """All live files of the bucket by name, if there are deletion vectors."""
    vectors: VectorReader

    def vector_of(self, file: DataFileMeta) -> DeletionVector | None:
        """The deletion vector of a file; ``None`` if all its rows are live."""
        stored = self.deletions.files.get(file.file_name)
        return None if stored is None else self.vectors.read(stored, file.row_count)

    def index_files_of(self, names: Collection[str]) -> tuple[IndexFileMeta, ...]:
        """Return the index files to replace when rows of these data files are marked: all of them if the table has
        buckets.
        """
        return tuple(
            index
            for index in self.deletions.index_files
            if is_bucketed(self.files.bucket_mode)
            or any(range_.data_file in names for range_ in index.deletion_vector_ranges or ())
        )


def append_buckets(facts: TableFacts, plan: Plan) -> Iterator[AppendBucket]:
    """The buckets of a plan of the latest snapshot.

    Raises:
        UnsupportedFeature: the table's ``deletion-vectors.enabled`` changed after rows were marked.
    """
    deletions = facts.bucket_deletions(plan.snapshot)
    enabled = facts.options.deletion_vectors.enabled
    if deletions and not enabled:
        feature = "a change of rows without deletion vectors on a table that has some"
        raise UnsupportedFeature(feature)
    files: dict[tuple[bytes, int, int], list[DataFileMeta]] = {}
    for split in plan.splits:
        files.setdefault((split.partition, split.bucket, split.total_buckets), []).extend(split.files)
    live: Mapping[BucketId, Sequence[ManifestEntry]] = {}
    if deletions and plan.snapshot is not None:
        wanted = FileFilter(partitions=frozenset(partition for partition, _, _ in files))
        found = facts.live_files(plan.snapshot, wanted)
        live = by_bucket(found.entries)
    for (partition, number, total), candidates in files.items():
        bucket = facts.bucket_files(partition, number, total)
        known = {entry.file.file_name: entry.file for entry in live.get(BucketId(partition, number), ())}
        stored = deletions.get(BucketId(partition, number), BucketDeletions())
        yield AppendBucket(bucket, tuple(candidates), stored, known, VectorReader(facts.store.io))


def deletion_message(bucket: AppendBucket, found: dict[DataFileMeta, Positions]) -> CommitMessage:
    """Write the index file that marks rows as deleted, by position, and return the commit message."""
    is_wide = bucket.files.options.deletion_vectors.bitmap64
    # Vectors of other files in a replaced index file move to the new one unchanged.
    replaced = bucket.index_files_of({file.file_name for file in found})
    vectors = {
        range_.data_file: vector
        for index in replaced
        for range_ in index.deletion_vector_ranges or ()
        if (vector := bucket.vector_of(bucket.live[range_.data_file])) is not None
    }
    for file, positions in found.items():
        vector = vectors.get(file.file_name) or DeletionVector.of(is_wide=is_wide)
        vectors[file.file_name] = vector.union(positions.tolist())
    added = write_vectors(bucket.files, vectors)
    return replace(bucket.files.message(), new_index_files=added, deleted_index_files=replaced)
