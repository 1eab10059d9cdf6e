"""Postponed buckets: how many real buckets compaction makes of them (Java ``PostponeUtils``; format chapter 11, 4)."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.limits import MAX_BUCKETS, MIB
from table_format.options.declare import Operation, Option, unsupported
from table_format.options.values import MAX_LONG, boolean, integer, optional, size

DEFAULT_BUCKET_NUM = Option(
    "postpone.default-bucket-num",
    optional(integer(1, MAX_BUCKETS)),
    None,
    "Buckets of a partition whose rows are given their buckets for the first time, by a compaction of a table with "
    "'bucket' = '-2'. Without it the number follows from how much is postponed. A partition keeps the number it has.",
)
TARGET_ROWS = Option(
    "postpone.target-row-num-per-bucket",
    optional(integer(1, MAX_LONG)),
    None,
    "Postponed rows for each bucket, where 'postpone.default-bucket-num' is not given.",
)
TARGET_SIZE = Option(
    "postpone.target-size-per-bucket",
    size(1),
    1024 * MIB,
    "Size of postponed files for each bucket, where neither of the two is given.",
)


@dataclass(frozen=True, slots=True)
class PostponeOptions:
    """How many buckets a compaction of postponed rows makes."""

    default_bucket_num: int | None = DEFAULT_BUCKET_NUM.field()
    target_rows: int | None = TARGET_ROWS.field()
    target_size: int = TARGET_SIZE.field()

    def buckets_for(self, rows: int, file_bytes: int) -> int:
        """Real buckets of a partition that has none yet, for so many postponed rows in files of so many bytes.

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
        "Write batches straight to real buckets, as Java engines do by default. Here all rows are postponed.",
    ),
    unsupported(
        "postpone.merge-on-read", boolean, False, "Show postponed rows before they are compacted.", Operation.READ
    ),
)
