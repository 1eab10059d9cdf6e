"""Tables with deletion vectors, and the read-optimized view, as Spark reads them."""

from __future__ import annotations

from typing import Any

import pytest

from table_format import Table
from table_format.spark import Lake, paimon
from tests.spark.lakes import TestLake, plan_of, rows_of
from tests.support.golden import golden_case

pytestmark = pytest.mark.spark


def golden_lake(lake: TestLake, case: str) -> Lake:
    return paimon(lake.spark, {"warehouse": str(golden_case(case).warehouse)})


def alone(lake: Lake, name: str, **arguments: Any) -> list[tuple[Any, ...]]:
    """What one process reads, which the golden tests compare with the real Paimon."""
    table = lake.catalog.load_table(name)
    found = table.scan(**arguments).to_arrow()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=repr)


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("append_deletion_vectors", "db.t"),
        ("append_deletion_vectors", "db.p"),
        ("pk_deletion_vectors", "db.t"),
        ("pk_deletion_vectors_bitmap64", "db.parts"),
        ("spark_modes", "db.orders_mow"),
    ],
)
def test_deleted_rows_are_not_read(lake: TestLake, case: str, name: str) -> None:
    golden = golden_lake(lake, case)
    expected = alone(golden, name)
    assert len(expected) == len(golden_case(case).tables[name]["latest"]["rows"])
    assert rows_of(golden.table(name)) == expected
    assert golden.table(name).count() == len(expected)
    first = golden_case(case).tables[name]["snapshot_ids"][0]
    options = {"scan.snapshot-id": str(first)}
    assert rows_of(golden.table(name, **options)) == alone(golden, name, options=options)


def test_spark_reads_files_with_deletion_vectors_itself(lake: TestLake) -> None:
    golden = golden_lake(lake, "pk_deletion_vectors")
    opened = golden.catalog.load_table("db.parts")
    assert isinstance(opened, Table)
    plan = opened.scan().plan()
    marked = sum(1 for split in plan for found in split.deletion_files if found)
    assert 0 < marked < plan.file_count
    physical = plan_of(golden.table("db.parts"))
    assert "MapInArrow" not in physical
    assert "FileScan parquet" in physical


def test_filters_and_projections_of_a_table_with_deletion_vectors(lake: TestLake) -> None:
    golden = golden_lake(lake, "pk_deletion_vectors")
    expected = alone(golden, "db.t", columns=["k"], filter="k < 20")
    assert expected
    assert rows_of(golden.table("db.t", columns=["k"], filter="k < 20")) == expected
    assert rows_of(golden.table("db.t").where("k < 20").select("k")) == expected


def test_the_data_source_does_not_read_deleted_rows(lake: TestLake) -> None:
    golden = golden_lake(lake, "append_deletion_vectors")
    root = golden_case("append_deletion_vectors").warehouse / "db.db" / "t"
    assert rows_of(lake.spark.read.format("paimon").load(str(root))) == alone(golden, "db.t")


def test_spark_reads_the_read_optimized_table_itself(lake: TestLake) -> None:
    lake.create(bucket="1", write_only="true")
    lake.append([(i, "old") for i in range(10)])
    assert rows_of(lake.lake.table("s.t$ro")) == []
    lake.lake.compact("s.t", full=True)
    lake.append([(3, "new"), (20, "new")])
    view = lake.lake.table("s.t$ro")
    assert rows_of(view) == [(i, "old") for i in range(10)]
    assert "MapInArrow" not in plan_of(view)
    assert rows_of(lake.lake.table("s.t$ro", columns=["v"], filter="id = 3")) == [("old",)]
    joined = view.alias("a").join(lake.lake.table("s.t").alias("b"), "id").where("a.v <> b.v")
    assert [row["id"] for row in joined.collect()] == [3]


def test_the_read_optimized_table_with_deletion_vectors(lake: TestLake) -> None:
    golden = golden_lake(lake, "pk_deletion_vectors_bitmap64")
    expected = golden_case("pk_deletion_vectors_bitmap64").tables["db.t"]["system_tables"]["ro"]["rows"]
    assert len(rows_of(golden.table("db.t$ro"))) == len(expected)
    assert rows_of(golden.table("db.t$ro")) == alone(golden, "db.t$ro")
