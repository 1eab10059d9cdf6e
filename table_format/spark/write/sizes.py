"""Chooses the number of tasks that write a frame, from Spark's size estimate; nothing is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from table_format.options.bucket_mode import Fixed
from table_format.spark.read.jvm_plans import JavaObject, class_name
from table_format.spark.tasks.code_shipping import is_connect
from table_format.table.facts import TableFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL_BYTES: Final = 16 << 20
"""A frame that Spark expects to be smaller is written by one task: a shuffle costs more than it gains."""

SMALL_CROSS_PARTITION_BYTES: Final = 128 << 20
"""The same where keys may change their partition: each assigner then keeps an index of its own."""

TASK_BYTES: Final = 32 << 20
"""What a writing task takes at least, by Spark's estimate, once every core has one. A task in Python costs a twentieth
of a second, so few rows of a table with many buckets are written by few tasks, each of which writes many buckets."""

_ROW_BYTES: Final = 64
"""A guess at the size of a row of a table, of which only the number of rows is known."""

_UNKNOWN_BYTES: Final = 1 << 50
"""Spark estimates more than this for rows of unknown size: the largest BIGINT, or a fraction of it."""


@dataclass(frozen=True, slots=True)
class WritingTasks:
    """The number of writing tasks. ``why_one`` says why a single task is cheaper than any exchange, if it is."""

    count: int
    why_one: str | None = None


def writing_tasks(frame: DataFrame, facts: TableFacts, parallelism: int | None) -> WritingTasks:
    """The tasks that write a frame, of which the caller may want so many."""
    if parallelism is not None:
        return WritingTasks(parallelism)
    mode = facts.bucket_mode
    if not isinstance(mode, Fixed):
        return WritingTasks(1)
    size = expected_bytes(frame)
    why_one = _why_one(frame, size, SMALL_BYTES)
    if why_one is not None:
        return WritingTasks(1, why_one)
    # Partitions have buckets of their own: as many tasks as any other shuffle of the session has.
    most = (shuffle_partitions(frame) or mode.count) if facts.schema.partition_keys else mode.count
    return WritingTasks(task_count(size, most, cores(frame.sparkSession)))


def task_count(size: int | None, most: int, cores: int) -> int:
    """The tasks for rows of a size, if that is known, where so many tasks at most have something to write.

    >>> task_count(100 << 20, 500, 2), task_count(10 << 30, 500, 2), task_count(10 << 30, 4, 16), task_count(None, 8, 2)
    (4, 320, 4, 8)
    """
    return most if size is None else min(most, max(cores, -(-size // TASK_BYTES)))


def cores(spark: SparkSession) -> int:
    """Tasks that run side by side."""
    return 1 if is_connect(spark) else int(spark.sparkContext.defaultParallelism)


def shuffle_partitions(frame: DataFrame) -> int:
    """The tasks of a shuffle of the session."""
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 0)


def is_shared(frame: DataFrame, parallelism: int | None, small_bytes: int = SMALL_BYTES) -> bool:
    """Whether several tasks give keys their places; ``parallelism`` is what the caller asked for."""
    return not is_small(frame, small_bytes) if parallelism is None else parallelism != 1


def is_small(frame: DataFrame, small_bytes: int = SMALL_BYTES) -> bool:
    """Whether a frame is expected to be smaller. A Connect client has no estimate."""
    return _why_one(frame, expected_bytes(frame), small_bytes) is not None


def _why_one(frame: DataFrame, size: int | None, small_bytes: int) -> str | None:
    if size is not None and size < small_bytes:
        return "few rows, which one task takes from where they are"
    if size is not None and size > _UNKNOWN_BYTES and _is_of_one_task(frame):
        return "one task produces all rows"
    return None


def _is_of_one_task(frame: DataFrame) -> bool:
    """Whether one task produces all rows, as in most micro-batches, whose size Spark does not know.

    It can write them as fast as it produces them. An exchange would cost more than the rest of a small micro-batch.
    """
    plan: JavaObject = frame._jdf.queryExecution().analyzed()
    while class_name(plan) == "Project":
        plan = plan.child()
    return bool(class_name(plan) == "LogicalRDD" and plan.rdd().getNumPartitions() == 1)


def expected_bytes(frame: DataFrame) -> int | None:
    """The size of a frame by Spark's own estimate; ``None`` on Connect."""
    if is_connect(frame.sparkSession):
        return None
    size = int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
    # Of rows that tasks of the library merge Spark sees only the numbers of these tasks.
    return max(size, _table_bytes(frame)) if size < SMALL_CROSS_PARTITION_BYTES and _has_python(frame) else size


def _has_python(frame: DataFrame) -> bool:
    return has_python(frame.sparkSession, frame._jdf)


def has_python(spark: SparkSession, plan: JavaObject) -> bool:
    """Whether functions in Python take part in a plan of a classic session."""
    jvm: JavaObject = spark._jvm
    pattern = jvm.org.apache.spark.sql.catalyst.trees.TreePattern.PYTHON_UDF()
    return bool(plan.queryExecution().analyzed().containsPattern(pattern))


def _table_bytes(frame: DataFrame) -> int:
    """A guess at the size of the tables that a frame remembers to be made of."""
    snapshots = [scan.start.snapshot for scan in getattr(frame, "_scans", {}).values()]
    return sum((found.total_record_count or 0) * _ROW_BYTES for found in snapshots if found is not None)
