"""Columns whose type has changed, and fields inside arrays and maps: old files as Spark reads them."""

from __future__ import annotations

from typing import Any

import pytest

from table_format.errors import InvalidSchemaChange
from tests.spark.lakes import TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]


@pytest.mark.parametrize(
    "properties", ["'bucket' = '-1'", "'primary-key' = 'id', 'bucket' = '1', 'write-only' = 'true'"]
)
def test_old_files_are_cast_and_filters_on_the_new_type_lose_no_row(lake: TestLake, properties: str) -> None:
    sql = lake.lake.sql
    sql(f"USE s; CREATE TABLE t (id BIGINT NOT NULL, n INT, s STRING, d DATE, x DOUBLE) TBLPROPERTIES ({properties})")
    sql(
        "INSERT INTO t VALUES (1, 10, '7', DATE '1970-01-01', 1e10); INSERT INTO t VALUES (2, 9, '12.9', NULL, -0.5);"
        "ALTER TABLE t ALTER COLUMN n TYPE STRING; ALTER TABLE t ALTER COLUMN s TYPE INT;"
        "ALTER TABLE t ALTER COLUMN d TYPE TIMESTAMP_NTZ; ALTER TABLE t ALTER COLUMN x TYPE INT;"
        "INSERT INTO t VALUES (3, 'ten', 3, NULL, 3)"
    )
    found = [(i, n, s, str(d)[:10], x) for i, n, s, d, x in lake.rows()]
    assert found == [(1, "10", 7, "1970-01-01", 2**31 - 1), (2, "9", 12, "None", 0), (3, "ten", 3, "None", 3)]
    for condition, expected in (
        ("n = '9'", [2]),
        ("n < '5'", [1]),
        ("n >= '9'", [2, 3]),
        ("s = 12", [2]),
        ("s > 3", [1, 2]),
        ("x = 0", [2]),
        ("x > 3", [1]),
        ("d IS NULL", [2, 3]),
    ):
        frames: list[Any] = [
            lake.lake.table("s.t").where(condition),
            sql(f"SELECT * FROM t WHERE {condition}"),  # noqa: S608
            lake.lake.table("s.t", filter=condition),
        ]
        assert [sorted(row.id for row in frame.collect()) for frame in frames] == [expected] * 3, condition
    sql("CALL sys.compact(table => 's.t')")
    assert [(i, n, s, str(d)[:10], x) for i, n, s, d, x in lake.rows()] == found
    with pytest.raises(InvalidSchemaChange, match="there is no cast between them"):
        sql("ALTER TABLE t ALTER COLUMN x TYPE BINARY")


def test_fields_inside_arrays_and_maps_are_changed_by_sql(lake: TestLake) -> None:
    sql = lake.lake.sql
    sql(
        "USE s;"
        "CREATE TABLE t (id INT, a ARRAY<STRUCT<x: INT, y: STRING>>, m MAP<STRING, STRUCT<x: INT>>, n ARRAY<INT>);"
        "INSERT INTO t SELECT 1, array(named_struct('x', 1, 'y', 'b')), map('k', named_struct('x', 2)), array(3);"
        "ALTER TABLE t ALTER COLUMN a.element.x TYPE STRING; ALTER TABLE t RENAME COLUMN a.element.x TO z;"
        "ALTER TABLE t DROP COLUMN a.element.y; ALTER TABLE t ADD COLUMN a.element.w DOUBLE FIRST;"
        "ALTER TABLE t ADD COLUMN m.value.y STRING; ALTER TABLE t ALTER COLUMN n.element TYPE DOUBLE;"
        "INSERT INTO t SELECT 2, array(named_struct('w', 0.5D, 'z', 'n')), map(), array(0.5D)"
    )
    rows = sql("SELECT * FROM t ORDER BY id").collect()
    assert [row.asDict(recursive=True) for row in rows] == [
        {"id": 1, "a": [{"w": None, "z": "1"}], "m": {"k": {"x": 2, "y": None}}, "n": [3.0]},
        {"id": 2, "a": [{"w": 0.5, "z": "n"}], "m": {}, "n": [0.5]},
    ]
    assert [row.id for row in lake.lake.table("s.t").where("a[0].z = '1'").collect()] == [1]


def test_a_snapshot_from_before_a_rename_has_the_rows_that_it_had(lake: TestLake) -> None:
    sql = lake.lake.sql
    sql(
        "USE s; CREATE TABLE t (id BIGINT NOT NULL, v INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', "
        "'write-only' = 'true', 'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'max');"
        "INSERT INTO t VALUES (1, 9); INSERT INTO t VALUES (1, 5); ALTER TABLE t RENAME COLUMN v TO w"
    )
    at = {"scan.snapshot-id": "2"}
    plain = lake.spark.read.format("paimon").options(**at).load(lake.table().store.paths.root)
    frames = [sql("SELECT * FROM t VERSION AS OF 2"), lake.lake.table("s.t", **at), plain]
    assert [[tuple(row) for row in frame.collect()] for frame in frames] == [[(1, 9)]] * 3
    assert [row.id for row in sql("SELECT id FROM t VERSION AS OF 2 WHERE v = 9").collect()] == [1]
    assert lake.lake.aggregate("s.t", {"v": ("sum", "v")}, **at).rows == ({"v": 9},)
    assert sql("SELECT w FROM t").collect()[0].w == 9
