"""Procedures whose work runs as Spark jobs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from table_format import Schema
from table_format.procedures.run import run_procedure
from table_format.spark import paimon
from table_format.spark.operations import OnSpark
from tests.support.tables import KEYED, keyed, rows_of

pytestmark = pytest.mark.spark


def test_compaction_sorting_and_rescaling_run_as_spark_jobs_with_the_same_result(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = paimon(spark, {"warehouse": str(tmp_path)})
    catalog, operations = lake.catalog, OnSpark(spark, lake.catalog)
    catalog.create_database("db")
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("db.t", Schema.from_arrow(KEYED, ["id"], options=options))
    plain = catalog.create_table("db.plain", Schema.from_arrow(KEYED))
    rows = [(3, "a", 1), (1, "a", 2), (2, "b", 3)]
    for row in rows:
        table.append(keyed([row]))
        plain.append(keyed([row]))
    assert table.scan().plan().file_count == 3
    for name, arguments in (
        ("compact", {"table": "db.t"}),
        ("rescale", {"table": "db.t", "bucket_num": "2"}),
        ("compact", {"table": "db.plain", "order_by": "id"}),
    ):
        assert run_procedure(operations, name, arguments) == pa.table({"result": [True]})
    assert {split.bucket for split in table.scan().plan()} == {0, 1}
    assert table.scan().plan().file_count == 2
    assert rows_of(table) == sorted(rows)
    assert plain.scan(["id"]).to_arrow().column(0).to_pylist() == [1, 2, 3]
