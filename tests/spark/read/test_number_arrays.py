"""An array of numbers as a column of a classic session. Reads with deletion vectors use it on Spark Connect, too."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import Column

from table_format.spark.read.number_arrays import array_column
from tests.spark.lakes import TestLake

pytestmark = pytest.mark.spark

LIMITS = np.iinfo(np.int64)


def numbers_column(lake: TestLake, *numbers: int) -> Column:
    return array_column(lake.spark, np.array(numbers, np.int64))


@pytest.mark.parametrize("numbers", [(), (0,), (1, -1, 256, LIMITS.min, LIMITS.max), tuple(range(-500, 70_000))])
def test_each_row_has_all_numbers_in_their_order(lake: TestLake, numbers: tuple[int, ...]) -> None:
    rows = lake.spark.range(2).select(numbers_column(lake, *numbers).alias("numbers"))
    assert rows.schema.simpleString() == "struct<numbers:array<bigint>>"
    assert [tuple(row.numbers) for row in rows.collect()] == [numbers, numbers]


def test_spark_generates_the_same_code_for_other_numbers(lake: TestLake) -> None:
    def code(*numbers: int) -> str:
        rows = lake.spark.range(9).select("id", numbers_column(lake, *numbers).alias("n")).where("get(n, int(id)) > 0")
        execution = rows._jdf.queryExecution()  # type: ignore[operator]  # of a classic DataFrame
        return str(execution.debug().codegenToSeq().apply(0)._2())

    assert code(4_711, 5) == code(815)
