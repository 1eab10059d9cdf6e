"""Compaction of append tables: merges small files into larger ones and keeps the order of rows (format chapter 11,
section 3).

Java ``AppendCompactTask``, ``AppendDeleteFileMaintainer``: rows that are marked as deleted are dropped, and the same
commit removes the vectors of the replaced files. An index file that also holds vectors of other files is rewritten
with only those (format chapter 08, section 2).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from table_format.append.plan import DeletedRows, FileGroup, SmallFileRules, pick_in_bucket, pick_unordered
from table_format.append.vectors import write_vectors
from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.bucket_files import BucketFiles
from table_format.indexes.deletion_vectors import (
    BucketDeletions,
    DeletionVectors,
    VectorReader,
)
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource
from table_format.model.manifest import IndexFileMeta
from table_format.options.bucket_mode import is_bucketed


def compact_append_files(
    bucket: BucketFiles, files: Sequence[DataFileMeta], *, full: bool, deletions: BucketDeletions | None = None
) -> CommitMessage:
    """Compact the live files of a bucket, or of a partition without buckets; the message may be empty.

    Raises:
        CorruptionError: a file is missing or damaged.
    """
    deletions = deletions or BucketDeletions()
    before: list[DataFileMeta] = []
    after: list[DataFileMeta] = []
    with bucket.deleting_on_failure(after):
        for group in pick_groups(bucket, files, full=full, deletions=deletions):
            after.extend(concatenate(bucket, group, deletions))
            before.extend(group)
        return replacement(bucket, files, before, after, deletions)


def pick_groups(
    bucket: BucketFiles, files: Sequence[DataFileMeta], *, full: bool, deletions: BucketDeletions | None = None
) -> tuple[FileGroup, ...]:
    """The groups of files to concatenate."""
    options = bucket.options
    rules = SmallFileRules(
        target_file_size=bucket.target_file_bytes,
        small_file_size=bucket.small_file_bytes,
        min_file_num=options.compaction.min_file_num,
        open_file_cost=options.scan.split_open_file_cost,
        delete_ratio=options.compaction.delete_ratio,
    )
    deleted_rows = {
        name: DeletedRows(found.range.cardinality, found.path)
        for name, found in (deletions.files if deletions is not None else {}).items()
        if found.range.cardinality != 0
    }
    pick = pick_in_bucket if is_bucketed(bucket.bucket_mode) else pick_unordered
    return pick(files, rules, deleted_rows, full=full)


def concatenate(
    bucket: BucketFiles, group: FileGroup, deletions: BucketDeletions | None = None
) -> tuple[DataFileMeta, ...]:
    """Write the rows of the files, in order, to files of the target size. Sequence numbers start with that of the
    first file.
    """
    reader, fields = bucket.reader(), bucket.schema.fields
    rows = batch_rows_of(group, fields)
    first = group[0].min_sequence_number
    vectors = DeletionVectors(VectorReader(bucket.store.io), deletions.files if deletions is not None else {})
    with bucket.writing(level=0, source=FileSource.COMPACT, first_sequence_number=first) as writer:
        for file in group:
            batches = reader.read(
                bucket.partition, bucket.bucket, file, fields, deleted=vectors.of(file), batch_rows=rows
            )
            for batch in batches:
                writer.write(batch)
        return writer.close()


def replacement(
    bucket: BucketFiles,
    live: Sequence[DataFileMeta],
    before: Sequence[DataFileMeta],
    after: Sequence[DataFileMeta],
    deletions: BucketDeletions,
) -> CommitMessage:
    """Return the message that replaces files by others and removes their vectors from the index.

    ``live`` are all files of the bucket. Raises ``CorruptionError``.
    """
    removed, added = _index_without(bucket, live, {file.file_name for file in before}, deletions)
    return replace(
        bucket.message(compact_before=tuple(before), compact_after=tuple(after)),
        compact_new_index_files=added,
        compact_deleted_index_files=removed,
    )


def _index_without(
    bucket: BucketFiles, live: Sequence[DataFileMeta], names: Collection[str], deletions: BucketDeletions
) -> tuple[tuple[IndexFileMeta, ...], tuple[IndexFileMeta, ...]]:
    """The index files with vectors of such files, and those that take over what else is in them."""
    touched = tuple(
        index
        for index in deletions.index_files
        if any(range_.data_file in names for range_ in index.deletion_vector_ranges or ())
    )
    rows = {file.file_name: file.row_count for file in live if file.file_name not in names}
    reader = VectorReader(bucket.store.io)
    kept = {
        range_.data_file: reader.read(deletions.files[range_.data_file], rows[range_.data_file])
        for index in touched
        for range_ in index.deletion_vector_ranges or ()
        if range_.data_file in rows
    }
    return touched, write_vectors(bucket, kept)
