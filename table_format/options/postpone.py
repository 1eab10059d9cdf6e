"""Postponed buckets: how many real buckets compaction creates (Java ``PostponeUtils``; format chapter 11, 4)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.limits import MAX_BUCKETS, MIB
from table_format.options.declare import Operation, Option, unsupported
from table_format.options.values import MAX_LONG, boolean, integer, optional, size

DEFAULT_BUCKET_NUM = Option(
    "postpone.default-bucket-num",
    optional(integer(1, MAX_BUCKETS)),
    None,
    "Number of buckets of a partition when a compaction of a table with 'bucket' = '-2' assigns them for the first "
    "time. Without it, the number is computed from the postponed rows. A partition keeps its number.",
)
TARGET_ROWS = Option(
    "postpone.target-row-num-per-bucket",
    optional(integer(1, MAX_LONG)),
    None,
    "Number of postponed rows per bucket, if 'postpone.default-bucket-num' is not set.",
)
TARGET_SIZE = Option(
    "postpone.target-size-per-bucket",
    size(1),
    1024 * MIB,
    "Size of postponed files per bucket, if neither of these two options is set.",
)


@dataclass(frozen=True, slots=True)
class PostponeOptions:
    """How many buckets a compaction of postponed rows creates."""

    default_bucket_num: int | None = DEFAULT_BUCKET_NUM.field()
    target_rows: int | None = TARGET_ROWS.field()
    target_size: int = TARGET_SIZE.field()

    def buckets_for(self, rows: int, file_bytes: int) -> int:
        """Return the number of real buckets of a new partition, for a number of postponed rows and bytes of their
        files.

        >>> o = PostponeOptions(target_rows=10)
        >>> o.buckets_for(0, 0), o.buckets_for(10, 1), o.buckets_for(11, 1), PostponeOptions().buckets_for(11, 1)
        (1, 1, 2, 1)
        >>> PostponeOptions(target_size=100).buckets_for(1, 201)
        3
        """
        if self.default_bucket_num is not None:
            return self.default_bucket_num
        value, target = (file_bytes, self.target_size) if self.target_rows is None else (rows, self.target_rows)
        return min(max(1, -(-value // target)), MAX_BUCKETS)


REFUSED = (
    unsupported(
        "postpone.batch-write-fixed-bucket",
        boolean,
        False,
        "Write batches directly to real buckets, as Java engines do by default. This library postpones all rows.",
    ),
    unsupported(
        "postpone.merge-on-read", boolean, False, "Return postponed rows before they are compacted.", Operation.READ
    ),
)
