"""Sort compaction of an append table without buckets (Java ``SortCompactAction``, ``TableSorter``).

All rows of a partition are sorted, so that each new file covers a small range of the sort columns and filters on them
skip the other files. Rows that are marked as deleted are dropped. Memory does not depend on the size of the
partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa

from table_format.append.compact import replacement
from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.bucket_files import BucketFiles
from table_format.indexes.deletion_vectors import BucketDeletions, DeletionVectors, VectorReader
from table_format.io.external_sort import ExternalSort
from table_format.kernels.sort_keys import SortKey, SortKeySample, with_sort_key
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
    """Write the rows of all live files of a partition in the order of the key. Return the message that replaces the
    files.

    Rows beyond ``write-buffer-size`` are spilled to a temporary directory in ``directory``.

    Raises:
        CorruptionError: a file is missing or damaged.
        OSError: the disk is full.
    """
    deletions = deletions or BucketDeletions()
    if key.needs_spread:
        look = SortKeySample(key)
        for batch in live_rows(bucket, files, bucket.schema.select(key.columns), deletions):
            look.add(batch)
        key = look.with_spread()
    first = min((file.min_sequence_number for file in files), default=0)
    rows = live_rows(bucket, files, bucket.schema.fields, deletions)
    after = write_sorted(bucket, rows, key, first_sequence_number=first, directory=directory)
    with bucket.deleting_on_failure(after):
        return replacement(bucket, files, files, after, deletions)


def write_sorted(
    bucket: BucketFiles,
    rows: Iterable[pa.RecordBatch],
    key: SortKey,
    *,
    first_sequence_number: int = 0,
    directory: str | None = None,
) -> tuple[DataFileMeta, ...]:
    """Write rows to new files in the order of the key; raises as ``sort_append_files``."""
    add_key = partial(with_sort_key, key=key)
    with ExternalSort(add_key, buffer_bytes=bucket.options.write.buffer_size, directory=directory) as waiting:
        for batch in rows:
            waiting.add(batch)
        with bucket.writing(level=0, source=FileSource.COMPACT, first_sequence_number=first_sequence_number) as writer:
            for batch in waiting.sorted():
                writer.write(batch)
            return writer.close()


def live_rows(
    bucket: BucketFiles, files: Sequence[DataFileMeta], fields: Sequence[DataField], deletions: BucketDeletions
) -> Iterator[pa.RecordBatch]:
    """Return the rows of the files in order, without those that are marked as deleted."""
    reader = bucket.reader()
    vectors = DeletionVectors(VectorReader(bucket.store.io), deletions.files)
    batch_rows = batch_rows_of(files, fields)
    for file in files:
        yield from reader.read(
            bucket.partition, bucket.bucket, file, fields, deleted=vectors.of(file), batch_rows=batch_rows
        )
