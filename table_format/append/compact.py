"""Compaction of append tables: small files become bigger ones, rows keep their order (format chapter 11, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from table_format.append.plan import FileGroup, SmallFileRules, pick_in_bucket, pick_unordered
from table_format.formats.bucket_files import BucketFiles
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource

BATCH_ROWS: Final = 65_536


def compact_append_files(files_of: BucketFiles, files: Sequence[DataFileMeta], *, full: bool) -> CommitMessage:
    """Compact the live files of a bucket, or of a partition without buckets; the message may be empty.

    Raises:
        CorruptionError: a file is missing or damaged.
    """
    groups = pick_groups(files_of, files, full=full)
    before: list[DataFileMeta] = []
    after: list[DataFileMeta] = []
    complete = False
    try:
        for group in groups:
            after.extend(concatenate(files_of, group))
            before.extend(group)
        complete = True
    finally:
        if not complete:
            for file in after:
                files_of.delete(file)
    return files_of.message(compact_before=tuple(before), compact_after=tuple(after))


def pick_groups(files_of: BucketFiles, files: Sequence[DataFileMeta], *, full: bool) -> tuple[FileGroup, ...]:
    """The groups of files to concatenate; each can be done by a task of its own."""
    options = files_of.options
    rules = SmallFileRules(
        target_file_size=files_of.target_file_bytes,
        small_file_size=files_of.small_file_bytes,
        min_file_num=options.compaction.min_file_num,
        open_file_cost=options.scan.split_open_file_cost,
    )
    pick = pick_in_bucket if options.bucket.count > 0 else pick_unordered
    return pick(files, rules, full=full)


def concatenate(files_of: BucketFiles, group: FileGroup) -> tuple[DataFileMeta, ...]:
    """Write the rows of the files, in order, to files of the target size; numbers go on from the first file's."""
    reader = files_of.reader()
    writer = files_of.writer(level=0, source=FileSource.COMPACT, first_sequence_number=group[0].min_sequence_number)
    complete = False
    try:
        for file in group:
            for batch in reader.read(
                files_of.partition, files_of.bucket, file, files_of.schema.fields, batch_rows=BATCH_ROWS
            ):
                writer.write(batch)
        written = writer.close()
        complete = True
    finally:
        if not complete:
            writer.abort()
    return written
