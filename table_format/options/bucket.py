"""How rows are spread over buckets (format chapter 11; Java ``BucketMode``)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.limits import MAX_BUCKETS
from table_format.options.declare import WRITES, Option, unsupported
from table_format.options.values import boolean, choice, integer, names

DYNAMIC_OR_UNAWARE = -1
POSTPONE = -2

BUCKET = Option(
    "bucket",
    integer(POSTPONE, MAX_BUCKETS),
    DYNAMIC_OR_UNAWARE,
    "Number of buckets of each partition. -1 is one bucket without order on an append table; -1 (dynamic bucket) and "
    "-2 (postpone) on a primary key table are not supported yet. May change only between positive numbers.",
)
BUCKET_KEY = Option(
    "bucket-key",
    names,
    (),
    "Columns whose hash picks the bucket; the primary key without partition columns when absent. Required for an "
    "append table with a positive number of buckets.",
    immutable=True,
)
BUCKET_FUNCTION = Option(
    "bucket-function.type",
    choice("default", "mod", "hive"),
    "default",
    "How the bucket follows from the bucket key: the hash of the format, the remainder of a single INT or BIGINT, or "
    "the hash of Hive.",
    immutable=True,
)
APPEND_ORDERED = Option(
    "bucket-append-ordered",
    boolean,
    True,
    "Keep the order of rows inside a bucket of an append table. 'false' would allow compaction to reorder; this "
    "version always keeps the order, which satisfies both.",
)
INDEX_IN_DATA_FILE_DIR = unsupported(
    "index-file-in-data-file-dir",
    boolean,
    False,
    "Put index files beside the data files.",
    *WRITES,
    immutable=True,
)


@dataclass(frozen=True, slots=True)
class BucketOptions:
    count: int = BUCKET.field()
    key: tuple[str, ...] = BUCKET_KEY.field()
    function: str = BUCKET_FUNCTION.field()
    append_ordered: bool = APPEND_ORDERED.field()
    index_in_data_file_dir: bool = INDEX_IN_DATA_FILE_DIR.field()
