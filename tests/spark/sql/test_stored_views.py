"""Views that the catalog keeps: statements about them, and queries of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from table_format import View
from table_format.catalog.jdbc.catalog import JdbcCatalog
from table_format.errors import (
    AlreadyExistsError,
    InvalidInputError,
    TableNotFound,
    UnsupportedFeature,
    ViewNotFound,
)
from table_format.model.types import DataField, IntType, LocalZonedTimestampType, TimestampType
from table_format.spark import Lake, paimon
from tests.spark.lakes import TestLake
from tests.support.jdbc_catalogs import sqlite_options

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]


@pytest.fixture
def shop(spark: Any, tmp_path: Path) -> Lake:
    """A lake with views, whose current database has the table ``t``."""
    lake = paimon(spark, sqlite_options(tmp_path))
    lake.sql("CREATE DATABASE s; USE s; CREATE TABLE t (k INT, v STRING); INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    return lake


def rows(lake: Lake, text: str, **parameters: object) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, lake.sql(text, **parameters).collect()), key=repr)


def kept_views(lake: Lake) -> list[tuple[Any, ...]]:
    """The views of the database, without the temporary ones of other tests of this session."""
    return [row for row in rows(lake, "SHOW VIEWS IN s") if row[0]]


def catalog(lake: Lake) -> JdbcCatalog:
    assert isinstance(lake.catalog, JdbcCatalog)
    return lake.catalog


def test_another_session_reads_the_current_rows_of_a_view(shop: Lake, spark: Any, tmp_path: Path) -> None:
    shop.sql("CREATE VIEW w AS SELECT k + :more AS n, v FROM s.t WHERE k > 1", more=10)
    shop.sql("INSERT INTO t VALUES (3, 'c')")
    other = paimon(spark, sqlite_options(tmp_path))
    assert rows(other, "SELECT * FROM s.w") == [(12, "b"), (13, "c")]
    assert rows(other, "SELECT w.n FROM paimon.s.w WHERE v = 'c'") == [(13,)]
    assert catalog(shop).load_view("s.w").query == "SELECT k + 10 AS n, v FROM s.t WHERE k > 1"


def test_views_are_read_through_views_in_joins_in_other_databases_and_at_earlier_snapshots(shop: Lake) -> None:
    shop.sql(
        "CREATE DATABASE d; INSERT INTO t VALUES (3, 'c');"
        "CREATE VIEW old AS SELECT * FROM s.t VERSION AS OF 1;"
        "CREATE VIEW d.numbers (n) AS SELECT k * 10 FROM s.old;"
        "CREATE TEMPORARY VIEW doubled AS SELECT n * 2 AS n FROM d.numbers"
    )
    assert rows(shop, "SELECT * FROM old") == [(1, "a"), (2, "b")]
    assert rows(shop, "SELECT n FROM d.numbers") == [(10,), (20,)]
    assert rows(shop, "SELECT n FROM doubled") == [(20,), (40,)]
    assert rows(shop, "SELECT t.k, x.n FROM t JOIN d.numbers x ON x.n = t.k * 10") == [(1, 10), (2, 20)]
    assert rows(shop, "SELECT a.n, b.n FROM d.numbers a JOIN d.numbers b ON a.n < b.n") == [(10, 20)]
    assert rows(shop, "SELECT k FROM t WHERE k * 10 IN (SELECT n FROM d.numbers)") == [(1,), (2,)]
    shop.sql("CREATE TABLE c AS SELECT * FROM old; INSERT INTO t SELECT n, 'x' FROM d.numbers")
    assert rows(shop, "SELECT * FROM c") == [(1, "a"), (2, "b")]
    assert rows(shop, "SELECT k FROM t WHERE v = 'x'") == [(10,), (20,)]


def test_a_name_without_a_database_is_one_of_the_current_database(shop: Lake) -> None:
    # As in Paimon's Spark, which stores no database with the text.
    shop.sql("CREATE VIEW w AS SELECT k FROM t; CREATE DATABASE d; USE d")
    with pytest.raises(TableNotFound, match=r"view 's\.w': .*`t`.* current database, 'd'; write database\.table"):
        shop.sql("SELECT * FROM s.w")
    shop.sql("CREATE TABLE t (k INT); INSERT INTO t VALUES (9)")
    assert rows(shop, "SELECT * FROM s.w") == [(9,)]


def test_views_are_created_replaced_shown_described_and_dropped(shop: Lake) -> None:
    shop.sql("CREATE VIEW w (a COMMENT 'it''s a', b) COMMENT 'both' TBLPROPERTIES ('x' = 'y') AS SELECT * FROM s.t")
    with pytest.raises(AlreadyExistsError, match=r"view 's\.w' already exists"):
        shop.sql("CREATE VIEW w AS SELECT 1 AS one")
    shop.sql("CREATE VIEW IF NOT EXISTS w AS SELECT 1 AS one; CREATE VIEW x AS SELECT 1 AS one")
    assert rows(shop, "SHOW VIEWS LIKE 'w'") == [("s", "w", False)]
    assert kept_views(shop) == [("s", "w", False), ("s", "x", False)]
    assert rows(shop, "SHOW TABLES") == [("s", "t", False)]
    assert rows(shop, "DESCRIBE w") == [("a", "int", "it's a"), ("b", "string", None)]
    assert rows(shop, "SHOW COLUMNS IN w") == [("a",), ("b",)]
    extended = rows(shop, "DESCRIBE EXTENDED w")
    assert {("Comment", "both", ""), ("View Text", "SELECT * FROM s.t", ""), ("View Properties", "[x=y]", "")} <= {
        *extended
    }
    ((text,),) = rows(shop, "SHOW CREATE VIEW w")
    assert rows(shop, "SHOW CREATE TABLE s.w") == [(text,)]
    before = catalog(shop).load_view("s.w")
    shop.sql(f"DROP VIEW w; {text}")
    assert catalog(shop).load_view("s.w") == before
    shop.sql("CREATE OR REPLACE VIEW w AS SELECT 7 AS seven; DROP VIEW x; DROP VIEW IF EXISTS s.x")
    assert rows(shop, "SELECT * FROM w") == [(7,)]
    with pytest.raises(ViewNotFound, match=r"view 's\.x' does not exist"):
        shop.sql("DROP VIEW s.x")
    with pytest.raises(InvalidInputError, match=r"not empty"):
        shop.sql("DROP DATABASE s")
    shop.sql("DROP DATABASE s CASCADE")
    assert rows(shop, "SHOW DATABASES") == []


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO w VALUES (1, 'a')",
        "INSERT OVERWRITE w SELECT * FROM t",
        "UPDATE w SET v = 'x'",
        "DELETE FROM w WHERE k = 1",
        "MERGE INTO w USING t ON w.k = t.k WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE w",
        "ALTER TABLE w ADD COLUMN c INT",
        "ALTER TABLE w RENAME TO y",
        "DROP TABLE w",
        "DROP TABLE IF EXISTS w",
        "SHOW PARTITIONS w",
        "ANALYZE TABLE w COMPUTE STATISTICS",
    ],
)
def test_a_statement_about_a_table_refuses_a_view_by_its_name(shop: Lake, statement: str) -> None:
    shop.sql("CREATE VIEW w AS SELECT * FROM s.t")
    with pytest.raises(TableNotFound, match=r"'s\.w' is a view, not a table"):
        shop.sql(statement)
    assert rows(shop, "SELECT * FROM w") == [(1, "a"), (2, "b")]


def test_a_table_and_a_view_have_different_names(shop: Lake) -> None:
    shop.sql("CREATE VIEW w AS SELECT * FROM s.t")
    for statement in (
        "CREATE TABLE w (a INT)",
        "CREATE OR REPLACE TABLE w AS SELECT 1 AS a",
        "CREATE TABLE IF NOT EXISTS w (a INT)",
    ):
        with pytest.raises(AlreadyExistsError, match=r"table 's\.w' cannot be created: there is a view of this name"):
            shop.sql(statement)
    for statement in ("CREATE VIEW t AS SELECT 1 AS a", "CREATE OR REPLACE VIEW t AS SELECT 1 AS a"):
        with pytest.raises(AlreadyExistsError, match=r"view 's\.t' cannot be created: there is a table of this name"):
            shop.sql(statement)
    with pytest.raises(AlreadyExistsError, match=r"there is a view of this name"):
        shop.sql("ALTER TABLE t RENAME TO w")
    with pytest.raises(ViewNotFound, match=r"'s\.t' is a table; use DROP TABLE"):
        shop.sql("DROP VIEW t")
    with pytest.raises(ViewNotFound, match=r"'s\.t' is a table"):
        shop.sql("SHOW CREATE VIEW t")


def test_a_view_that_refers_to_itself_is_refused(shop: Lake) -> None:
    shop.sql("CREATE VIEW w AS SELECT * FROM s.t; CREATE VIEW x AS SELECT * FROM s.w")
    with pytest.raises(InvalidInputError, match=r"view 's\.w' refers to itself: s\.w -> s\.x -> s\.w"):
        shop.sql("CREATE OR REPLACE VIEW w AS SELECT * FROM s.x")
    # Another engine does not check it.
    catalog(shop).create_view(View.of("s.w", catalog(shop).load_view("s.x").fields, "SELECT * FROM s.x"), replace=True)
    with pytest.raises(InvalidInputError, match=r"refers to itself: s\.x -> s\.w -> s\.x"):
        shop.sql("SELECT * FROM x")
    shop.sql("DROP VIEW w; DROP VIEW x")


def test_a_view_whose_table_is_gone_or_has_other_columns_says_so(shop: Lake) -> None:
    shop.sql("CREATE VIEW w AS SELECT * FROM s.t; ALTER TABLE t ADD COLUMN more INT")
    assert rows(shop, "SELECT * FROM w") == [(1, "a"), (2, "b")]
    shop.sql("ALTER TABLE t ALTER COLUMN k TYPE BIGINT")
    with pytest.raises(InvalidInputError, match=r"view 's\.w' declares column 'k' as INT.* now has BIGINT; create"):
        shop.sql("SELECT * FROM w")
    shop.sql("DROP TABLE t")
    with pytest.raises(TableNotFound, match=r"view 's\.w': table 's\.t' does not exist"):
        shop.sql("SELECT * FROM w")
    shop.sql("CREATE TABLE t (k INT)")
    with pytest.raises(InvalidInputError, match=r"view 's\.w' has 2 columns, but its query now has 1; create"):
        shop.sql("SELECT * FROM w")


def test_a_view_is_read_in_the_dialect_of_spark_only(shop: Lake) -> None:
    fields = (DataField(0, "k", IntType()),)
    catalog(shop).create_view(View.of("s.f", fields, "SELECT `k` FROM `s`.`t`", dialect="flink"))
    with pytest.raises(
        UnsupportedFeature, match=r"view 's\.f' has no text in the dialect 'spark'; its dialects are flink"
    ):
        shop.sql("SELECT * FROM f")
    catalog(shop).create_view(View.of("s.broken", fields, "SELECT k FROM s.t WHERE"))
    with pytest.raises(InvalidInputError, match=r"view 's\.broken': its text cannot be run"):
        shop.sql("SELECT * FROM broken")


def test_a_timestamp_is_converted_to_local_time_where_the_catalog_keeps_no_zone(shop: Lake) -> None:
    view = View.of("s.z", (DataField(0, "at", TimestampType(3)),), "SELECT TIMESTAMP '2026-01-31 10:00:00.5' AS at")
    catalog(shop).create_view(view)
    assert shop.sql("SELECT * FROM z").dtypes == [("at", "timestamp_ntz")]
    assert rows(shop, "SELECT CAST(at AS STRING) FROM z") == [("2026-01-31 10:00:00.5",)]
    catalog(shop).create_view(
        View.of("s.y", (DataField(0, "at", LocalZonedTimestampType(3)),), "SELECT TIMESTAMP_NTZ '2026-01-31' AS at")
    )
    with pytest.raises(InvalidInputError, match="declares column 'at' as TIMESTAMP"):
        shop.sql("SELECT * FROM y")


def test_a_view_that_no_other_session_can_read_is_not_created(shop: Lake) -> None:
    shop.sql("CREATE TEMPORARY VIEW mine AS SELECT * FROM t")
    shop.sql("CREATE OR REPLACE TEMPORARY VIEW of_spark AS SELECT 1 AS one")  # Spark keeps views without tables
    for query, error, expected in (
        ("SELECT * FROM mine", InvalidInputError, "cannot read 'mine', a temporary view"),
        ("SELECT t.* FROM t JOIN of_spark", InvalidInputError, "cannot read 'of_spark', a temporary view"),
        ("SELECT k, k FROM s.t", InvalidInputError, "two columns 'k'"),
        ("SELECT * FROM s.missing", TableNotFound, r"s\.missing"),
    ):
        with pytest.raises(error, match=expected):
            shop.sql(f"CREATE VIEW w AS {query}")
    with pytest.raises(InvalidInputError, match=r"view 's\.w' names 1 column, but its query has 2"):
        shop.sql("CREATE VIEW w (a) AS SELECT * FROM t")
    assert catalog(shop).list_views("s") == ()
    shop.sql("CREATE VIEW w AS WITH of_spark AS (SELECT 2 AS one) SELECT * FROM of_spark; DROP VIEW of_spark")
    assert rows(shop, "SELECT * FROM w") == [(2,)]


def test_a_view_gets_another_query_name_and_properties(shop: Lake) -> None:
    shop.sql("CREATE DATABASE d; CREATE VIEW w (a, b) COMMENT 'old' TBLPROPERTIES ('x' = 'y') AS SELECT * FROM s.t")
    shop.sql("ALTER VIEW w AS SELECT k + :more AS n FROM s.t", more=1)
    shop.sql("ALTER VIEW s.w SET TBLPROPERTIES ('comment' = 'new', 'z' = '1')")
    assert rows(shop, "SELECT n FROM w") == [(2,), (3,)]
    shop.sql("ALTER VIEW w RENAME TO x; ALTER VIEW x UNSET TBLPROPERTIES IF EXISTS ('x', 'none')")
    view = catalog(shop).load_view("s.x")
    assert (view.query, view.comment, view.options) == ("SELECT k + 1 AS n FROM s.t", "new", {"z": "1"})
    shop.sql("ALTER VIEW x RENAME TO d.y")
    assert kept_views(shop) == []
    assert rows(shop, "SELECT n FROM d.y") == [(2,), (3,)]
    for statement, error, expected in (
        ("ALTER VIEW d.y AS SELECT * FROM d.y", InvalidInputError, "refers to itself"),
        ("ALTER VIEW d.y AS SELECT * FROM s.missing", TableNotFound, r"s\.missing"),
        ("ALTER VIEW d.y RENAME TO s.t", AlreadyExistsError, r"s\.t"),
        ("ALTER VIEW s.t AS SELECT 1 AS a", ViewNotFound, "'s.t' is a table; use ALTER TABLE"),
        ("ALTER VIEW s.none AS SELECT 1 AS a", ViewNotFound, r"view 's\.none' does not exist"),
        ("ALTER VIEW s.none SET TBLPROPERTIES ('a' = 'b')", ViewNotFound, r"view 's\.none' does not exist"),
    ):
        with pytest.raises(error, match=expected):
            shop.sql(statement)
    shop.sql("CALL sys.alter_view_dialect('d.y', 'add', 'flink', 'SELECT 2')")
    with pytest.raises(InvalidInputError, match="has a text in the dialect flink, which would not fit"):
        shop.sql("ALTER VIEW d.y AS SELECT 3 AS n")
    assert rows(shop, "SELECT n FROM d.y") == [(2,), (3,)]


def test_a_temporary_view_gets_another_query_and_name(shop: Lake) -> None:
    shop.sql(
        "CREATE TEMPORARY VIEW brief AS SELECT k FROM t; ALTER VIEW brief AS SELECT v FROM t;"
        "CREATE TEMPORARY VIEW taken AS SELECT k FROM t;"
        "CREATE OR REPLACE TEMPORARY VIEW of_spark AS SELECT 1 AS one; ALTER VIEW of_spark AS SELECT 2 AS two"
    )
    assert rows(shop, "SELECT * FROM brief") == [("a",), ("b",)]
    assert rows(shop, "SELECT two FROM of_spark") == [(2,)]
    with pytest.raises(AlreadyExistsError, match="'taken' already exists"):
        shop.sql("ALTER VIEW brief RENAME TO taken")
    with pytest.raises(InvalidInputError, match="has no database"):
        shop.sql("ALTER VIEW brief RENAME TO s.renamed")
    with pytest.raises(InvalidInputError, match="'brief' is temporary and has no properties"):
        shop.sql("ALTER VIEW brief SET TBLPROPERTIES ('a' = 'b')")
    shop.sql("ALTER VIEW brief RENAME TO renamed")
    assert rows(shop, "SELECT * FROM renamed") == [("a",), ("b",)]
    shop.sql("DROP VIEW renamed; DROP VIEW taken; DROP VIEW of_spark")


def test_a_catalog_of_directories_keeps_no_views(lake: TestLake) -> None:
    with pytest.raises(UnsupportedFeature, match=r"metastore=jdbc, hive or rest, or use CREATE TEMPORARY VIEW"):
        lake.lake.sql("CREATE VIEW s.w AS SELECT 1 AS a")
    assert kept_views(lake.lake) == []
