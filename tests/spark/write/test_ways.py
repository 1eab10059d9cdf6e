"""Every exchange of rows produces the same table as a single process."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format.errors import InvalidData
from tests.spark.lakes import DATED, KEYED, TestLake, jobs_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

WAYS = ("shuffle", "storage", "none")
WIDE = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("k", pa.string(), nullable=False),
        ("amount", pa.decimal128(12, 2)),
        ("at", pa.timestamp("us", tz="UTC")),
        ("tags", pa.list_(pa.string())),
        ("raw", pa.binary()),
    ]
)


def _left_over(lake: TestLake, name: str = "t") -> list[str]:
    root = Path(lake.table(name).store.paths.root)
    return sorted(str(path.relative_to(root)) for path in (root / "exchange").rglob("*")) if root.exists() else []


def _sequences(lake: TestLake) -> list[tuple[int, int]]:
    splits = lake.table().scan().plan().splits
    return sorted((f.min_sequence_number, f.max_sequence_number) for s in splits for f in s.files)


@pytest.mark.parametrize("way", WAYS)
def test_an_upsert_of_all_types_equals_that_of_a_single_process(lake: TestLake, way: str) -> None:
    for name in ("t", "alone"):
        lake.create(name, WIDE, primary_keys=("id", "k"), bucket="3", write_only="true")
    select = [
        *("id", "concat('k', id % 7) AS k", "cast(id / 3 AS decimal(12, 2)) AS amount"),
        "timestamp_seconds(id * 86400) AS at",
        "if(id % 5 = 0, NULL, array('a', cast(id AS string))) AS tags",
        "encode(cast(id AS string), 'utf-8') AS raw",
    ]
    for first, last, parts in ((0, 400, 3), (200, 600, 2)):
        frame = lake.spark.range(first, last, 1, parts).selectExpr(*select)
        assert len(lake.lake.write(frame, "s.t", parallelism=2, options={"spark.write.exchange": way})) == 1
        lake.table("alone").append(frame.toArrow().cast(WIDE))
    stored, expected = (lake.table(name).scan().to_arrow().sort_by("id") for name in ("t", "alone"))
    assert expected.num_rows == 600
    assert stored.equals(expected)
    assert _left_over(lake) == []


@pytest.mark.parametrize("way", WAYS)
def test_row_kinds_and_partitions_are_preserved(lake: TestLake, way: str) -> None:
    lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",), write_only="true")
    rows = lake.spark.range(0, 90, 1, 3).selectExpr("concat('d', id % 3) AS dt", "id", "'a' AS v")
    lake.lake.write(rows, "s.t", parallelism=2, options={"spark.write.exchange": way})
    gone = rows.where("id % 2 = 0").selectExpr("*", "'-D' AS _row_kind")
    lake.lake.write(gone, "s.t", parallelism=3, options={"spark.write.exchange": way})
    assert lake.rows_alone() == sorted(((f"d{i % 3}", i, "a") for i in range(1, 90, 2)), key=repr)


@pytest.mark.parametrize("way", ["storage", "none"])
def test_the_later_row_of_a_key_wins_across_tasks(lake: TestLake, way: str) -> None:
    lake.create(write_only="true")
    frame = lake.spark.range(0, 400, 1, 4).selectExpr("id % 50 AS id", "cast(id AS string) AS v")
    lake.lake.write(frame, "s.t", parallelism=2, options={"spark.write.exchange": way})
    assert lake.rows_alone() == sorted(((i, str(350 + i)) for i in range(50)), key=repr)
    lake.lake.compact("s.t", full=True)
    assert lake.rows_alone() == sorted(((i, str(350 + i)) for i in range(50)), key=repr)


def test_tasks_without_an_exchange_use_disjoint_sequence_numbers(lake: TestLake) -> None:
    lake.create(write_only="true", bucket="1")
    frame = lake.spark.range(0, 40, 1, 4).selectExpr("id", "'a' AS v")
    work = lambda: lake.lake.write(frame, "s.t", options={"spark.write.exchange": "none"})  # noqa: E731
    assert jobs_of(lake.spark, work) == [[4]]
    assert _sequences(lake) == [(task << 32, (task << 32) + 9) for task in range(4)]
    lake.write([(1, "b")])
    assert lake.rows_alone()[1] == (1, "b")


@pytest.mark.parametrize("way", WAYS)
def test_an_overwrite_replaces_all_rows(lake: TestLake, way: str) -> None:
    lake.create(write_only="true")
    options = {"spark.write.exchange": way}
    for value in "ab":
        frame = lake.spark.range(0, 60, 1, 3).selectExpr("id", f"'{value}' AS v")
        lake.lake.write(frame, "s.t", mode="overwrite", parallelism=2, options=options)
    assert lake.rows_alone() == sorted(((i, "b") for i in range(60)), key=repr)


@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_does_not_fit_leaves_neither_file_nor_directory(lake: TestLake, way: str) -> None:
    lake.create(write_only="true")
    frame = lake.spark.range(0, 60, 1, 3).selectExpr("if(id = 55, NULL, id) AS id", "'x' AS v")
    with pytest.raises(InvalidData, match="'id' is BIGINT NOT NULL"):
        lake.lake.write(frame, "s.t", parallelism=2, options={"spark.write.exchange": way})
    assert lake.files() == []
    assert _left_over(lake) == []


def test_a_task_that_dies_leaves_no_exchange_directory(lake: TestLake) -> None:
    lake.create()
    frame = lake.spark.range(0, 60, 1, 3).selectExpr("id", "cast(raise_error('dead') AS string) AS v")
    with pytest.raises(Exception, match="dead"):
        lake.lake.write(frame, "s.t", parallelism=2, options={"spark.write.exchange": "storage"})
    assert _left_over(lake) == []
    assert lake.files() == []


def test_rows_of_an_append_table_with_buckets_are_exchanged_through_storage(lake: TestLake) -> None:
    lake.create(primary_keys=(), bucket="3", bucket_key="id")
    frame = lake.spark.range(0, 90, 1, 3).selectExpr("id", "'x' AS v")
    lake.lake.write(frame, "s.t", parallelism=2, options={"spark.write.exchange": "storage"})
    lake.create("alone", KEYED, primary_keys=(), bucket="3", bucket_key="id")
    lake.table("alone").append(pa.table({"id": range(90), "v": ["x"] * 90}, schema=KEYED))
    assert lake.rows_alone() == lake.rows_alone("alone")
    found = {name: [(s.bucket, s.row_count) for s in lake.table(name).scan().plan().splits] for name in ("t", "alone")}
    assert sorted(found["t"]) == sorted(found["alone"])


def test_a_merged_table_is_copied_by_several_tasks(lake: TestLake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create("a", write_only="true")
    lake.create("b")
    for value in "xy":
        lake.lake.write(lake.spark.range(500).selectExpr("id", f"'{value}' AS v"), "s.a", parallelism=2)
    monkeypatch.setattr("table_format.spark.write.sizes._ROW_BYTES", 1 << 20)
    copied = lake.lake.table("s.a")
    jobs = jobs_of(lake.spark, lambda: lake.lake.write(copied, "s.b"))
    # Tasks that merge and send, then one for each bucket.
    assert jobs[-1][-1] == 2
    assert lake.rows_alone("b") == lake.rows_alone("a")


def test_explain_write_describes_the_exchange(lake: TestLake) -> None:
    lake.create()
    frame = lake.spark.range(10).selectExpr("id", "'x' AS v")
    few, many = (lake.lake.explain_write(frame, "s.t", parallelism=tasks).splitlines() for tasks in (None, 2))
    assert few[0] == "exchange: shuffle, 1 writing task (there are few rows, which one task writes without a shuffle)"
    assert many[0] == "exchange: storage, 2 writing tasks (the table is in a file system)"
    assert many[1].startswith("batches: bounded by 2000 rows, strings of a row by 134")
    raw = lake.spark.range(10).selectExpr("id", "encode('x', 'utf-8') AS v")
    lake.create("raw", pa.schema([KEYED.field("id"), ("v", pa.binary())]))
    assert "each row is measured" in lake.lake.explain_write(raw, "s.raw")


def test_decimal_keys_have_the_bucket_of_a_single_process(lake: TestLake) -> None:
    schema = pa.schema([pa.field("id", pa.decimal128(20, 3), nullable=False), ("v", pa.string())])
    lake.create(schema=schema, bucket="4")
    lake.create("alone", schema, bucket="4")
    values = [(Decimal(i) / 8, "x") for i in range(100)]
    frame: Any = lake.spark.createDataFrame(values, "id decimal(20, 3), v string").repartition(3)
    lake.lake.write(frame, "s.t", parallelism=4, options={"spark.write.exchange": "storage"})
    lake.table("alone").append(frame.toArrow().cast(schema))
    assert lake.rows_alone() == lake.rows_alone("alone")
    found = {name: [(s.bucket, s.row_count) for s in lake.table(name).scan().plan().splits] for name in ("t", "alone")}
    assert sorted(found["t"]) == sorted(found["alone"])
