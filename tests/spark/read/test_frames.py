"""Tables as DataFrames: pruning, the reader of each file, and the state that is read."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from table_format.errors import ColumnNotFound, InvalidFilter, SnapshotNotFound, TableNotFound
from table_format.model.schema_change import AddColumn, AlterColumnType, RenameColumn
from table_format.model.types import BigIntType, DecimalType, VarCharType
from table_format.spark.read.frames import frame_of
from table_format.spark.read.spark_parquet import divide
from tests.spark.lakes import DATED, KEYED, TestLake, jobs_of, plan_of, rows_of
from tests.support.taken_over_files import taken_over

pytestmark = pytest.mark.spark


def _rows(ids: Any, value: str, date: str | None = None) -> pa.Table:
    columns: dict[str, Any] = {} if date is None else {"dt": [date] * len(ids)}
    return pa.table({**columns, "id": pa.array(ids, pa.int64()), "v": [value] * len(ids)})


def test_spark_reads_compacted_files_and_overlapping_files_are_merged(lake: TestLake) -> None:
    table = lake.create(bucket="1")
    table.append(_rows(range(10), "a"))
    table.compact(full=True)
    settled = lake.lake.table("s.t").where("id > 7 and v = 'a'").select("v")
    plan = plan_of(settled)
    assert "FileScan parquet" in plan
    assert "MapInArrow" not in plan
    assert "GreaterThan(id,7)" in plan
    assert "ReadSchema: struct<id:bigint,v:string>" in plan
    assert rows_of(settled) == [("a",), ("a",)]
    table.append(_rows([5, 30], "b"))
    # Overlapping keys are merged; a file with a separate key range is read unmerged.
    mixed = lake.lake.table("s.t")
    assert "MapInArrow" in plan_of(mixed)
    assert lake.rows(filter="id >= 5 AND id < 8") == [(5, "b"), (6, "a"), (7, "a")]
    table.append(_rows([100], "c"))
    table.compact(full=True)
    table.append(_rows([7], "d"))
    assert lake.rows(filter="v <> 'a'") == [(100, "c"), (30, "b"), (5, "b"), (7, "d")]


def test_a_filter_may_use_columns_that_the_plan_leaves_out(lake: TestLake) -> None:
    table = lake.create(schema=DATED, primary_keys=(), partition_keys=("dt",))
    for date in ("2026-01-01", "2026-01-02"):
        table.append(_rows(range(5), "a", date))
    scan = table.scan(columns=["v"], filter="id >= 3 AND dt = '2026-01-02'")
    frame = frame_of(lake.spark, scan.facts, scan.plan())
    assert frame.columns == ["v"]
    assert rows_of(frame) == [("a",), ("a",)]
    assert rows_of(lake.lake.table("s.t", columns=["dt"], filter="id = 4")) == [("2026-01-01",), ("2026-01-02",)]


def test_merged_and_unmerged_buckets_form_one_frame(lake: TestLake) -> None:
    table = lake.create(bucket="4")
    table.append(_rows(range(100), "a"))
    table.compact(full=True)
    table.append(_rows([1], "b"))
    frame = lake.lake.table("s.t")
    division = divide(table.scan().plan(), table.facts)
    assert (len(division.whole[0]), len(division.python)) == (3, 1)
    assert "MapInArrow" in plan_of(frame)
    assert "FileScan parquet" in plan_of(frame)
    assert lake.rows()[:3] == [(0, "a"), (1, "b"), (10, "a")]
    assert frame.count() == 100


def test_small_splits_are_read_by_one_task_per_core(lake: TestLake) -> None:
    table = lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",), bucket="1")
    for value in "ab":
        table.append(pa.concat_tables([_rows(range(5), value, f"d{day:02}") for day in range(12)]))
    assert len(table.scan().plan()) == 12
    found: list[Any] = []
    jobs = jobs_of(lake.spark, lambda: found.extend(lake.lake.table("s.t").collect()))
    assert [tasks[-1] for tasks in jobs] == [2]
    # In the order of the splits.
    assert [row.dt for row in found] == [f"d{day:02}" for day in range(12) for _ in range(5)]
    assert {row.v for row in found} == {"b"}


def test_a_filter_prunes_partitions_buckets_and_files_and_reads_columns_it_needs(lake: TestLake) -> None:
    table = lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",), bucket="2")
    for date in ("a", "b", "c"):
        table.append(_rows(range(10), date, date))
    table.compact(full=True)

    def tasks(**arguments: Any) -> int:
        return len(lake.lake.table("s.t", **arguments).inputFiles())

    assert tasks() == 6
    assert tasks(filter="dt = 'b'") == 2
    assert tasks(filter="dt <> 'b' AND id = 3") == 2
    assert tasks(filter="v = 'b'") == 2
    assert tasks(filter="id > 100") == 0
    assert lake.rows(columns=["v"], filter="dt = 'b' AND id IN (3, 4)") == [("b",), ("b",)]
    assert lake.rows(columns=["v", "dt"], filter="id > 100") == []
    with pytest.raises(ColumnNotFound, match="zz"):
        lake.lake.table("s.t", columns=["zz"])
    with pytest.raises(InvalidFilter):
        lake.lake.table("s.t", filter="id >")


def test_old_states_are_read_by_snapshot_tag_and_schema(lake: TestLake) -> None:
    table = lake.create(bucket="1")
    table.append(_rows([1], "a"))
    table.create_tag("first")
    table.append(_rows([1, 2], "b"))
    assert lake.rows(**{"scan.snapshot-id": "1"}) == lake.rows(**{"scan.tag-name": "first"}) == [(1, "a")]
    assert lake.rows(**{"scan.snapshot-id": "2"}, filter="id = 2") == [(2, "b")]
    with pytest.raises(SnapshotNotFound):
        lake.lake.table("s.t", **{"scan.snapshot-id": "9"})
    with pytest.raises(TableNotFound):
        lake.lake.table("s.nothing")


def test_files_with_older_schemas_are_read_by_field_id(lake: TestLake) -> None:
    schema = pa.schema([*KEYED, ("n", pa.int32()), ("d", pa.decimal128(6, 2)), ("s", pa.struct([("x", pa.int32())]))])
    lake.create(schema=schema, bucket="1")
    ddl = "id long, v string, n int, d decimal(6, 2), s struct<x: int>"
    lake.write([(1, "old", 7, Decimal("1.25"), (4,)), (2, "old", None, None, None)], ddl)
    lake.table().compact(full=True)
    catalog = lake.lake.catalog
    changes = [
        RenameColumn("v", "w"),
        AddColumn("v", VarCharType()),
        AlterColumnType("n", BigIntType()),
        AlterColumnType("d", DecimalType(10, 3)),
    ]
    catalog.alter_table("s.t", changes)
    expected = [(1, "old", 7, Decimal("1.250"), {"x": 4}, None), (2, "old", None, None, None, None)]

    def found(**arguments: Any) -> list[Any]:
        rows = lake.lake.table("s.t", **arguments).collect()
        return sorted((*row[:4], row[4].asDict() if row[4] else None, *row[5:]) for row in rows)

    assert "FileScan parquet" in plan_of(lake.lake.table("s.t"))
    assert found() == expected
    assert found(filter="w = 'old' AND v IS NULL AND d >= 1.25") == expected[:1]
    assert found(filter="v = 'x'") == []
    lake.write(
        [(2, "new", 2**40, Decimal("9.125"), (5,), "x")],
        "id long, w string, n long, d decimal(10, 3), s struct<x: int>, v string",
    )
    merged = [expected[0], (2, "new", 2**40, Decimal("9.125"), {"x": 5}, "x")]
    assert found() == merged
    lake.table().compact(full=True)
    assert found() == merged


def test_an_empty_table_and_an_empty_plan_give_frames_without_rows(lake: TestLake) -> None:
    lake.create()
    assert lake.rows() == []
    assert lake.lake.table("s.t").columns == ["id", "v"]
    assert lake.write([]) == ()
    assert lake.rows() == []


def test_a_snapshot_is_read_with_its_own_schema(lake: TestLake) -> None:
    lake.create()
    lake.append([(1, "a"), (2, "b")])
    lake.lake.catalog.alter_table("s.t", [RenameColumn("v", "w"), AddColumn("n", BigIntType())])
    lake.write([(2, "c", 5)], "id long, w string, n long")
    at_first = {"scan.snapshot-id": "1"}
    assert lake.lake.table("s.t", **at_first).columns == ["id", "v"]
    assert rows_of(lake.lake.table("s.t", columns=["id"], filter="v = 'b'", **at_first)) == [(2,)]
    assert rows_of(lake.lake.table("s.t")) == [(1, "a", None), (2, "c", 5)]


def test_system_tables_return_metadata_as_frames(lake: TestLake) -> None:
    lake.create()
    lake.append([(1, "a")])
    lake.append([(2, "b")])
    frame = lake.lake.table("s.t$snapshots", columns=["snapshot_id", "commit_kind"], filter="snapshot_id > 1")
    assert rows_of(frame) == [(2, "APPEND")]
    assert lake.lake.table("s.t$snapshots").count() == 2
    for name in ("files", "schemas", "options"):
        lake.lake.table(f"s.t${name}").collect()
    assert lake.lake.table("s.t$files", **{"scan.snapshot-id": "1"}).count() == 1


def test_spark_leaves_files_that_lack_the_partition_columns_to_the_library(lake: TestLake) -> None:
    table = lake.create(schema=DATED, primary_keys=(), partition_keys=("dt",))
    for number, date in enumerate("ab"):
        table.append(_rows(range(number, 3), "v", date))
    taken_over(table)
    table.append(_rows(range(7, 9), "v", "b"))
    frame = lake.lake.table("s.t")
    assert plan_of(frame).count("FileScan parquet") == 1
    assert "MapInArrow" in plan_of(frame)
    expected = [*(("a", i, "v") for i in range(3)), *(("b", i, "v") for i in (1, 2, 7, 8))]
    assert lake.rows() == expected
    assert lake.rows(filter="dt = 'b' AND id < 8") == expected[3:6]
