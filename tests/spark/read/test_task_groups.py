"""Size estimates of tables for Spark's optimizer: only small tables are broadcast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from table_format.options.spark_read import MERGED_READ
from table_format.spark.read.task_groups import MAX_ESTIMATE, estimated_size, task_numbers
from tests.spark.lakes import TestLake, plan_of

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string()), ("n", pa.int64())])
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"


@pytest.fixture
def threshold(lake: TestLake) -> Iterator[int]:
    lake.spark.conf.set(THRESHOLD, 200_000)
    yield 200_000
    lake.spark.conf.unset(THRESHOLD)


def merged_table(lake: TestLake, name: str, count: int) -> None:
    table = lake.create(name, schema=SCHEMA)
    for start in (0, 1):
        ids = range(start, start + count)
        table.append(pa.table({"id": ids, "v": [str(i * 7919) for i in ids], "n": ids}, schema=SCHEMA))


def size_of(frame: Any) -> int:
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


@pytest.mark.parametrize("way", ["positions", "merge"])
def test_a_large_table_is_not_broadcast_and_a_small_one_is(lake: TestLake, threshold: int, way: str) -> None:
    merged_table(lake, "large", 40_000)
    merged_table(lake, "small", 100)
    large, small = (lake.lake.table(f"s.{name}", **{MERGED_READ.key: way}) for name in ("large", "small"))
    assert size_of(small) < threshold < size_of(large)
    other = lake.spark.range(1_000_000).withColumnRenamed("id", "k")
    assert "BroadcastHashJoin" not in plan_of(other.join(large, other.k == large.id))
    assert "BroadcastHashJoin" in plan_of(other.join(small, other.k == small.id))
    assert large.join(small, "id").count() == 101


def test_the_size_of_task_results_is_estimated_from_the_rows_to_read(lake: TestLake) -> None:
    columns = StructType.fromDDL("id long, v string")
    size = estimated_size(columns, 5_000_000)
    # A row of a number and a string is estimated at 8 + 8 + 20 bytes.
    assert size == 5_000_000 * 36
    numbers = task_numbers(lake.spark, 7, size=size)
    assert sorted(row.id for row in numbers.collect()) == list(range(7))
    assert numbers.rdd.getNumPartitions() == 7
    read = numbers.mapInArrow(lambda batches: batches, columns)
    assert 0.99 < size_of(read) / size < 1.01
    assert size_of(task_numbers(lake.spark, 2, size=10**15)) == MAX_ESTIMATE
    assert [row.id for row in task_numbers(lake.spark, 3, size=0).collect()] == [0, 1, 2]
