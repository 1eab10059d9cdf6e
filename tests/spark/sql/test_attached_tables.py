"""Attached tables in Spark's session catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from table_format import Schema
from table_format.errors import AlreadyExistsError, DatabaseNotFound
from table_format.spark.sql.attached_tables import attach
from tests.spark.lakes import TestLake
from tests.support.dict_catalog import dict_warehouse

pytestmark = pytest.mark.spark

MADE = StructType([StructField("a", IntegerType())])


@pytest.fixture
def attached(lake: TestLake) -> Iterator[TestLake]:
    lake.lake.sql(
        "CREATE DATABASE shop; USE shop; CREATE TABLE t (k INT COMMENT 'key', v STRING) WITH ('bucket' = '-1');"
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')"
    )
    assert lake.lake.attach("shop") == ("t",)
    yield lake
    lake.spark.sql("DROP DATABASE IF EXISTS shop CASCADE")


def rows(lake: TestLake, text: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, lake.spark.sql(text).collect()), key=repr)


def entries(lake: TestLake) -> list[str]:
    """Return the entries of the database, without the temporary views that Spark also lists."""
    return [entry.name for entry in lake.spark.catalog.listTables("shop") if not entry.isTemporary]


def test_a_table_in_a_directory_of_another_name_is_attached_again(lake: TestLake) -> None:
    warehouse = dict_warehouse()
    warehouse.table("t")
    try:
        for _ in range(2):
            assert attach(lake.spark, warehouse.catalog, "db") == ("t",)
    finally:
        lake.spark.sql("DROP DATABASE IF EXISTS db CASCADE")


def test_spark_reads_and_writes_an_attached_table(attached: TestLake) -> None:
    assert rows(attached, "SELECT v FROM shop.t WHERE k > 1") == [("b",)]
    attached.spark.sql("INSERT INTO shop.t VALUES (3, 'c')")
    assert attached.spark.table("shop.t").count() == 3
    attached.spark.sql("INSERT OVERWRITE shop.t SELECT 9, 'z'")
    assert [tuple(row) for row in attached.lake.sql("SELECT * FROM t").collect()] == [(9, "z")]
    assert entries(attached) == ["t"]


def test_statements_that_create_change_and_drop_tables_update_entries(attached: TestLake) -> None:
    attached.lake.sql("CREATE TABLE u AS SELECT 1 AS a; ALTER TABLE t ADD COLUMN w INT; ALTER TABLE u RENAME TO x")
    assert rows(attached, "SELECT a FROM shop.x") == [(1,)]
    assert rows(attached, "SELECT w FROM shop.t") == [(None,), (None,)]
    attached.lake.sql("DROP TABLE t")
    assert entries(attached) == ["x"]
    attached.lake.sql("DROP DATABASE shop CASCADE")
    assert not attached.spark.catalog.databaseExists("shop")


def test_a_table_with_a_type_that_spark_lacks_gets_no_entry(attached: TestLake) -> None:
    schema = Schema.from_arrow(pa.schema([("at", pa.time32("ms"))]), options={"bucket": "-1"})
    attached.lake.catalog.create_table("shop.clock", schema)
    with pytest.warns(UserWarning, match=r"'shop\.clock' has no entry in Spark's catalog: column 'at'"):
        assert attached.lake.attach("shop") == ("t",)
    assert entries(attached) == ["t"]


def test_attaching_again_applies_changes_of_other_programs(attached: TestLake) -> None:
    attached.lake.catalog.rename_table("shop.t", "shop.u")
    assert attached.lake.attach("shop") == ("u",)
    assert entries(attached) == ["u"]


def test_dropping_an_entry_keeps_the_table(attached: TestLake) -> None:
    root = Path(attached.lake.catalog.load_table("shop.t").store.paths.root)  # type: ignore[union-attr]
    attached.spark.sql("DROP TABLE shop.t")
    assert list(root.rglob("data-*"))
    attached.lake.attach("shop")
    assert rows(attached, "SELECT count(*) FROM shop.t") == [(2,)]


def test_another_table_of_spark_is_not_replaced(attached: TestLake) -> None:
    attached.spark.sql("CREATE TABLE shop.other (a INT) USING parquet")
    assert attached.lake.attach("shop") == ("t",)
    with pytest.raises(AlreadyExistsError, match=r"another table 'shop\.other'"):
        attached.lake.sql("CREATE TABLE other (a INT)")
    assert rows(attached, "SELECT * FROM shop.other") == []
    assert attached.lake.catalog.list_tables("shop") == ("t",)


def test_attaching_a_missing_database_is_refused(lake: TestLake) -> None:
    with pytest.raises(DatabaseNotFound):
        lake.lake.attach("nope")


def test_an_empty_entry_that_spark_created_is_refused_when_it_is_used(attached: TestLake) -> None:
    attached.spark.catalog.createTable("shop.made", source="paimon", schema=MADE)
    for text in ("SELECT * FROM shop.made", "INSERT INTO shop.made VALUES (1)"):
        with pytest.raises(Exception, match=r"an empty entry of Spark: drop it, create the table with lake\.sql"):
            rows(attached, text)


def test_a_table_that_spark_created_from_the_rows_of_an_entry_is_not_an_entry(attached: TestLake) -> None:
    attached.spark.sql("CREATE TABLE shop.copy USING parquet AS SELECT * FROM shop.t")
    assert attached.lake.attach("shop") == ("t",)
    assert rows(attached, "SELECT * FROM shop.copy") == [(1, "a"), (2, "b")]
