"""Sort compaction of a partition with dynamic buckets (Java ``SortCompactAction``, ``DynamicBucketCompactSink``).

A bucket is sorted by primary key, so what can be put in order by other columns is which rows share a bucket: those next
to each other in the order go to bucket 0 until it is full, then to 1, and so on, and a filter on the sort columns skips
whole buckets. The hash index is written again, since keys are in other buckets then (format chapter 11, section 1).
It finds a bucket by the hash of a key, so keys with one hash have to share a bucket: the few that do not have theirs
alone come last, in a bucket of their own. Rows keep their sequence numbers. Memory is that of the sort and four bytes
for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from table_format.errors import FileConflict
from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.bucket_files import BucketFiles
from table_format.indexes.deletion_vectors import BucketDeletions, DeletionVectors, VectorReader
from table_format.indexes.hash_index import write_hashes
from table_format.io.external_sort import ExternalSort
from table_format.kernels.hash_buckets import Hashes, distinct
from table_format.kernels.hashing import row_hashes
from table_format.kernels.sort_keys import OrderStrategy, SortKey, SortKeySample, with_sort_key
from table_format.limits import MAX_BUCKETS
from table_format.lsm.keys import key_ranges
from table_format.lsm.levels import levels_of
from table_format.lsm.runs import RunSource, is_add, physical_batch
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource
from table_format.model.manifest import IndexFileMeta
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND
from table_format.model.types import DataField


@dataclass(frozen=True, slots=True)
class BucketToSort:
    """The live files of a bucket after a full compaction, its deletion vectors and its hash index file."""

    files: BucketFiles
    live: tuple[DataFileMeta, ...]
    deletions: BucketDeletions
    hash_file: IndexFileMeta | None


def sort_buckets(
    buckets: Sequence[BucketToSort], key: SortKey, *, directory: str | None = None
) -> Iterator[CommitMessage]:
    """Deal the rows of a partition out to buckets in the order of the key, message by message as files are made.

    The messages name every live file of the partition. Rows beyond ``write-buffer-size`` wait in a temporary directory
    below ``directory``.

    Raises:
        FileConflict: a bucket was written to since it was compacted.
        CorruptionError: a file is missing or damaged.
        OSError: the disk is full.
    """
    level = level_of_all(buckets)
    yield from removals(buckets)
    template = buckets[0].files
    fields = (SEQUENCE_NUMBER, VALUE_KIND, *template.schema.fields)
    key, shared = _first_look(buckets, key)
    with (
        external_sort(template, key, directory) as rows,
        external_sort(template, _by_key(template), directory) as apart,
    ):
        for batch in compacted_rows(buckets, fields):
            is_shared = np.isin(key_hashes(template, batch), shared)
            rows.add(batch.filter(pa.array(~is_shared)) if is_shared.any() else batch)
            apart.add(batch.filter(pa.array(is_shared)))
        portions = chain(_portions(rows.sorted(), rows_of_a_bucket(buckets)), [apart.sorted()] if shared.size else [])
        for number, portion in enumerate(portions):
            yield write_bucket(replace(template, bucket=number), portion, level, directory)


def _first_look(buckets: Sequence[BucketToSort], key: SortKey) -> tuple[SortKey, Hashes]:
    """What has to be known of all rows before the first has its place: their spread, and the hashes that keys share."""
    files = buckets[0].files
    look = SortKeySample(key) if key.needs_spread else None
    found = [np.empty(0, np.int32)]
    wanted = dict.fromkeys((*files.schema.trimmed_primary_keys, *(key.columns if look is not None else ())))
    for batch in compacted_rows(buckets, files.schema.select(tuple(wanted))):
        found.append(key_hashes(files, batch))
        if look is not None:
            look.add(batch)
    key = key if look is None else look.with_spread()
    hashes = np.sort(np.concatenate(found))
    shared = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
    # A single bucket is shared by all.
    return key, shared if may_have_more_buckets(files) else shared[:0]


def level_of_all(buckets: Iterable[BucketToSort]) -> int:
    """The highest level of buckets that have nothing outside of it.

    Raises:
        FileConflict: a bucket was written to since it was compacted.
    """
    return max(_level_of(bucket) for bucket in buckets)


def _level_of(bucket: BucketToSort) -> int:
    levels = levels_of(bucket.live, bucket.files.options.compaction.num_levels, key_ranges(bucket.files.schema))
    if levels.level0 or len(levels.higher) > 1:
        where = f"bucket {bucket.files.bucket} of partition '{bucket.files.partition_text}'"
        message = f"{where} was written to since it was compacted; sort it again when nobody writes to the partition"
        raise FileConflict(message)
    return levels.max_level


def removals(buckets: Iterable[BucketToSort]) -> Iterator[CommitMessage]:
    """Return the message that removes the files of the buckets, with their vectors and hash indexes."""
    return map(_removal, buckets)


def _removal(bucket: BucketToSort) -> CommitMessage:
    hash_files = () if bucket.hash_file is None else (bucket.hash_file,)
    return replace(
        bucket.files.message(compact_before=bucket.live),
        compact_deleted_index_files=(*hash_files, *bucket.deletions.index_files),
    )


def compacted_rows(buckets: Iterable[BucketToSort], fields: Sequence[DataField]) -> Iterator[pa.RecordBatch]:
    """The rows of the live files that are there: none is marked as deleted, or takes another back."""
    for bucket in buckets:
        files = bucket.files
        deletions = DeletionVectors(VectorReader(files.store.io), bucket.deletions.files)
        source = RunSource(files.reader(), files.partition, files.bucket, deletions=deletions)
        batch_rows = batch_rows_of(bucket.live, fields)
        for batch in source.run(bucket.live, fields, batch_rows=batch_rows):
            at = batch.schema.get_field_index(VALUE_KIND.name)
            yield batch if at < 0 else batch.filter(is_add(batch.column(at)))


def rows_of_a_bucket(buckets: Sequence[BucketToSort]) -> int:
    """How many rows each new bucket gets: the target, or more where there may not be so many buckets.

    One bucket is kept for keys that share their hash.
    """
    files = buckets[0].files
    rows = sum(file.row_count for bucket in buckets for file in bucket.live)
    return max(files.options.bucket.target_rows, -(-rows // max(_most_buckets(files) - 1, 1)))


def may_have_more_buckets(files: BucketFiles) -> bool:
    """Whether a partition of the table may have more than one bucket."""
    return _most_buckets(files) > 1


def _most_buckets(files: BucketFiles) -> int:
    limit = files.options.bucket.max_dynamic_buckets
    return limit if limit > 0 else MAX_BUCKETS


def _portions(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[Iterator[pa.RecordBatch]]:
    """So many rows after so many; each portion has to be used up before the next."""
    waiting = next(batches, None)

    def portion() -> Iterator[pa.RecordBatch]:
        nonlocal waiting
        left = size
        while left and waiting is not None:
            head, rest = waiting.slice(0, left), waiting.slice(left)
            waiting = rest if rest.num_rows else next(batches, None)
            left -= head.num_rows
            yield head

    while waiting is not None:
        yield portion()


def write_bucket(
    bucket: BucketFiles, rows: Iterator[pa.RecordBatch], level: int, directory: str | None = None
) -> CommitMessage:
    """Write rows to a new bucket, in the order of their keys, with its hash index; nothing is left when that fails."""
    hashes: list[Hashes] = []
    after: list[DataFileMeta] = []
    with bucket.deleting_on_failure(after), external_sort(bucket, _by_key(bucket), directory) as in_order:
        for batch in rows:
            hashes.append(distinct(key_hashes(bucket, batch)))
            in_order.add(batch)
        with bucket.writing(level=level, source=FileSource.COMPACT) as writer:
            for batch in in_order.sorted():
                writer.write(physical_batch(batch, bucket.schema))
            after.extend(writer.close())
        index = write_hashes(bucket.store, distinct(np.concatenate(hashes)), bucket.index_path)
    return replace(bucket.message(compact_after=tuple(after)), compact_new_index_files=(index,))


def external_sort(bucket: BucketFiles, key: SortKey, directory: str | None = None) -> ExternalSort:
    """A sort by some key within the memory of a writer; more waits on disk, below ``directory``."""
    buffer_bytes = bucket.options.write.buffer_size
    return ExternalSort(partial(with_sort_key, key=key), buffer_bytes=buffer_bytes, directory=directory)


def _by_key(files: BucketFiles) -> SortKey:
    return SortKey(OrderStrategy.ORDER, files.schema.trimmed_primary_keys)


def key_hashes(files: BucketFiles, batch: pa.RecordBatch) -> Hashes:
    """The hash of each row's key, which the hash index knows it by."""
    keys = files.schema.select(files.schema.trimmed_primary_keys)
    return row_hashes([f.type for f in keys], [batch.column(f.name) for f in keys])
