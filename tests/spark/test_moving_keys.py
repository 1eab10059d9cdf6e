"""Keys that change their partition, as a Spark job: one task gives rows their places and writes them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from table_format.errors import UnsupportedFeature
from table_format.spark import paimon
from tests.spark.lakes import DATED, TestLake, jobs_of

pytestmark = pytest.mark.spark


def test_one_task_places_and_writes_the_rows(lake: TestLake) -> None:
    options = {"warehouse": str(lake.warehouse), "local-cache.dir": f"{lake.warehouse}-cache"}
    lake = replace(lake, lake=paimon(lake.spark, options))
    lake.create(schema=DATED, primary_keys=("id",), partition_keys=("dt",), bucket="-1")
    columns = "dt string, id long, v string"
    lake.write([("a", i, "v") for i in range(60)], columns, parallelism=3)
    frame = lake.spark.createDataFrame([("b", i, "w") for i in range(0, 60, 2)], columns).repartition(3)
    *_, stages = jobs_of(lake.spark, lambda: lake.lake.write(frame, "s.t", parallelism=4))
    assert stages[-1] == 1
    expected = [("b", i, "w") if i % 2 == 0 else ("a", i, "v") for i in range(60)]
    assert lake.rows() == sorted(expected, key=repr)
    files = lake.files()
    with pytest.raises(UnsupportedFeature, match="replace the whole table"):
        lake.write([("a", 1, "x")], columns, mode="overwrite")
    assert lake.files() == files
