"""``df.write.format("paimon")`` in all modes, by path and by name, and ``df.writeTo``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.lakes import TestLake, rows_of

pytestmark = pytest.mark.spark

DDL = "id long, v string"


@pytest.fixture
def attached(lake: TestLake) -> Iterator[TestLake]:
    for name in ("t", "u"):
        lake.create(name, primary_keys=(), bucket="-1")
    lake.write([(1, "a")])
    lake.lake.attach("s")
    yield lake
    lake.spark.sql("DROP DATABASE IF EXISTS s CASCADE")


def frame(lake: TestLake, *rows: tuple[object, ...]) -> Any:
    return lake.frame(rows, DDL)


def test_append_and_overwrite_create_a_missing_table(lake: TestLake) -> None:
    for mode in ("append", "overwrite"):
        path = f"{lake.warehouse}/s.db/{mode}"
        writer = frame(lake, (1, "a"), (1, "b")).coalesce(1).write.format("paimon").mode(mode)
        writer.option("primary-key", "id").option("bucket", "1").save(path)
        assert rows_of(lake.lake.table(f"s.{mode}")) == [(1, "b")]
        assert lake.table(mode).schema.primary_keys == ("id",)


def test_a_failed_first_write_leaves_no_table(lake: TestLake) -> None:
    broken = lake.spark.range(3).selectExpr("id", "CAST(raise_error('no') AS STRING) AS v")
    with pytest.raises(Exception, match="no"):
        broken.write.format("paimon").mode("append").save(f"{lake.warehouse}/s.db/new")
    assert lake.lake.catalog.list_tables("s") == ()


def test_spark_refuses_two_modes_by_path(attached: TestLake) -> None:
    path = attached.table().store.paths.root
    for mode in ("errorifexists", "ignore"):
        with pytest.raises(Exception, match='use either the "Append" or "Overwrite" mode'):
            frame(attached, (2, "b")).write.format("paimon").mode(mode).save(path)
    assert attached.rows_alone() == [(1, "a")]


def test_attached_tables_are_written_by_name(attached: TestLake) -> None:
    frame(attached, (2, "b")).write.insertInto("s.t")
    frame(attached, (3, "c")).write.format("paimon").mode("append").saveAsTable("s.t")
    frame(attached, (4, "d")).writeTo("s.t").append()
    assert attached.rows_alone() == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    frame(attached, (5, "e")).write.format("paimon").mode("ignore").saveAsTable("s.t")
    with pytest.raises(Exception, match="ALREADY_EXISTS"):
        frame(attached, (5, "e")).write.format("paimon").saveAsTable("s.t")
    frame(attached, (6, "f")).write.insertInto("s.t", overwrite=True)
    assert attached.rows_alone() == [(6, "f")]


def test_rows_of_an_attached_table_are_never_written_back_to_it_by_mistake(attached: TestLake) -> None:
    with pytest.raises(Exception, match=r"rows come unchanged from another table of the lake"):
        attached.spark.sql("INSERT INTO s.u SELECT * FROM s.t")
    with pytest.raises(Exception, match=r"rows come unchanged from another table of the lake"):
        attached.spark.table("s.t").writeTo("s.u").append()
    attached.spark.sql("INSERT INTO s.u SELECT id, upper(v) FROM s.t")
    assert (attached.rows_alone(), attached.rows_alone("u")) == ([(1, "a")], [(1, "A")])
    attached.lake.sql("INSERT INTO s.u SELECT * FROM s.t")
    assert attached.rows_alone("u") == [(1, "A"), (1, "a")]


def test_a_table_without_a_string_column_can_be_read_but_not_written_by_name(attached: TestLake) -> None:
    attached.lake.sql("USE s; CREATE TABLE n (a INT); INSERT INTO n VALUES (1)")
    assert rows_of(attached.spark.table("s.n")) == [(1,)]
    with pytest.raises(Exception, match="no column of type STRING"):
        attached.spark.sql("INSERT INTO s.n VALUES (2)")
    assert attached.rows_alone("n") == [(1,)]


@pytest.mark.parametrize("mode", ["append", "overwrite", "errorifexists"])
def test_save_as_table_with_a_new_name_is_refused(attached: TestLake, mode: str) -> None:
    with pytest.raises(Exception, match=r"no table is named.*lake\.sql"):
        frame(attached, (1, "a")).write.format("paimon").mode(mode).saveAsTable("s.made")
    with pytest.raises(Exception, match="another table of the lake"):
        attached.spark.table("s.t").write.format("paimon").mode(mode).saveAsTable("s.made")
    assert "made" not in [entry.name for entry in attached.spark.catalog.listTables("s")]
    assert attached.rows_alone() == [(1, "a")]


def test_create_table_with_location_adds_an_entry_for_an_existing_table(attached: TestLake) -> None:
    path = attached.table().store.paths.root
    attached.spark.sql(f"CREATE TABLE s.here USING paimon LOCATION '{path}'")
    assert rows_of(attached.spark.table("s.here")) == [(1, "a")]
    attached.spark.sql("INSERT INTO s.here VALUES (2, 'b')")
    assert attached.rows_alone() == [(1, "a"), (2, "b")]
    attached.spark.sql("DROP TABLE s.here")
    assert list(Path(path).rglob("data-*"))
    with pytest.raises(Exception, match="does not exist"):
        attached.spark.sql(f"CREATE TABLE s.gone USING paimon LOCATION '{path}_gone'")
