"""How rows are spread over buckets (format chapter 11; Java ``BucketMode``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_format.limits import MAX_BUCKETS
from table_format.options.declare import WRITES, Option, unsupported
from table_format.options.values import boolean, choice, duration, integer, names, optional

DYNAMIC_OR_UNAWARE: Final = -1
POSTPONED: Final = -2
"""Special values of the option ``bucket``. What they mean for a table is its ``bucket_mode``."""

BUCKET = Option(
    "bucket",
    integer(POSTPONED, MAX_BUCKETS),
    DYNAMIC_OR_UNAWARE,
    "Number of buckets of each partition. -1 is one bucket without order on an append table; on a primary key table it "
    "means dynamic buckets, as many as 'dynamic-bucket.target-row-num' asks for. -2 (postpone) puts rows of a primary "
    "key table aside until a compaction gives them their buckets. May change only between positive numbers; partitions "
    "keep theirs until they are overwritten or rescaled.",
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
TARGET_ROWS = Option(
    "dynamic-bucket.target-row-num",
    integer(1),
    2_000_000,
    "Keys after which a dynamic bucket is full and a new key goes to another.",
)
INITIAL_BUCKETS = Option(
    "dynamic-bucket.initial-buckets",
    optional(integer(1, MAX_BUCKETS - 1)),
    None,
    "Dynamic buckets that are filled side by side from the start; with them, assigners at most.",
    immutable=True,
)
MAX_DYNAMIC = Option(
    "dynamic-bucket.max-buckets",
    integer(-1, MAX_BUCKETS),
    -1,
    "Dynamic buckets of a partition at most; beyond it full buckets take more keys. -1 and 0 mean no limit.",
)
ASSIGNER_PARALLELISM = Option(
    "dynamic-bucket.assigner-parallelism",
    optional(integer(1)),
    None,
    "Tasks of a Spark job that give keys their buckets; each owns the hashes that leave its number as remainder.",
)
INDEX_TTL = Option(
    "cross-partition-upsert.index-ttl",
    optional(duration),
    None,
    "How long after it was last written a key is still looked up in other partitions, where the primary key lacks "
    "partition columns. A key that comes later is taken for a new one, and its old row stays where it is: a duplicate.",
)
BOOTSTRAP_PARALLELISM = Option(
    "cross-partition-upsert.bootstrap-parallelism",
    integer(1),
    10,
    "Splits read side by side when the local index of such a table is built.",
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
    """How rows find their bucket."""

    count: int = BUCKET.field()
    key: tuple[str, ...] = BUCKET_KEY.field()
    function: str = BUCKET_FUNCTION.field()
    append_ordered: bool = APPEND_ORDERED.field()
    index_in_data_file_dir: bool = INDEX_IN_DATA_FILE_DIR.field()
    target_rows: int = TARGET_ROWS.field()
    initial_buckets: int | None = INITIAL_BUCKETS.field()
    max_dynamic_buckets: int = MAX_DYNAMIC.field()
    assigner_parallelism: int | None = ASSIGNER_PARALLELISM.field()
    index_ttl_ms: int | None = INDEX_TTL.field()
    bootstrap_parallelism: int = BOOTSTRAP_PARALLELISM.field()
