"""Merged rows read by Spark's own reader, after the live rows are known: both readers return the same rows."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from table_format.errors import CorruptionError
from table_format.lsm.hidden_rows import HiddenRows
from table_format.model.schema_change import AddColumn, AlterColumnType, RenameColumn
from table_format.model.types import BigIntType, VarCharType
from table_format.options.spark_read import MERGED_READ
from table_format.spark.read import merged_rows, positions, spark_parquet
from table_format.spark.read.deletion_vectors import scans_of
from table_format.spark.read.positions import KeptPositions
from table_format.table.table import Table
from tests.spark.lakes import TestLake, jobs_of, plan_of, rows_of

pytestmark = pytest.mark.spark

WIDE = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("v", pa.string()),
        ("n", pa.int32()),
        ("a", pa.int32()),
        ("b", pa.int32()),
    ]
)
PARTED = pa.schema([pa.field("p", pa.string(), nullable=False), *WIDE])
WAYS = ("auto", "positions", "merge")


def way(name: str) -> dict[str, str]:
    return {MERGED_READ.key: name}


def rows(ids: Any, value: str, part: str | None = None) -> pa.Table:
    ids = list(ids)
    columns: dict[str, Any] = {} if part is None else {"p": [part] * len(ids)}
    columns |= {"id": ids, "v": [value] * len(ids), "n": [i % 10 for i in ids], "a": ids, "b": ids}
    return pa.table(columns, schema=WIDE if part is None else PARTED)


def merged_table(lake: TestLake, **options: str) -> Table:
    """Create a table with a thousand keys, some superseded, some deleted."""
    table = lake.create(schema=WIDE, **options)
    table.append(rows(range(1_000), "?"))
    table.append(rows(range(500, 1_300, 3), "7"))
    table.delete("id IN (3, 4, 5, 700, 701)")
    return table


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "kept_positions", KeptPositions())


@pytest.mark.parametrize("seed", range(3))
def test_both_readers_return_the_rows_of_a_single_process(lake: TestLake, seed: int) -> None:
    chance = random.Random(seed)
    options = {"sequence.field": "a"} if seed == 2 else {}
    vectors = {"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"} if seed == 1 else {}
    table = lake.create(
        schema=PARTED, primary_keys=("p", "id"), partition_keys=("p",), bucket="2", **options, **vectors
    )
    for number in range(6):
        ids = sorted(chance.sample(range(300), chance.randrange(5, 250)))
        table.append(rows(ids, f"{number}", chance.choice(["a b", "é/%"])))
        if number == 2:
            table.compact(full=True)
        if number == 3 and seed == 2:
            changes = [RenameColumn("n", "m"), AddColumn("n", VarCharType()), AlterColumnType("m", BigIntType())]
            lake.lake.catalog.alter_table("s.t", changes)
            table = lake.table()
            more = rows(ids, "later", "a b").rename_columns(["p", "id", "v", "m", "a", "b"])
            table.append(more.append_column("n", pa.array(["9"] * len(ids))))
            break
        table.delete(f"id IN {tuple(chance.sample(ids, 4))}")
    for name in WAYS:
        assert lake.rows(**way(name))
        low = chance.randrange(200)
        text = f"id >= {low} AND (v <> '2' OR b < {low + 20})"
        expected = lake.rows(columns=["id", "v"], filter=text, **way(name))
        frame = lake.lake.table("s.t", **way(name))
        assert rows_of(frame.where(text).select("id", "v")) == expected
        assert frame.count() == len(lake.rows_alone(columns=["id"], **way(name)))
    assert "MapInArrow" not in plan_of(lake.lake.table("s.t", **way("positions")))


def test_first_rows_are_also_found_by_positions(lake: TestLake) -> None:
    table = lake.create(schema=WIDE, merge_engine="first-row")
    table.append(rows(range(100), "first"))
    table.append(rows(range(50, 150), "second"))
    assert [row[1] for row in lake.rows(**way("positions"))].count("first") == 100


@pytest.mark.parametrize("files_of_scan", [1, 200])
def test_conditions_are_not_tested_on_rows_that_are_not_live(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch, files_of_scan: int
) -> None:
    monkeypatch.setattr(spark_parquet, "scans_of", partial(scans_of, count=files_of_scan))
    table = lake.create(schema=WIDE)
    table.append(rows(range(60), "?").set_column(2, "n", pa.array([0] * 60, pa.int32())))
    table.append(rows(range(40), "7").set_column(2, "n", pa.array([5] * 40, pa.int32())))
    table.delete("id >= 40")
    frame = lake.lake.table("s.t", **way("positions"))
    assert lake.spark.conf.get("spark.sql.ansi.enabled") == "true"
    assert "Join" not in plan_of(frame)
    assert frame.where("10 / n > 1").count() == 40
    assert frame.where("cast(v AS int) = 7").select("id").count() == 40
    assert frame.where(F.udf(lambda n: 10 // n > 0, "boolean")("n")).count() == 40


def test_conditions_are_not_tested_on_rows_that_pruned_files_supersede(lake: TestLake) -> None:
    table = lake.create(schema=WIDE, bucket="1")
    table.append(rows(range(60), "").set_column(1, "v", pa.array(["?" if i < 30 else "7" for i in range(60)])))
    table.append(rows(range(30), "7"))
    frame = lake.lake.table("s.t", **way("positions")).where("cast(v AS int) = 7").where("id = 45")
    assert len(frame.inputFiles()) == 1
    assert rows_of(frame.select("id")) == [(45,)]


def test_conditions_and_columns_on_a_frame_are_pushed_down_to_the_files(lake: TestLake) -> None:
    merged_table(lake)
    plan = plan_of(lake.lake.table("s.t", **way("positions")).where("n > 3").select("v"))
    assert "GreaterThan(n,3)" in plan
    assert "ReadSchema: struct<v:string,n:int," in plan


def test_python_reads_many_small_files_and_spark_reads_large_files(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merged_rows, "MIN_SMALL_FILES", 2)
    monkeypatch.setattr(merged_rows, "MIN_ROWS_OF_FILE", 100)
    merged_table(lake, bucket="1")
    lake.table().append(rows(range(1_290, 1_310), "8"))
    frame = lake.lake.table("s.t", **way("auto"))
    plan = plan_of(frame)
    assert "FileScan parquet" in plan
    assert "MapInArrow" in plan
    assert rows_of(frame) == lake.rows(**way("merge"))
    assert rows_of(frame.where("v = '8'").select("id")) == lake.rows(columns=["id"], filter="v = '8'")


def test_the_cache_of_positions_is_limited(lake: TestLake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = merged_table(lake, bucket="1")
    found = lake.rows(**way("positions"))
    monkeypatch.setattr(positions, "_by_driver", None)
    # Even two columns are not merged in this case.
    known = lake.lake.table("s.t").select("v", "n")
    assert "MapInArrow" not in plan_of(known)
    assert lake.rows(**way("positions")) == found
    table.append(rows([1], "new"))
    with pytest.raises(TypeError):
        lake.rows(**way("positions"))
    kept = KeptPositions(max_bytes=10_000)
    for number in range(20):
        kept.keep((number,), {f"{number}": HiddenRows(bytes(1_000), 1)})
    assert [number for number in range(20) if kept.find((number,)) is not None] == [17, 18, 19]


def test_many_keys_are_compared_by_tasks(lake: TestLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "MAX_ROWS_IN_DRIVER", 100)
    table = merged_table(lake)
    assert len(jobs_of(lake.spark, lambda: lake.rows(**way("positions")))) > 1
    before = set(lake.files())
    table.append(rows([1], "new"))
    (path,) = (Path(table.store.paths.root) / file for file in set(lake.files()) - before)
    path.unlink()
    with pytest.raises(CorruptionError, match=path.name):
        lake.lake.table("s.t", **way("positions")).collect()


def test_rows_are_counted_without_reading_values(lake: TestLake) -> None:
    merged_table(lake)
    table = lake.create("marked", schema=WIDE, **{"deletion-vectors.enabled": "true"})
    table.append(rows(range(30), "a"))
    table.append(rows(range(20, 40), "b"))
    for name, count in (("t", 1_095), ("marked", 40)):
        counting = lake.lake.table(f"s.{name}").groupBy().count()
        assert "Range" in plan_of(counting)
        assert "FileScan" not in plan_of(counting)
        assert lake.lake.table(f"s.{name}").count() == len(lake.rows(name)) == count
    assert lake.lake.table("s.t").where("v = '7'").count() == len(lake.rows(filter="v = '7'"))


@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_only_requested_columns_are_merged(lake: TestLake, engine: str) -> None:
    merged = {"merge-engine": engine, "fields.b.aggregate-function": "sum"} if engine == "aggregation" else {}
    table = lake.create(schema=WIDE, **{"merge-engine": engine, **merged})
    table.append(rows(range(40), "a"))
    table.append(rows(range(20, 60), "b"))
    frame = lake.lake.table("s.t", **way("positions")).select("b")
    (merging,) = (line for line in plan_of(frame).splitlines() if "MapInArrow" in line)
    assert "b#" in merging
    assert "v#" not in merging
    assert rows_of(frame) == lake.rows(columns=["b"])
    assert lake.lake.table("s.t").count() == 60


def test_explain_names_the_reader_and_the_reason(lake: TestLake, capsys: pytest.CaptureFixture[str]) -> None:
    merged_table(lake)
    lake.lake.table("s.t").where("id = 3").explain()
    assert (
        "s.t: files to merge are read with 'merge', because a condition on the key selects few rows"
        in capsys.readouterr().out
    )
    lake.lake.table("s.t").explain()
    told = "s.t: files to merge are read with 'positions', because the live rows are found by their keys"
    assert told in capsys.readouterr().out
