"""The options that each kind of call ignores. A call refuses the options that it ignores by name.

A table may have them all, for its other readers and writers.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from table_format.errors import InvalidOption
from table_format.options import (
    bucket,
    compaction,
    deletion_vectors,
    expire,
    file_index,
    files,
    merge,
    scan,
    spark_read,
    spark_stream,
    stream,
)
from table_format.options.changelog import ChangelogOptions
from table_format.options.commit import CommitOptions
from table_format.options.declare import AnyOption, declared_in
from table_format.options.manifest import ManifestOptions
from table_format.options.partitions import PartitionOptions
from table_format.options.postpone import PostponeOptions
from table_format.options.preconditions import is_default
from table_format.options.registry import find
from table_format.options.tags import TagOptions
from table_format.options.write import WriteOptions


class Reader(StrEnum):
    """A reader of the options of one call."""

    BATCH = "a batch read"
    STREAM = "a stream in Python"
    SPARK_STREAM = "a streaming query of Spark"
    WRITE = "a write"


def _all_but(group: type[object], *read: AnyOption) -> tuple[AnyOption, ...]:
    """Return the options of a group without those in ``read``, which reads use."""
    return tuple(option for option in declared_in(group) if option not in read)


_OF_STREAMS: Final[tuple[AnyOption, ...]] = (
    stream.OVERWRITE,
    stream.APPEND_OVERWRITE,
    stream.DELAY,
    stream.BOUNDED_WATERMARK,
    stream.CONSUMER_ID,
    stream.CONSUMER_MODE,
    stream.IGNORE_PROGRESS,
)
_OF_QUERIES: Final = tuple(declared_in(spark_stream.SparkStreamOptions))
_OF_STATES: Final[tuple[AnyOption, ...]] = (scan.FALLBACK_BRANCH, spark_read.MERGED_READ)
_OF_SCANS: Final[tuple[AnyOption, ...]] = (
    scan.MODE,
    *scan.STARTING_POINTS,
    scan.INCREMENTAL_SCAN_MODE,
    scan.INCREMENTAL_TAG_TO_SNAPSHOT,
)
_OF_WRITES: Final[tuple[AnyOption, ...]] = (
    *declared_in(PostponeOptions),
    *declared_in(ManifestOptions),
    *declared_in(WriteOptions),
    *declared_in(CommitOptions),
    *declared_in(ChangelogOptions),
    *declared_in(PartitionOptions),
    *declared_in(TagOptions),
    *_all_but(
        expire.ExpireOptions,
        # They decide whether a reader looks for changes of expired snapshots.
        expire.CHANGELOG_NUM_RETAINED_MIN,
        expire.CHANGELOG_NUM_RETAINED_MAX,
        expire.CHANGELOG_TIME_RETAINED,
        expire.NUM_RETAINED_MIN,
        expire.NUM_RETAINED_MAX,
        expire.TIME_RETAINED,
    ),
    *_all_but(
        bucket.BucketOptions,
        bucket.BUCKET,
        bucket.BUCKET_KEY,
        bucket.BUCKET_FUNCTION,
        bucket.INDEX_IN_DATA_FILE_DIR,
    ),
    *_all_but(files.FileOptions, *files.PARTITION_NAME_OPTIONS, files.PATH_DIRECTORY, files.EXTERNAL_PATHS),
    *_all_but(file_index.FileIndexOptions, file_index.READ_ENABLED),
    *_all_but(
        compaction.CompactionOptions,
        # The number of levels tells which files are fully compacted.
        compaction.NUM_LEVELS,
        compaction.TRIGGER,
        compaction.FULL_COMPACTION_DELTA_COMMITS,
    ),
    deletion_vectors.BITMAP64,
    deletion_vectors.MODIFIABLE,
    deletion_vectors.INDEX_FILE_TARGET_SIZE,
    merge.IGNORE_UPDATE_BEFORE,
    merge.ROWKIND_FIELD,
)

UNREAD: Final[Mapping[Reader, tuple[AnyOption, ...]]] = {
    Reader.BATCH: (*_OF_STREAMS, *_OF_QUERIES, *_OF_WRITES),
    Reader.STREAM: (*_OF_QUERIES, *_OF_STATES, *_OF_WRITES),
    # Its progress is what micro-batches have committed.
    Reader.SPARK_STREAM: (*_OF_STATES, stream.CONSUMER_MODE, *_OF_WRITES),
    Reader.WRITE: (*_OF_STREAMS, *_OF_QUERIES, *_OF_STATES, *_OF_SCANS),
}
"""The options that each reader ignores."""


def refuse_unread(options: Mapping[str, str], reader: Reader) -> None:
    """Refuse options of one call that it would ignore.

    Raises:
        InvalidOption: names the option and the reader that ignores it.
    """
    for key, value in options.items():
        option = find(key)
        if option in UNREAD[reader] and not is_default(option, key, value):
            raise InvalidOption(key, f"would have no effect on {reader.value}; leave it out")


def shown_readers(option: AnyOption) -> str:
    """Return the calls that ignore an option as text for the documentation; empty if there are none.

    >>> shown_readers(stream.CONSUMER_ID), shown_readers(compaction.WRITE_ONLY), shown_readers(file_index.READ_ENABLED)
    ('a batch read or a write', 'a read', '')
    """
    found = [reader for reader in Reader if option in UNREAD[reader]]
    if set(found) == set(Reader) - {Reader.WRITE}:
        return "a read"
    return " or ".join(reader.value for reader in found)
