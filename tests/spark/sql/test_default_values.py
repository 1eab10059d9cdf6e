"""DEFAULT of columns: it replaces written nulls and columns that an INSERT leaves out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from table_format.errors import InvalidData, InvalidSchema, InvalidSql, UnsupportedFeature
from tests.spark.lakes import TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]


@pytest.fixture
def lake_with_defaults(lake: TestLake) -> TestLake:
    lake.lake.sql(
        "USE s; CREATE TABLE t (k INT, v STRING DEFAULT 'my_value', n INT DEFAULT 5, r INT NOT NULL DEFAULT 7)"
        " WITH ('bucket' = '-1')"
    )
    return lake


def rows(lake: TestLake) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, lake.lake.sql("SELECT * FROM t").collect()), key=repr)


def test_missing_columns_nulls_and_the_keyword_default_give_the_default_value(lake_with_defaults: TestLake) -> None:
    sql = lake_with_defaults.lake.sql
    sql("INSERT INTO t (k) VALUES (1); INSERT INTO t VALUES (2, NULL, 0, 1), (3, 'x', DEFAULT, DEFAULT)")
    sql("INSERT INTO t (r, k, v) VALUES (DEFAULT, 4, DEFAULT); INSERT INTO t BY NAME SELECT 5 AS k")
    assert rows(lake_with_defaults) == [
        (1, "my_value", 5, 7),
        (2, "my_value", 0, 1),
        (3, "x", 5, 7),
        (4, "my_value", 5, 7),
        (5, "my_value", 5, 7),
    ]
    with pytest.raises(InvalidData, match="column 'r'"):
        sql("INSERT INTO t VALUES (1, 'a', 1, NULL)")


def test_a_default_value_is_changed_for_later_rows_and_removed(lake_with_defaults: TestLake) -> None:
    sql = lake_with_defaults.lake.sql
    sql("INSERT INTO t (k) VALUES (1); ALTER TABLE t ALTER COLUMN n SET DEFAULT 3; INSERT INTO t (k) VALUES (2)")
    sql("ALTER TABLE t ALTER COLUMN n DROP DEFAULT; INSERT INTO t (k) VALUES (3)")
    assert [(row[0], row[2]) for row in rows(lake_with_defaults)] == [(1, 5), (2, 3), (3, None)]
    assert "`v` STRING DEFAULT 'my_value'" in sql("SHOW CREATE TABLE t").collect()[0][0]
    assert lake_with_defaults.table().schema.field("r").default_value == "7"
    assert lake_with_defaults.table().schema.field("n").default_value is None


def test_writes_with_and_without_spark_apply_default_values(lake: TestLake) -> None:
    lake.lake.sql("USE s; CREATE TABLE t (id INT PRIMARY KEY NOT ENFORCED, v STRING DEFAULT 'd') WITH ('bucket' = '1')")
    lake.table().append(pa.table({"id": pa.array([1, 2], pa.int32()), "v": [None, "x"]}))
    lake.write([(3, None)], "id int, v string")
    assert rows(lake) == [(1, "d"), (2, "x"), (3, "d")]
    lake.lake.sql("UPDATE t SET v = DEFAULT WHERE id = 2")
    lake.lake.sql(
        "MERGE INTO t USING (SELECT 9 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    )
    assert rows(lake) == [(1, "d"), (2, "d"), (3, "d"), (9, "d")]


def test_default_values_may_be_nested(lake: TestLake) -> None:
    sql = lake.lake.sql
    sql(
        "USE s; CREATE TABLE t (k INT, a ARRAY<STRING> DEFAULT ARRAY('x', 'y'), m MAP<STRING, INT> DEFAULT MAP('k', 1),"
        " r STRUCT<x: INT, y: STRING> DEFAULT STRUCT(42, 'v'), e MAP<INT, DOUBLE> DEFAULT map()) WITH ('bucket' = '-1')"
    )
    sql("INSERT INTO t (k) VALUES (1); INSERT INTO t VALUES (2, NULL, NULL, NULL, NULL)")
    sql("INSERT INTO t VALUES (3, DEFAULT, map('o', 2), DEFAULT, DEFAULT); UPDATE t SET a = DEFAULT WHERE k = 3")
    nothing = [(k, None, None, None, None) for k in (4, 5)]
    lake.write(nothing, "k int, a array<string>, m map<string, int>, r struct<x: int, y: string>, e map<int, double>")
    usual = (["x", "y"], {"k": 1}, (42, "v"), {})
    other = (["x", "y"], {"o": 2}, (42, "v"), {})
    assert rows(lake) == [(1, *usual), (2, *usual), (3, *other), (4, *usual), (5, *usual)]
    sql("ALTER TABLE t ALTER COLUMN a SET DEFAULT ARRAY('z')")
    created = sql("SHOW CREATE TABLE t").collect()[0][0]
    assert "ARRAY<STRING> DEFAULT ARRAY('z')" in created
    assert "STRUCT<`x`: INT, `y`: STRING> DEFAULT STRUCT(42, 'v')" in created


def test_invalid_default_values_are_refused(lake_with_defaults: TestLake) -> None:
    sql = lake_with_defaults.lake.sql
    with pytest.raises(InvalidSchema, match="unsupported default value"):
        sql("ALTER TABLE t ALTER COLUMN n SET DEFAULT 'x'")
    for text in (
        "CREATE TABLE u (a STRING DEFAULT current_user())",
        "CREATE TABLE u (a ARRAY<INT> DEFAULT array(f(1)))",
    ):
        with pytest.raises(InvalidSql, match=r"line 1, column \d+: expected a literal, found '(current_user|f)'"):
            sql(text)
    with pytest.raises(UnsupportedFeature, match="a default value of type TIMESTAMP"):
        sql("CREATE TABLE u (a TIMESTAMP DEFAULT '2026-01-31')")
    with pytest.raises(InvalidSchema, match=r"column 'a': .*`ARRAY\(x\)` for type ARRAY<INT>.*ARRAY\(1, 2\)"):
        sql("CREATE TABLE u (a ARRAY<INT> DEFAULT array('x'))")
    with pytest.raises(UnsupportedFeature, match="DEFAULT of a new column 'z'"):
        sql("ALTER TABLE t ADD COLUMN z INT DEFAULT 5")
    sql("CREATE TABLE u (a INT, dt STRING DEFAULT 'x') PARTITIONED BY (dt)")
    with pytest.raises(UnsupportedFeature, match="partition column or a bucket key that admits nulls"):
        sql("INSERT INTO u (a) VALUES (1)")
    assert lake_with_defaults.lake.catalog.list_tables("s") == ("t", "u")


@pytest.mark.parametrize(
    "options",
    [
        "'bucket' = '-1'",
        "'bucket' = '-1', 'deletion-vectors.enabled' = 'true'",
        "'bucket' = '1', 'primary-key' = 'k'",
    ],
)
def test_update_and_merge_write_the_default_value_for_default_and_null(lake: TestLake, options: str) -> None:
    # As the reference documents it for INSERT, UPDATE and MERGE; in Spark alone a NULL that is written stays one.
    sql = lake.lake.sql
    sql(f"USE s; CREATE TABLE t (k INT NOT NULL, v STRING, n INT) TBLPROPERTIES ({options})")
    sql("INSERT INTO t VALUES (1, 'a', 0), (2, 'a', 0), (3, 'a', 0), (4, 'a', NULL), (5, NULL, 0)")
    sql("ALTER TABLE t ALTER COLUMN v SET DEFAULT 'd'; ALTER TABLE t ALTER COLUMN n SET DEFAULT 5")
    sql("UPDATE t SET v = DEFAULT WHERE k = 1; UPDATE t SET v = NULL WHERE k = 2")
    sql("MERGE INTO t USING (SELECT 3 AS k) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = NULL, n = DEFAULT")
    lake.table().update({"v": "NULL"}, "k = 4")
    # The whole of a row is written, and rows that no statement changes stay as they are.
    assert rows(lake) == [(1, "d", 0), (2, "d", 0), (3, "d", 5), (4, "d", 5), (5, None, 0)]
