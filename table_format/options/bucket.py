"""How rows are distributed to buckets (format chapter 11; Java ``BucketMode``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from table_format.limits import MAX_BUCKETS
from table_format.options.declare import Option
from table_format.options.values import boolean, choice, duration, integer, names, optional

DYNAMIC_OR_UNAWARE: Final = -1
POSTPONED: Final = -2
"""Special values of the option ``bucket``. What they mean for a table is its ``bucket_mode``."""

BUCKET = Option(
    "bucket",
    integer(POSTPONED, MAX_BUCKETS),
    DYNAMIC_OR_UNAWARE,
    "Number of buckets per partition. -1 means one unordered bucket on an append table, and dynamic buckets on a "
    "primary-key table, as many as 'dynamic-bucket.target-row-num' requires. -2 (postpone) defers the bucket "
    "assignment of a primary-key table to a compaction. The value can change only between positive numbers; a "
    "partition keeps its number until it is overwritten or rescaled.",
)
BUCKET_KEY = Option(
    "bucket-key",
    names,
    (),
    "Columns whose hash determines the bucket; by default the primary key without the partition columns. Required for "
    "an append table with a positive number of buckets.",
    immutable=True,
)
BUCKET_FUNCTION = Option(
    "bucket-function.type",
    choice("default", "mod", "hive"),
    "default",
    "How the bucket is computed from the bucket key: with the hash function of the format, as the remainder of a "
    "single INT or BIGINT, or with the hash function of Hive.",
    immutable=True,
)
APPEND_ORDERED = Option(
    "bucket-append-ordered",
    boolean,
    True,
    "Keep the order of rows inside a bucket of an append table. 'false' allows compaction to reorder rows, but this "
    "version always keeps the order.",
    hint=True,
)
TARGET_ROWS = Option(
    "dynamic-bucket.target-row-num",
    integer(1),
    2_000_000,
    "Number of keys at which a dynamic bucket is full. Further new keys go to another bucket.",
)
INITIAL_BUCKETS = Option(
    "dynamic-bucket.initial-buckets",
    optional(integer(1, MAX_BUCKETS - 1)),
    None,
    "Number of dynamic buckets that are filled in parallel from the start; also the maximum number of assigners.",
    immutable=True,
)
_LIMIT: Final = integer(-1, MAX_BUCKETS)
MAX_DYNAMIC = Option(
    "dynamic-bucket.max-buckets",
    replace(_LIMIT, stored=lambda text: str(_LIMIT(text) or -1)),
    -1,
    "Maximum number of dynamic buckets of a partition. When all are full, further keys go to any of them. -1 means no "
    "limit, and so does 0, which is stored as -1.",
)
ASSIGNER_PARALLELISM = Option(
    "dynamic-bucket.assigner-parallelism",
    optional(integer(1)),
    None,
    "Number of Spark tasks that assign buckets to keys, at most the maximum number of buckets. Each task owns the keys "
    "whose hash modulo this number equals its own number.",
    honoured=range(1, MAX_BUCKETS + 1),
)
INDEX_TTL = Option(
    "cross-partition-upsert.index-ttl",
    optional(duration),
    None,
    "How long after its last write a key is still looked up in other partitions, if the primary key lacks partition "
    "columns. A key that arrives later is treated as new, and its old row remains as a duplicate.",
)
BOOTSTRAP_PARALLELISM = Option(
    "cross-partition-upsert.bootstrap-parallelism",
    integer(1),
    10,
    "Number of splits that are read in parallel when the local key index is built. Apache Paimon takes the memory of "
    "two pages for each.",
    honoured=range(1, 1025),
)
INDEX_IN_DATA_FILE_DIR = Option(
    "index-file-in-data-file-dir",
    boolean,
    False,
    "Store deletion vectors and hash indexes next to the data files of their bucket instead of in the directory "
    "'index'. Readers of version 0.9 do not find them there.",
    immutable=True,
)


@dataclass(frozen=True, slots=True)
class BucketOptions:
    """How rows get their bucket."""

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
