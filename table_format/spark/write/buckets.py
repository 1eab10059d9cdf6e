"""Computes the bucket of each row as a Spark column, by which rows are shuffled (format chapter 05, section 5).

A key that is a single integer, the usual case, is hashed with Spark's own functions and stays in the JVM. All other
keys are hashed by the kernel of this library in an Arrow function. Both return the same buckets, and the writing task
computes them again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import DateType as SparkDateType
from pyspark.sql.types import IntegerType, IntegralType

from table_format.errors import InvalidData
from table_format.model.types import BigIntType, DataField, DateType, IntType
from table_format.spark.names import quoted
from table_format.spark.write.named_rows import NamedRows
from table_format.table.facts import TableFacts
from table_format.table.placement.routing import bucket_numbers
from table_format.table.rows.casts import cast_column

if TYPE_CHECKING:
    from pyspark.sql import Column

TASK: Final = "__task__"

_WORD: Final = 0xFFFFFFFF


def one_task_for_each_bucket(rows: NamedRows, facts: TableFacts, bucket: Column, tasks: int) -> NamedRows:
    """Shuffle rows to ``tasks`` tasks, with all rows of a bucket of a partition in one task."""
    numbered = rows.frame.withColumn(TASK, task_of(rows, facts, bucket, tasks))
    return rows.over(numbered.repartitionById(tasks, TASK).drop(TASK))


def task_of(rows: NamedRows, facts: TableFacts, bucket: Column, tasks: int) -> Column:
    """Return the number of the task for the rows of a bucket of a partition, out of ``tasks``."""
    target = bucket.cast("bigint")
    if facts.schema.partition_keys:
        target = F.hash(*(rows.column(key) for key in facts.schema.partition_keys)).cast("bigint") + target
    return F.pmod(target, F.lit(tasks)).cast("int")


def with_bucket(rows: NamedRows, facts: TableFacts, count: int, name: str) -> NamedRows:
    """Return the rows with a column ``name`` that holds the bucket, for a table with ``count`` buckets."""
    fields = facts.schema.select(facts.schema.bucket_keys)
    return with_number(rows, fields, count, name, function=facts.options.bucket.function)


def with_number(
    rows: NamedRows, fields: Sequence[DataField], count: int, name: str, *, function: str = "default"
) -> NamedRows:
    """Return the rows with a column ``name`` that maps key columns to ``count`` numbers with a bucket function."""
    if function == "default" and len(fields) == 1 and _is_native(rows, fields[0]):
        return _with_native_bucket(rows, fields[0], count, name)
    # The stubs lack that annotations determine the kind of function.
    numbered = cast("Any", arrow_udf)(bucket_function(fields, count, function), IntegerType())
    return rows.over(rows.frame.withColumn(name, numbered(*(rows.column(f.name) for f in fields))))


def bucket_function(fields: Sequence[DataField], count: int, function: str) -> Callable[..., pa.Array]:
    """Return a function from arrays of bucket key columns to the bucket of each row, out of ``count``."""

    def buckets(*columns: pa.Array) -> pa.Array:
        try:
            arrays = [cast_column(c, f.type, f.name) for c, f in zip(columns, fields, strict=True)]
        except InvalidData:
            # No bucket is right for these rows: the task that writes them raises the error.
            return pa.repeat(pa.scalar(0, pa.int32()), len(columns[0]))
        return pa.array(bucket_numbers(fields, arrays, count, function)).cast(pa.int32())

    return buckets


# --- the same with Spark functions -----------------------------------------------------------------------------------
#
# The format hashes the row of the key: 8 bytes of header, all 0 without nulls, then 8 bytes of value, little endian, by
# murmur3 with seed 42. Spark's hash(a, b) hashes b with the hash of a as its seed, and each hash ends with the length
# (4 or 8 for whole numbers) and an avalanche. So the header becomes a number whose hash is the state after it. Then the
# last avalanche is undone, the length 8 is changed to 16, and the avalanche is repeated.

_SEED: Final = 42
_M1: Final = 0x85EBCA6B
_M2: Final = 0xC2B2AE35


def _is_native(rows: NamedRows, field: DataField) -> bool:
    """Return whether Spark's functions get the value that will be stored. The kernel makes all other conversions."""
    given = rows.type_of(field.name)
    whole = isinstance(field.type, IntType | BigIntType) and isinstance(given, IntegralType)
    day = isinstance(field.type, DateType) and isinstance(given, SparkDateType)
    return (whole or day) and not field.type.nullable


def _with_native_bucket(rows: NamedRows, field: DataField, bucket_count: int, name: str) -> NamedRows:
    frame, key, h = rows.frame, rows.plain(field.name), quoted(name)
    value = f"CAST({f'unix_date({key})' if isinstance(field.type, DateType) else key} AS BIGINT)"
    if not isinstance(field.type, BigIntType):
        value = f"({value} & {_WORD}L)"
    steps = (
        f"CAST(hash({_signed(_header_as_number())}, {value}) AS BIGINT) & {_WORD}L",
        # the avalanche backwards
        _times(f"({h} ^ shiftright({h}, 16))", pow(_M2, -1, 1 << 32)),
        _times(f"({h} ^ shiftright({h}, 13) ^ shiftright({h}, 26))", pow(_M1, -1, 1 << 32)),
        f"{h} ^ shiftright({h}, 16) ^ {8 ^ 16}L",
        # and forwards
        _times(f"({h} ^ shiftright({h}, 16))", _M1),
        _times(f"({h} ^ shiftright({h}, 13))", _M2),
        # The hash is a signed number of 32 bits, and its remainder has its sign.
        f"CAST(abs(shiftright(shiftleft({h} ^ shiftright({h}, 16), 32), 32) % {bucket_count}L) AS INT)",
    )
    # Each step uses the previous one several times. In one expression, the work would double with every step.
    for step in steps:
        frame = frame.withColumn(name, F.expr(step))
    return rows.over(frame)


def _times(h: str, factor: int) -> str:
    """Return the product modulo 2**32 without overflowing 64 bits, which is an error in Spark."""
    low, high = factor & 0xFFFF, factor >> 16
    return f"({h} * {low}L + shiftleft(({h} * {high}L) & {0xFFFF}L, 16)) & {_WORD}L"


def _header_as_number() -> int:
    """Return the INT whose Spark hash is the state of the format's hash after the header."""
    state = _SEED
    for _ in range(2):
        state = _mixed(state, 0)
    h = state
    # Backwards: the avalanche of a 4-byte hash, the mixing of its word, the mixing into the seed.
    h ^= h >> 16
    h = h * pow(_M2, -1, 1 << 32) & _WORD
    h ^= (h >> 13) ^ (h >> 26)
    h = h * pow(_M1, -1, 1 << 32) & _WORD
    h ^= h >> 16
    h ^= 4
    h = (h - 0xE6546B64) * pow(5, -1, 1 << 32) & _WORD
    word = _rotated(h, 32 - 13) ^ _SEED
    word = word * pow(0x1B873593, -1, 1 << 32) & _WORD
    return _rotated(word, 32 - 15) * pow(0xCC9E2D51, -1, 1 << 32) & _WORD


def _mixed(state: int, word: int) -> int:
    word = _rotated(word * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
    return (_rotated(state ^ word, 13) * 5 + 0xE6546B64) & _WORD


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _WORD


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value
