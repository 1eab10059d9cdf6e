"""Sort compaction of an append table without buckets (Java ``SortCompactAction``, ``TableSorter``).

All rows of a partition are put in order, so that each new file covers a small range of the sort columns and a filter
on them skips the others. Rows that are marked as deleted stay behind. Memory does not depend on the partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from table_format.append.compact import replacement
from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.bucket_files import BucketFiles
from table_format.indexes.deletion_vectors import BucketDeletions, DeletionVectors
from table_format.io.external_sort import ExternalSort
from table_format.kernels.sort_keys import FirstLook, SortKey, with_sort_key
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource
from table_format.model.types import DataField


def sort_append_files(
    bucket: BucketFiles,
    files: Sequence[DataFileMeta],
    key: SortKey,
    *,
    deletions: BucketDeletions | None = None,
    directory: str | None = None,
) -> CommitMessage:
    """Write the rows of all live files of a partition in the order of the key; the message replaces those files.

    Rows beyond ``write-buffer-size`` wait in a temporary directory below ``directory``.

    Raises:
        CorruptionError: a file is missing or damaged.
        OSError: the disk is full.
    """
    deletions = deletions or BucketDeletions()
    if key.needs_spread:
        look = FirstLook(key)
        for batch in _rows(bucket, files, bucket.schema.select(key.columns), deletions):
            look.add(batch)
        key = look.with_spread()
    after: list[DataFileMeta] = []
    add_key = partial(with_sort_key, key=key)
    buffer_bytes = bucket.options.write.buffer_size
    first = min((file.min_sequence_number for file in files), default=0)
    with (
        bucket.deleting_on_failure(after),
        ExternalSort(add_key, buffer_bytes=buffer_bytes, directory=directory) as rows,
    ):
        for batch in _rows(bucket, files, bucket.schema.fields, deletions):
            rows.add(batch)
        with bucket.writing(level=0, source=FileSource.COMPACT, first_sequence_number=first) as writer:
            for batch in rows.sorted():
                writer.write(batch)
            after.extend(writer.close())
        return replacement(bucket, files, files, after, deletions)


def _rows(
    bucket: BucketFiles, files: Sequence[DataFileMeta], fields: Sequence[DataField], deletions: BucketDeletions
) -> Iterator[pa.RecordBatch]:
    reader = bucket.reader()
    marked = DeletionVectors(bucket.store.io, deletions.files)
    batch_rows = batch_rows_of(files, fields)
    for file in files:
        yield from reader.read(
            bucket.partition, bucket.bucket, file, fields, deleted=marked.of(file), batch_rows=batch_rows
        )
