"""Special characters of shells, URLs and SQL have no meaning in names and values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.spark.lakes import TestLake, a_lake, plan_of, rows_of

pytestmark = pytest.mark.spark

ODD = ("p.art", "ke`y", "va lue", "größe", "%20[x]", "a,b;c{d}(e)=")
VALUES = ["a b", "a%b", "a#b", "a/b", "a:b", "ü=☃", "50%", "[x]*{y}?", "'q\"", "-1"]


def test_unusual_paths_partition_values_and_column_names_are_read(spark: Any, tmp_path: Path) -> None:
    lake = a_lake(spark, tmp_path / "ware house%20#ä[1]{x}")
    schema = pa.schema([pa.field(name, pa.string(), nullable=name not in ODD[:2]) for name in ODD])
    lake.create("o", schema, primary_keys=ODD[:2], partition_keys=ODD[:1], bucket="2")
    rows = [(value, f"k{i}", value, "g", None, "e") for value in VALUES for i in range(2)]
    frame = spark.createDataFrame(rows, spark_ddl())
    lake.lake.write(frame, "s.o", parallelism=2)
    assert lake.rows("o") == sorted(rows, key=repr)
    lake.lake.compact("s.o", full=True)
    native = lake.lake.table("s.o")
    assert "MapInArrow" not in plan_of(native)
    assert lake.rows("o") == sorted(rows, key=repr)
    chosen = lake.lake.table("s.o", columns=["va lue", "p.art"], filter="\"ke`y\" = 'k1' AND \"p.art\" = 'a:b'")
    assert rows_of(chosen) == [("a:b", "a:b")]
    rest = frame.drop("p.art").limit(1)
    lake.lake.write(rest, "s.o", mode="overwrite", partition={"p.art": "a/b"})
    assert len(rows_of(lake.lake.table("s.o", filter="\"p.art\" = 'a/b'"))) == 1
    path = lake.table("o").store.paths.root
    frame.limit(1).write.format("paimon").mode("append").save(path)
    source = spark.read.format("paimon").load(path)
    assert rows_of(source.where("`p.art` = '50%'").select("`ke``y`")) == [("k0",), ("k1",)]


def spark_ddl() -> Any:
    from pyspark.sql.types import StringType, StructField, StructType

    return StructType([StructField(name, StringType()) for name in ODD])


def test_a_null_partition_is_a_partition(lake: TestLake) -> None:
    schema = pa.schema([("dt", pa.date32()), ("v", pa.int32())])
    lake.create("n", schema, primary_keys=(), partition_keys=("dt",))
    frame = lake.spark.sql("SELECT date'2026-01-01' AS dt, 1 AS v UNION ALL SELECT NULL, 2")
    lake.lake.write(frame, "s.n")
    assert sorted(v for _, v in lake.rows("n")) == [1, 2]
    assert lake.rows("n", filter="dt IS NULL", columns=["v"]) == [(2,)]
    assert lake.rows("n", filter="dt = DATE '2026-01-01'", columns=["v"]) == [(1,)]
