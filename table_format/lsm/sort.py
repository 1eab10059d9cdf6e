"""Sort compaction of a partition with dynamic buckets (Java ``SortCompactAction``, ``DynamicBucketCompactSink``).

A bucket is sorted by primary key, so other columns can only determine which rows share a bucket: adjacent rows of the
order go to bucket 0 until it is full, then to bucket 1, and so on. A filter on the sort columns then skips whole
buckets. The hash index is rewritten, because the buckets of keys change (format chapter 11, section 1). It finds a
bucket by the hash of a key, so keys with the same hash must share a bucket: the few such keys come last, in their own
bucket. Rows keep their sequence numbers. Memory is that of the sort plus four bytes for each row.
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
    """Distribute the rows of a partition over buckets in the order of ``key``. Yield the messages as files are written.

    The messages name every live file of the partition. Rows beyond ``write-buffer-size`` are stored in a temporary
    directory below ``directory``.

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
    """Read all rows once for the facts that placing rows needs: their distribution, and the hashes that keys share."""
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
    # All rows share a single bucket.
    return key, shared if may_have_more_buckets(files) else shared[:0]


def level_of_all(buckets: Iterable[BucketToSort]) -> int:
    """Return the highest level of the buckets, whose files must all be on their highest level.

    Raises:
        FileConflict: a bucket was written to since it was compacted.
    """
    return max(_level_of(bucket) for bucket in buckets)


def _level_of(bucket: BucketToSort) -> int:
    levels = levels_of(bucket.live, bucket.files.options.compaction.num_levels, key_ranges(bucket.files.schema))
    if levels.level0 or len(levels.higher) > 1:
        where = f"bucket {bucket.files.bucket} of partition '{bucket.files.partition_text}'"
        message = f"{where} was written to since it was compacted; sort again when nobody writes to the partition"
        raise FileConflict(message)
    return levels.max_level


def removals(buckets: Iterable[BucketToSort]) -> Iterator[CommitMessage]:
    """Return the messages that remove the files of the buckets, with their vectors and hash indexes."""
    return map(_removal, buckets)


def _removal(bucket: BucketToSort) -> CommitMessage:
    hash_files = () if bucket.hash_file is None else (bucket.hash_file,)
    return replace(
        bucket.files.message(compact_before=bucket.live),
        compact_deleted_index_files=(*hash_files, *bucket.deletions.index_files),
    )


def compacted_rows(buckets: Iterable[BucketToSort], fields: Sequence[DataField]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the live files, without deleted rows and retracts."""
    for bucket in buckets:
        files = bucket.files
        deletions = DeletionVectors(VectorReader(files.store.io), bucket.deletions.files)
        source = RunSource(files.reader(), files.partition, files.bucket, deletions=deletions)
        batch_rows = batch_rows_of(bucket.live, fields)
        for batch in source.run(bucket.live, fields, batch_rows=batch_rows):
            at = batch.schema.get_field_index(VALUE_KIND.name)
            yield batch if at < 0 else batch.filter(is_add(batch.column(at)))


def rows_of_a_bucket(buckets: Sequence[BucketToSort]) -> int:
    """Return the number of rows of each new bucket: the target, or more if the number of buckets is limited.

    One bucket is reserved for keys that share their hash.
    """
    files = buckets[0].files
    rows = sum(file.row_count for bucket in buckets for file in bucket.live)
    return max(files.options.bucket.target_rows, -(-rows // max(_most_buckets(files) - 1, 1)))


def may_have_more_buckets(files: BucketFiles) -> bool:
    """Return whether a partition of the table may have more than one bucket."""
    return _most_buckets(files) > 1


def _most_buckets(files: BucketFiles) -> int:
    limit = files.options.bucket.max_dynamic_buckets
    return limit if limit > 0 else MAX_BUCKETS


def _portions(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[Iterator[pa.RecordBatch]]:
    """Yield portions of ``size`` rows; each must be consumed before the next."""
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
    """Write rows to a new bucket in key order, with its hash index. If that fails, the files are deleted."""
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
    """Return a sort with the memory of a writer; more rows are stored on disk, below ``directory``."""
    buffer_bytes = bucket.options.write.buffer_size
    return ExternalSort(partial(with_sort_key, key=key), buffer_bytes=buffer_bytes, directory=directory)


def _by_key(files: BucketFiles) -> SortKey:
    return SortKey(OrderStrategy.ORDER, files.schema.trimmed_primary_keys)


def key_hashes(files: BucketFiles, batch: pa.RecordBatch) -> Hashes:
    """Return the hash of the key of each row, which the hash index stores."""
    keys = files.schema.select(files.schema.trimmed_primary_keys)
    return row_hashes([f.type for f in keys], [batch.column(f.name) for f in keys])
