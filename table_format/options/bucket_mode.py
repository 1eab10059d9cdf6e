"""How a table distributes its rows to buckets, as a type that callers match exhaustively (Java ``BucketMode``).

The option ``bucket`` is a number with two special values whose meaning depends on the primary key. Only this module
interprets it. All other code matches the mode, with ``assert_never`` after the last case, so that the type checker
finds every place that a new mode affects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from table_format.errors import InvalidOption
from table_format.model.schema import TableSchema
from table_format.options.bucket import BUCKET, DYNAMIC_OR_UNAWARE, POSTPONED, BucketOptions


@dataclass(frozen=True, slots=True)
class Fixed:
    """Each partition has ``count`` buckets; the hash of the bucket key picks one."""

    count: int


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A hash index of each partition records the bucket of each key; new keys fill buckets up to a number of rows."""


@dataclass(frozen=True, slots=True)
class Unaware:
    """An append table without buckets: rows of a partition have no order, and writers do not conflict."""


@dataclass(frozen=True, slots=True)
class Postponed:
    """Rows of a primary key table stay in the postpone bucket until a compaction assigns their buckets."""


@dataclass(frozen=True, slots=True)
class CrossPartition:
    """The primary key lacks partition columns: each key has one partition and bucket, which an index of all keys
    records.
    """


BucketMode: TypeAlias = Fixed | Dynamic | Unaware | Postponed | CrossPartition


def bucket_mode(schema: TableSchema, options: BucketOptions) -> BucketMode:
    """Return the bucket mode of a table.

    >>> bucket_mode(TableSchema(id=0, fields=(), highest_field_id=-1), BucketOptions(count=4))
    Fixed(count=4)

    Raises:
        InvalidOption: ``bucket`` is 0.
    """
    count = options.count
    if count == POSTPONED:
        return Postponed()
    if count == 0:
        raise InvalidOption(BUCKET.key, "0 is not a number of buckets; it takes a positive number or -1")
    if count != DYNAMIC_OR_UNAWARE:
        return Fixed(count)
    if not schema.is_primary_key_table:
        return Unaware()
    return CrossPartition() if schema.is_cross_partition else Dynamic()


def check_cross_partition_mode(schema: TableSchema, options: BucketOptions) -> None:
    """Refuse fixed or postponed buckets if the primary key lacks partition columns.

    Raises:
        InvalidOption: names the partition columns and the value of ``bucket`` that the key requires.
    """
    if schema.is_cross_partition and options.count != DYNAMIC_OR_UNAWARE:
        outside = ", ".join(key for key in schema.partition_keys if key not in schema.primary_keys)
        message = (
            f"is {options.count} and the primary key lacks the partition columns {outside}: a key is looked for in all "
            f"partitions, which takes '{BUCKET.key}' = {DYNAMIC_OR_UNAWARE}; set it, or add the columns to the primary "
            "key"
        )
        raise InvalidOption(BUCKET.key, message)


def total_buckets(mode: BucketMode) -> int:
    """Return the number of buckets that manifests record for files written in this mode."""
    match mode:
        case Fixed(count):
            return count
        case Dynamic() | Unaware() | CrossPartition():
            return DYNAMIC_OR_UNAWARE
        case Postponed():
            return POSTPONED
    assert_never(mode)


def is_bucketed(mode: BucketMode) -> bool:
    """Return whether the bucket of a row matters: buckets have their own order, and two writers may conflict in one."""
    match mode:
        case Fixed() | Dynamic() | Postponed() | CrossPartition():
            return True
        case Unaware():
            return False
    assert_never(mode)


def extends_buckets(mode: BucketMode) -> bool:
    """Return whether a writer must know the contents of its bucket, for sequence numbers and compaction."""
    match mode:
        case Fixed() | Dynamic() | CrossPartition():
            return True
        case Unaware() | Postponed():
            return False
    assert_never(mode)
