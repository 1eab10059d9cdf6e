"""Compaction of append tables: small files become bigger ones, rows keep their order (format chapter 11, section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from table_format.append.plan import FileGroup, SmallFileRules, pick_in_bucket, pick_unordered
from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.bucket_files import BucketFiles
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource


def compact_append_files(bucket: BucketFiles, files: Sequence[DataFileMeta], *, full: bool) -> CommitMessage:
    """Compact the live files of a bucket, or of a partition without buckets; the message may be empty.

    Raises:
        CorruptionError: a file is missing or damaged.
    """
    before: list[DataFileMeta] = []
    after: list[DataFileMeta] = []
    with bucket.deleting_on_failure(after):
        for group in pick_groups(bucket, files, full=full):
            after.extend(concatenate(bucket, group))
            before.extend(group)
    return bucket.message(compact_before=tuple(before), compact_after=tuple(after))


def pick_groups(bucket: BucketFiles, files: Sequence[DataFileMeta], *, full: bool) -> tuple[FileGroup, ...]:
    """The groups of files to concatenate; each can be done by a task of its own."""
    options = bucket.options
    rules = SmallFileRules(
        target_file_size=bucket.target_file_bytes,
        small_file_size=bucket.small_file_bytes,
        min_file_num=options.compaction.min_file_num,
        open_file_cost=options.scan.split_open_file_cost,
    )
    pick = pick_in_bucket if options.bucket.count > 0 else pick_unordered
    return pick(files, rules, full=full)


def concatenate(bucket: BucketFiles, group: FileGroup) -> tuple[DataFileMeta, ...]:
    """Write the rows of the files, in order, to files of the target size; numbers go on from the first file's."""
    reader, fields = bucket.reader(), bucket.schema.fields
    rows = batch_rows_of(group, fields)
    first = group[0].min_sequence_number
    with bucket.writing(level=0, source=FileSource.COMPACT, first_sequence_number=first) as writer:
        for file in group:
            for batch in reader.read(bucket.partition, bucket.bucket, file, fields, batch_rows=rows):
                writer.write(batch)
        return writer.close()
