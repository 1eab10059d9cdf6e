"""Writing of DataFrames: upserts, deletes, overwrites and repeated writes."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from table_format.errors import ConflictError, InvalidData, InvalidInputError
from table_format.table.table import Table
from tests.spark.lakes import DATED, KEYED, TestLake, jobs_of

pytestmark = pytest.mark.spark


def test_a_later_write_replaces_rows_by_key_and_row_kinds_delete_them(lake: TestLake) -> None:
    lake.create()
    first = lake.write([(i, "a") for i in range(20)])
    assert [(s.id, str(s.commit_kind)) for s in first] == [(1, "APPEND")]
    lake.write(
        [(1, "b", "+I"), (2, "c", "-D"), (3, "d", "-U"), (4, "e", "+U"), (99, "z", "-D")],
        "id long, v string, _row_kind string",
    )
    lake.write([(2, "f")])
    found = lake.rows()
    assert found[:5] == [(0, "a"), (1, "b"), (10, "a"), (11, "a"), (12, "a")]
    assert len(found) == 19
    assert {(2, "f"), (4, "e")} <= set(found)
    assert 3 not in {key for key, _ in found}


def test_partitions_and_composite_keys_are_routed_as_in_a_single_process(lake: TestLake) -> None:
    schema = pa.schema([*DATED, pa.field("part", pa.string(), nullable=False)])
    lake.create(schema=schema, primary_keys=("dt", "id", "part"), partition_keys=("dt",), bucket="3")
    rows = [(f"2026-01-0{i % 3 + 1}", i % 7, f"v{i}", f"p{i}") for i in range(40)]
    ddl = "dt string, id long, v string, part string"
    lake.write(rows, ddl)
    # One process finds the same buckets: its upsert replaces what Spark wrote.
    changed = pa.Table.from_pylist(
        [dict(zip(schema.names, (*row[:2], "new", row[3]), strict=True)) for row in rows[:10]], schema
    )
    lake.table().append(changed)
    assert lake.rows() == sorted([(d, k, "new", p) for d, k, _, p in rows[:10]] + rows[10:], key=repr)
    lake.write([(*row[:2], "newer", row[3]) for row in rows[5:15]], ddl, parallelism=1)
    assert sum(v == "newer" for _, _, v, _ in lake.rows()) == 10


@pytest.mark.parametrize(
    ("type_", "ddl", "values"),
    [
        (pa.int64(), "long", [-(2**63), 2**63 - 1, -1, *(i * 7919**4 - 2**61 for i in range(300))]),
        (pa.int32(), "int", [-(2**31), 2**31 - 1, *range(-9, 290)]),
        (pa.date32(), "date", [dt.date(1, 1, 1), *(dt.date(1969, 1, 1) + dt.timedelta(i * 3) for i in range(300))]),
    ],
)
def test_spark_and_a_single_process_agree_on_the_bucket_of_integers(
    lake: TestLake, type_: pa.DataType, ddl: str, values: list[Any]
) -> None:
    schema = pa.schema([pa.field("k", type_, nullable=False), ("v", pa.string())])
    for name in ("spark", "alone"):
        lake.create(name, schema, primary_keys=("k",), bucket="7")
    lake.write([(value, "x") for value in values], f"k {ddl}, v string", name="spark")
    lake.table("alone").append(pa.table({"k": pa.array(values, type_), "v": ["x"] * len(values)}))
    one, other = (_keys_by_bucket(lake.table(name)) for name in ("spark", "alone"))
    assert one == other
    # Each bucket was written by one task, in one file: the shuffle had them together.
    assert len(lake.files("spark")) == 7


def test_other_bucket_functions_route_to_one_task_for_each_bucket(lake: TestLake) -> None:
    table = lake.lake.catalog.create_table("s.m", _schema(KEYED, {"bucket": "3", "bucket-function.type": "mod"}))
    assert isinstance(table, Table)
    lake.write([(i, "a") for i in range(30)], name="m")
    assert len(lake.files("m")) == 3
    lake.write([(i, "b") for i in range(0, 30, 2)], name="m")
    assert sum(v == "b" for _, v in lake.rows("m")) == 15


def test_a_small_frame_is_written_by_one_task_without_a_shuffle(lake: TestLake) -> None:
    lake.create()
    small = lake.spark.range(0, 1000, 1, 3).selectExpr("id", "concat('v', id) AS v")
    assert jobs_of(lake.spark, lambda: lake.lake.write(small, "s.t")) == [[1]]
    large = lake.spark.range(0, 4_000_000, 1, 3).selectExpr("id", "concat('v', id) AS v").where("id % 4000 = 0")
    # Each of the two buckets is written by a task of the last stage.
    assert jobs_of(lake.spark, lambda: lake.lake.write(large, "s.t"))[-1][-1] == 2
    assert jobs_of(lake.spark, lambda: lake.lake.write(small, "s.t", parallelism=4))[-1][-1] == 4
    assert len(lake.rows()) == 1999


def test_an_append_table_accepts_every_row_and_refuses_retracts(lake: TestLake) -> None:
    lake.create(primary_keys=())
    lake.write([(1, "a"), (1, "a"), (2, None)])
    lake.write([(1, "a")], parallelism=1)
    assert lake.rows() == [(1, "a"), (1, "a"), (1, "a"), (2, None)]
    with pytest.raises(InvalidData, match="without primary key cannot retract rows"):
        lake.write([(1, "a", "-D")], "id long, v string, _row_kind string")
    assert len(lake.table().snapshots()) == 2


def test_overwrite_replaces_the_given_partition_or_partitions_with_rows_or_all_rows(lake: TestLake) -> None:
    lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",))
    ddl = "dt string, id long, v string"
    lake.write([("a", 1, "x"), ("b", 1, "x"), ("c", 1, "x")], ddl)
    lake.write([(2, "y")], mode="overwrite", partition={"dt": "a"})
    assert lake.rows() == [("a", 2, "y"), ("b", 1, "x"), ("c", 1, "x")]
    lake.write([("b", 3, "z")], ddl, mode="overwrite")
    assert lake.rows() == [("a", 2, "y"), ("b", 3, "z"), ("c", 1, "x")]
    lake.write([], ddl, mode="overwrite", partition={"dt": "c"})
    assert lake.rows() == [("a", 2, "y"), ("b", 3, "z")]
    before = lake.files()
    with pytest.raises(InvalidInputError, match="dt"):
        lake.write([("b", 9, "q")], ddl, mode="overwrite", partition={"dt": "a"})
    assert lake.files() == before
    lake.lake.catalog.create_table("s.u", _schema(KEYED, {"bucket": "2"}))
    lake.write([(1, "x"), (2, "x")], name="u")
    lake.write([(2, "y")], name="u", mode="overwrite")
    assert lake.rows("u") == [(2, "y")]


def test_a_write_with_an_identifier_takes_effect_once_and_a_repetition_runs_no_job(lake: TestLake) -> None:
    lake.create()
    assert len(lake.write([(1, "a")], commit_user="loader", identifier=7, watermark=5, properties={"k": "v"})) == 1
    frame = lake.frame([(1, "b")], "id long, v string")

    def again() -> None:
        assert lake.lake.write(frame, "s.t", commit_user="loader", identifier=7) == ()

    assert jobs_of(lake.spark, again) == []
    snapshot = lake.table().latest_snapshot()
    assert snapshot is not None
    assert (snapshot.id, snapshot.commit_user, snapshot.commit_identifier) == (1, "loader", 7)
    assert snapshot.watermark == 5
    assert lake.rows() == [(1, "a")]
    (snapshot,) = lake.write([(2, "b")], mode="overwrite", watermark=6)
    assert snapshot.watermark == 6


def test_a_commit_that_loses_a_race_leaves_no_file(lake: TestLake, monkeypatch: pytest.MonkeyPatch) -> None:
    from table_format.table.write.batch_commit import BatchCommit

    lake.create()
    lake.write([(1, "a")])
    before = lake.files()

    def too_late(*_: object, **__: object) -> Any:
        message = "another was faster"
        raise ConflictError(message)

    monkeypatch.setattr(BatchCommit, "commit", too_late)
    with pytest.raises(ConflictError):
        lake.write([(2, "b")])
    assert lake.files() == before


def test_unknown_modes_are_refused(lake: TestLake) -> None:
    lake.create()
    frame = lake.frame([(1, "a")], "id long, v string")
    with pytest.raises(InvalidInputError, match="modes are append and overwrite"):
        lake.lake.write(frame, "s.t", mode="ignore")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="partition requires the mode 'overwrite'"):
        lake.lake.write(frame, "s.t", partition={"v": "x"})
    with pytest.raises(InvalidInputError, match="is a system table"):
        lake.lake.write(frame, "s.t$snapshots")


def _schema(arrow: pa.Schema, options: dict[str, str]) -> Any:
    from table_format import Schema

    return Schema.from_arrow(arrow, ("id",), (), options)


def _keys_by_bucket(table: Table) -> dict[int, list[Any]]:
    scan = table.scan(columns=["k"])
    found: dict[int, list[Any]] = {}
    for split in scan.plan():
        for batch in scan.read(split):
            found.setdefault(split.bucket, []).extend(batch.column("k").to_pylist())
    return {bucket: sorted(keys) for bucket, keys in found.items()}
