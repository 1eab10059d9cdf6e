"""Chooses the number of tasks that write a DataFrame from Spark's size estimate. Nothing is run."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from table_format.options.bucket_mode import Fixed
from table_format.spark.read.jvm_plans import JavaObject, class_name
from table_format.spark.tasks.code_shipping import is_connect
from table_format.table.facts import TableFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL_BYTES: Final = 16 << 20
"""One task writes a DataFrame that Spark expects to be smaller, because a shuffle costs more than it gains."""

SMALL_CROSS_PARTITION_BYTES: Final = 128 << 20
"""The same limit for cross-partition tables, where each assigner maintains its own index."""

TASK_BYTES: Final = 32 << 20
"""The minimum input of a writing task by Spark's estimate, once every core has a task. A Python task costs 50 ms, so
few rows of a table with many buckets are written by few tasks, each of which writes many buckets.
"""

WIDEST_VALUE: Final = 16
"""The maximum bytes of a value of fixed width: a decimal."""

_ROW_BYTES: Final = 64
"""The assumed size of a row of a table if only the row count is known."""

_SIZE: Final = re.compile(r"Statistics\(sizeInBytes=([\d.]+(?:E\+\d+)?) (\w+)")
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
"""How Spark writes an estimated size in the text of a plan."""

_UNKNOWN_BYTES: Final = 1 << 50
"""Spark estimates more than this for rows of unknown size: the largest BIGINT, or a fraction of it."""


@dataclass(frozen=True, slots=True)
class WritingTasks:
    """The number of writing tasks. ``why_one`` says why a single task is cheaper than any exchange, if it is."""

    count: int
    why_one: str | None = None


def writing_tasks(frame: DataFrame, facts: TableFacts, parallelism: int | None) -> WritingTasks:
    """Return the tasks that write a DataFrame. The caller may request their number."""
    if parallelism is not None:
        return WritingTasks(parallelism)
    mode = facts.bucket_mode
    if not isinstance(mode, Fixed):
        return WritingTasks(1)
    size = expected_bytes(frame)
    why_one = _why_one(frame, size, SMALL_BYTES)
    if why_one is not None:
        return WritingTasks(1, why_one)
    # Partitions have separate buckets, so the limit is that of any other shuffle of the session.
    most = (shuffle_partitions(frame) or mode.count) if facts.schema.partition_keys else mode.count
    return WritingTasks(task_count(size, most, cores(frame.sparkSession)))


def task_count(size: int | None, most: int, cores: int) -> int:
    """Return the number of tasks for rows of a size, if it is known; ``most`` is the maximum.

    >>> task_count(100 << 20, 500, 2), task_count(10 << 30, 500, 2), task_count(10 << 30, 4, 16), task_count(None, 8, 2)
    (4, 320, 4, 8)
    """
    return most if size is None else min(most, max(cores, -(-size // TASK_BYTES)))


def cores(spark: SparkSession) -> int:
    """Return how many tasks run in parallel."""
    return 1 if is_connect(spark) else int(spark.sparkContext.defaultParallelism)


def shuffle_partitions(frame: DataFrame) -> int:
    """Return the number of tasks of a shuffle of the session."""
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 0)


def is_shared(frame: DataFrame, parallelism: int | None, small_bytes: int = SMALL_BYTES) -> bool:
    """Return whether several tasks assign the places of keys. ``parallelism`` is the request of the caller."""
    return not is_small(frame, small_bytes) if parallelism is None else parallelism != 1


def is_small(frame: DataFrame, small_bytes: int = SMALL_BYTES) -> bool:
    """Return whether Spark expects a DataFrame to be smaller."""
    return _why_one(frame, expected_bytes(frame), small_bytes) is not None


def _why_one(frame: DataFrame, size: int | None, small_bytes: int) -> str | None:
    if size is not None and size < small_bytes:
        return "there are few rows, which one task writes without a shuffle"
    if size is not None and size > _UNKNOWN_BYTES and _is_of_one_task(frame):
        return "one task produces all rows"
    return None


def _is_of_one_task(frame: DataFrame) -> bool:
    """Return whether one task produces all rows, as in most micro-batches, whose size Spark does not know.

    It can write them as fast as it produces them. An exchange would cost more than the rest of a small micro-batch.
    """
    plan: JavaObject = frame._jdf.queryExecution().analyzed()
    while class_name(plan) == "Project":
        plan = plan.child()
    return bool(class_name(plan) == "LogicalRDD" and plan.rdd().getNumPartitions() == 1)


def expected_bytes(frame: DataFrame) -> int | None:
    """Return the size of a DataFrame by Spark's estimate; ``None`` if it is unknown."""
    if is_connect(frame.sparkSession):
        # Of rows that tasks of this library merge, Spark sees only the numbers of these tasks.
        return None if has_python_on_connect(frame) else _explained_bytes(frame)
    size = int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
    # If tasks of this library merge rows, Spark sees only the numbers of these tasks.
    return max(size, _table_bytes(frame)) if size < SMALL_CROSS_PARTITION_BYTES and _has_python(frame) else size


def _has_python(frame: DataFrame) -> bool:
    return has_python(frame.sparkSession, frame._jdf)


def has_python(spark: SparkSession, plan: JavaObject) -> bool:
    """Return whether a plan of a classic session contains Python functions."""
    jvm: JavaObject = spark._jvm
    pattern = jvm.org.apache.spark.sql.catalyst.trees.TreePattern.PYTHON_UDF()
    return bool(plan.queryExecution().analyzed().containsPattern(pattern))


def has_python_on_connect(frame: DataFrame) -> bool:
    """Return whether the plan of a Connect session contains Python functions.

    Every Python function of a plan contains its Python version. Another text may contain it too, which only costs
    speed.
    """
    plan: Any = cast("Any", frame)._plan
    version = f"{sys.version_info.major}.{sys.version_info.minor}".encode()
    return version in plan.to_proto(frame.sparkSession.client).SerializeToString()


def _explained_bytes(frame: DataFrame) -> int | None:
    """Return Spark's estimate for a DataFrame of Connect, which only the text of its plan shows."""
    size = bytes_in_plan(cast("Any", frame)._explain_string(mode="cost"))
    return None if size is None or size > _UNKNOWN_BYTES else size


def bytes_in_plan(text: str) -> int | None:
    """Return the estimated size of the result, from the text of a plan with costs; ``None`` if it has none.

    >>> bytes_in_plan("Project [id], Statistics(sizeInBytes=1.5 KiB)\\n+- Range, Statistics(sizeInBytes=8.0 EiB)")
    1536
    """
    found = _SIZE.search(text)
    return None if found is None else int(float(found.group(1)) * 1024 ** _UNITS.index(found.group(2)))


def lengths_of(columns: Sequence[str]) -> str:
    """Return the total length of some strings of a row as SQL, in bytes. The names are plain.

    >>> lengths_of(["c0", "c1"])
    '(coalesce(octet_length(c0), 0L) + coalesce(octet_length(c1), 0L))'
    """
    # In pairs, because Spark's parser needs stack space for each level.
    half = len(columns) // 2
    if half == 0:
        return f"coalesce(octet_length({columns[0]}), 0L)"
    return f"({lengths_of(columns[:half])} + {lengths_of(columns[half:])})"


def _table_bytes(frame: DataFrame) -> int:
    """Estimate the size of the tables that a DataFrame remembers."""
    snapshots = [scan.start.snapshot for scan in getattr(frame, "_scans", {}).values()]
    return sum((found.total_record_count or 0) * _ROW_BYTES for found in snapshots if found is not None)
