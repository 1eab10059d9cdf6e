"""Column names have no meaning between a DataFrame and the files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from tests.spark.lakes import TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

NAMES = (
    *("__task__", "__assigner__", "__bucket__", "__writer__", "__place__", "__note__", "__order__", "__key_0__"),
    *("_tmp_metadata_row_index", "_metadata", "c0", "c1", "ID", "_Row_Kind", "a.b", "`q`"),
)
MODES: dict[str, dict[str, Any]] = {
    "append": {"primary_keys": ()},
    "fixed buckets": {},
    "dynamic buckets": {"bucket": "-1"},
    "keys that change their partition": {"bucket": "-1", "partition_keys": ("part",)},
}


@pytest.mark.parametrize("mode", MODES)
def test_columns_with_internal_names_and_names_that_differ_in_case_are_written(lake: TestLake, mode: str) -> None:
    """All at once: those that two tasks share, and those of the key."""
    names = ("id", "part", *NAMES)
    schema = pa.schema([pa.field(n, pa.int64(), nullable=n not in ("id", "part")) for n in names])
    lake.create("t", schema, **MODES[mode])
    lake.spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        rows = lake.spark.range(7).select(*((F.col("id") + n).alias(name) for n, name in enumerate(names)))
        for _ in range(2):
            lake.lake.write(rows, "s.t", parallelism=2)
    finally:
        lake.spark.conf.set("spark.sql.caseSensitive", "false")
    expected = [tuple(row + n for n in range(len(names))) for row in range(7)]
    assert lake.rows() == sorted(expected * (2 if mode == "append" else 1), key=repr)


@pytest.mark.parametrize("mode", ["fixed buckets", "dynamic buckets", "keys that change their partition"])
@pytest.mark.parametrize("key", ["__task__", "__bucket__", "ID"])
def test_a_key_column_may_have_an_internal_name(lake: TestLake, mode: str, key: str) -> None:
    schema = pa.schema([pa.field(n, pa.int64(), nullable=n != key) for n in ("part", "id", key)])
    lake.create("t", schema, **{**MODES[mode], "primary_keys": (key,)})
    rows = lake.spark.range(7).select(
        (F.col("id") % 3).alias("part"), (F.col("id") + 1).alias("x"), F.col("id").alias("y")
    )
    lake.spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        lake.lake.write(rows.toDF("part", "id", key), "s.t", parallelism=2)
    finally:
        lake.spark.conf.set("spark.sql.caseSensitive", "false")
    assert lake.rows() == sorted(((n % 3, n + 1, n) for n in range(7)), key=repr)


def test_a_partition_value_of_an_overwrite_does_not_replace_a_column_that_differs_in_case(lake: TestLake) -> None:
    schema = pa.schema([("dt", pa.string()), ("DT", pa.string()), ("id", pa.int64())])
    lake.create("t", schema, primary_keys=(), partition_keys=("dt",))
    rows = lake.spark.range(2).select("id", F.lit("kept").alias("DT"))
    lake.lake.write(rows, "s.t", mode="overwrite", partition={"dt": "a"})
    assert lake.rows() == [("a", "kept", 0), ("a", "kept", 1)]
