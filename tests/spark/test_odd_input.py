"""Unusual rows, values and sessions give right results or one clear error."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from tests.queries.sessions import settings_of
from tests.spark.lakes import TestLake, rows_of
from tests.support.matrix import MATRIX

pytestmark = pytest.mark.spark

MIB = 1 << 20


def test_rows_wider_than_a_batch_are_written_and_read(lake: TestLake) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    lake.create("t", schema, write_only="true")
    widths = [40 * MIB, *([2 * MIB] * 6), 3]
    rows = lake.spark.range(len(widths)).select("id", F.array(*map(F.lit, widths))[F.col("id").cast("int")].alias("n"))
    for letter in "ab":
        frame = rows.select("id", F.expr(f"repeat('{letter}', n)").alias("v"))
        lake.lake.write(frame, "s.t", parallelism=2)
    path = lake.table().store.paths.root
    expected = [(n, width, "b") for n, width in enumerate(widths)]
    shown = ("id", "length(v)", "left(v, 1)")
    assert rows_of(lake.lake.table("s.t").selectExpr(*shown)) == sorted(expected, key=repr)
    assert rows_of(lake.spark.read.format("paimon").load(path).selectExpr(*shown)) == sorted(expected, key=repr)
    lake.lake.compact("s.t", full=True)
    assert rows_of(lake.lake.table("s.t").selectExpr(*shown)) == sorted(expected, key=repr)


VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "boolean": (pa.bool_(), [True, False]),
    "whole number": (pa.int8(), [-1, 127]),
    "decimal": (pa.decimal128(9, 2), [Decimal("0.10"), Decimal("-7.00")]),
    "double": (pa.float64(), [1e30, -0.5, 1.0]),
    "day": (pa.date32(), [dt.date(999, 1, 1), dt.date(1582, 10, 10), dt.date(2026, 1, 1)]),
    "wall clock": (pa.timestamp("ms"), [dt.datetime(2026, 3, 29, 2, 30), dt.datetime(1500, 1, 1, 0, 0, 0, 1000)]),
    "instant": (pa.timestamp("us", "UTC"), [dt.datetime(2026, 3, 29, 1, 30, tzinfo=dt.UTC)]),
    "text": (pa.string(), ["TRUE", "", "__DEFAULT_PARTITION__x", "a/b=c%20", "1.0"]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_partitions_have_the_paths_and_rows_of_a_single_process(lake: TestLake, kind: str) -> None:
    data_type, values = VALUES[kind]
    schema = pa.schema([("p", data_type), ("id", pa.int64())])
    values = [*values, None]
    rows = pa.table({"p": pa.array(values, data_type), "id": range(len(values))}, schema=schema)
    for name in ("alone", "t"):
        lake.create(name, schema, primary_keys=(), partition_keys=("p",))
    lake.table("alone").append(rows)
    with settings_of(lake.spark, {"spark.sql.session.timeZone": "America/New_York"}):
        lake.lake.write(lake.lake.table("s.alone"), "s.t", parallelism=2)
        found, expected = ({path.split("/data-")[0] for path in lake.files(name)} for name in ("t", "alone"))
        assert found == expected
        for at, value in enumerate(values[:-1]):
            frame = lake.spark.createDataFrame([(at + 100,)], "id long")
            lake.lake.write(frame, "s.t", mode="overwrite", partition={"p": value})
    assert {path.split("/data-")[0] for path in lake.files("t")} >= expected
    left = [*((n + 100,) for n in range(len(values) - 1)), (len(values) - 1,)]
    assert lake.rows("t", columns=["id"]) == sorted(left, key=repr)


ODD_SESSIONS: dict[str, dict[str, str]] = {
    "nothing is adaptive, one partition": {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    },
    "batches of one row": {"spark.sql.execution.arrow.maxRecordsPerBatch": "1", "spark.sql.adaptive.enabled": "true"},
    "no bound of batches": {"spark.sql.execution.arrow.maxRecordsPerBatch": "0"},
    "case-sensitive, not ANSI": {"spark.sql.caseSensitive": "true", "spark.sql.ansi.enabled": "false"},
}
MODES: dict[str, dict[str, Any]] = {
    "fixed": {"bucket": "3"},
    "dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": "7"},
    "keys that change their partition": {"bucket": "-1", "partition_keys": ("part",)},
}


IN_MODES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(ODD_SESSIONS, tuple(MODES)),
    "no bound of batches": ("dynamic",),
    "case-sensitive, not ANSI": ("keys that change their partition",),
}
"""Settings that change how Spark exchanges rows are tested in each mode, and the others in one."""
if MATRIX:
    IN_MODES = dict.fromkeys(ODD_SESSIONS, tuple(MODES))


@pytest.mark.parametrize(("session", "mode"), [(session, mode) for session in IN_MODES for mode in IN_MODES[session]])
def test_session_settings_do_not_lose_rows_of_a_write(lake: TestLake, session: str, mode: str) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("part", pa.int64()), ("v", pa.string())])
    lake.create("t", schema, **MODES[mode])
    with settings_of(lake.spark, ODD_SESSIONS[session]):
        for value, parallelism in (("a", 2), ("b", None), ("c", 3)):
            frame = lake.spark.range(30).select("id", (F.col("id") % 3).alias("part"), F.lit(value).alias("v"))
            lake.lake.write(frame, "s.t", parallelism=parallelism)
        assert lake.rows() == sorted(((n, n % 3, "c") for n in range(30)), key=repr)


def test_a_session_without_a_batch_limit_reads_deletion_vectors_metadata_and_system_tables(lake: TestLake) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", pa.string())])
    table = lake.create("t", schema, primary_keys=(), **{"deletion-vectors.enabled": "true"})
    table.append(pa.table({"id": range(6), "v": ["a"] * 6}, schema=schema))
    with settings_of(lake.spark, {"spark.sql.execution.arrow.maxRecordsPerBatch": "0"}):
        assert lake.lake.delete("s.t", "id = 1").deleted == 1
        assert lake.lake.update("s.t", {"v": "'b'"}, "id = 2").updated == 1
        left = [(n, "b" if n == 2 else "a") for n in (0, 2, 3, 4, 5)]
        assert lake.rows() == sorted(left, key=repr)
        paths = lake.lake.table("s.t", columns=["__paimon_file_path"]).distinct().collect()
        assert {row[0].rsplit("/", 1)[1] for row in paths} == {path.rsplit("/", 1)[1] for path in lake.files("t")}
        commits = lake.lake.table("s.t$snapshots").orderBy("snapshot_id").select("snapshot_id", "commit_time")
        assert [row.snapshot_id for row in commits.collect()] == [1, 2, 3]


def test_operations_on_a_planned_frame_work_if_the_session_excludes_column_pruning(lake: TestLake) -> None:
    table = lake.create(write_only="true")
    for value in "ab":
        table.append(pa.table({"id": range(4), "v": [value] * 4}, schema=table.arrow_schema))
    excluded = "org.apache.spark.sql.catalyst.optimizer.ColumnPruning"
    with settings_of(lake.spark, {"spark.sql.optimizer.excludedRules": excluded}):
        totals = lake.lake.table("s.t").groupBy().agg(F.count(F.lit(1)).alias("n"), F.count("v").alias("m"))
        shown = lake.spark.sql("SELECT concat(n, '') AS n FROM {totals}", totals=totals.select("n"))
        assert shown.collect() == [("4",)]
