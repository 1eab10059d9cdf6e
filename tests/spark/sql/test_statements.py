"""Statements that create, change and show tables."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException

from table_format.errors import (
    AlreadyExistsError,
    DatabaseNotFound,
    InvalidData,
    InvalidInputError,
    InvalidOption,
    InvalidSql,
    TableFormatError,
    TableNotFound,
    TagNotFound,
    UnsupportedFeature,
)
from table_format.spark.sql.registry import STATEMENTS, StatementKind, register_statement
from table_format.spark.sql.results import rows_of as frame_of_rows
from table_format.spark.sql.session import SqlSession
from table_format.sql.grammar import Grammar, openings
from table_format.sql.reader import Reader
from tests.queries.sessions import settings_of
from tests.spark.lakes import TestLake, jobs_of
from tests.support.registries import forgotten_again

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]


@pytest.fixture
def shop(lake: TestLake) -> TestLake:
    lake.lake.sql("USE s")
    return lake


def rows(lake: TestLake, text: str, **parameters: object) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, lake.lake.sql(text, **parameters).collect()), key=repr)


def test_databases_are_created_used_shown_and_dropped(lake: TestLake) -> None:
    lake.lake.sql("CREATE DATABASE d; CREATE DATABASE IF NOT EXISTS d; USE d")
    assert rows(lake, "SHOW CURRENT DATABASE") == [("paimon", "d")]
    lake.lake.sql("CREATE TABLE t (a INT)")
    assert rows(lake, "SHOW TABLES IN d LIKE 't*'") == [("d", "t", False)]
    assert rows(lake, "SHOW DATABASES LIKE 'd|x*'") == [("d",)]
    with pytest.raises(InvalidInputError, match="not empty"):
        lake.lake.sql("DROP DATABASE d")
    lake.lake.sql("DROP DATABASE d CASCADE; DROP DATABASE IF EXISTS d")
    assert rows(lake, "SHOW CURRENT DATABASE") == [("paimon", "default")]
    with pytest.raises(DatabaseNotFound, match="database 'd' does not exist; create it with CREATE DATABASE"):
        lake.lake.sql("USE d")


def test_what_a_statement_shows_is_collected_without_a_spark_job(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (k INT)")
    shop.append([(1,)])
    for text in ("SHOW TABLES IN s", "SHOW TAGS t", "DESCRIBE t", "CALL sys.create_tag('t', 'x')", "CALL sys.help"):
        assert jobs_of(shop.spark, lambda text=text: rows(shop, text)) == [], text  # type: ignore[misc]  # a default


def test_the_database_default_is_created_for_its_first_table(lake: TestLake) -> None:
    lake.lake.sql("CREATE TABLE t (a INT)")
    assert lake.lake.catalog.list_tables("default") == ("t",)


def test_an_existing_table_is_kept_unless_it_is_replaced(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); CREATE TABLE IF NOT EXISTS t (b INT)")
    with pytest.raises(AlreadyExistsError, match="CREATE OR REPLACE TABLE"):
        shop.lake.sql("CREATE TABLE t (a INT)")
    assert rows(shop, "SELECT a FROM t") == [(1,)]
    shop.lake.sql("CREATE OR REPLACE TABLE t (b STRING)")
    assert shop.lake.sql("SELECT * FROM t").columns == ["b"]
    with pytest.raises(TableNotFound, match="use CREATE OR REPLACE TABLE"):
        shop.lake.sql("REPLACE TABLE u (b INT)")


def test_create_table_as_select_stores_the_columns_and_rows_of_the_query(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (k INT NOT NULL, v STRING, d DATE); INSERT INTO t VALUES (1, 'a', DATE '2026-01-01');"
        "CREATE TABLE u PARTITIONED BY (d) TBLPROPERTIES ('primary-key' = 'k,d', 'bucket' = '1')"
        " AS SELECT *, k * 2 AS w FROM t"
    )
    schema = shop.table("u").schema
    assert (schema.primary_keys, schema.partition_keys, schema.field_names) == (
        ("k", "d"),
        ("d",),
        ("k", "v", "d", "w"),
    )
    assert rows(shop, "SELECT k, w FROM u") == [(1, 2)]


def test_a_table_can_be_replaced_by_a_query_that_reads_it(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t AS SELECT 1 AS a; CREATE OR REPLACE TABLE t AS SELECT a + 1 AS b FROM t")
    assert rows(shop, "SELECT b FROM t") == [(2,)]
    assert rows(shop, "SHOW TABLES IN s") == [("s", "t", False)]


def test_a_failed_create_table_as_select_leaves_nothing(shop: TestLake) -> None:
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        shop.lake.sql("CREATE TABLE t AS SELECT id / (id - 2) AS a FROM range(4)")
    assert rows(shop, "SHOW TABLES IN s") == []
    shop.lake.sql("CREATE TABLE t AS SELECT 1 AS a")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        shop.lake.sql("CREATE OR REPLACE TABLE t AS SELECT id / (id - 2) AS a FROM range(4)")
    assert rows(shop, "SELECT a FROM t") == [(1,)]
    assert rows(shop, "SHOW TABLES IN s") == [("s", "t", False)]


def test_create_table_like_copies_no_rows(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (k INT, v STRING COMMENT 'x', PRIMARY KEY (k) NOT ENFORCED) COMMENT 'c' WITH ('bucket' = '2');"
        "INSERT INTO t VALUES (1, 'a'); CREATE TABLE u LIKE t"
    )
    old, new = shop.table("t").schema, shop.table("u").schema
    assert (new.fields, new.primary_keys, new.options, new.comment) == (
        old.fields,
        old.primary_keys,
        old.options,
        old.comment,
    )
    assert rows(shop, "SELECT * FROM u") == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("CREATE TABLE t (a INT) USING parquet", UnsupportedFeature),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'kafka')", UnsupportedFeature),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'paimon', 'path' = '/x')", InvalidOption),
        ("CREATE TABLE t (a INT) TBLPROPERTIES ('no-such-option' = '1')", InvalidOption),
        ("CREATE TABLE t (a INT DEFAULT f(3))", InvalidSql),
        ("CREATE TABLE hive.s.t (a INT)", InvalidInputError),
        ("ALTER TABLE nope ADD COLUMN a INT", TableNotFound),
        ("DROP TABLE nope", TableNotFound),
    ],
)
def test_invalid_definitions_are_refused_and_create_nothing(
    shop: TestLake, text: str, error: type[TableFormatError]
) -> None:
    with pytest.raises(error):
        shop.lake.sql(text)
    assert rows(shop, "SHOW TABLES IN s") == []


def test_columns_are_added_changed_moved_and_dropped(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (k INT, s STRUCT<a: INT>, v STRING); INSERT INTO t VALUES (1, struct(2), 'x');"
        "ALTER TABLE t ADD COLUMNS (w INT COMMENT 'new' AFTER k, z STRING FIRST); ALTER TABLE t ADD COLUMN s.b STRING;"
        "ALTER TABLE t ALTER COLUMN k TYPE BIGINT; ALTER TABLE t RENAME COLUMN v TO text; ALTER TABLE t DROP COLUMN z;"
        "ALTER TABLE t ALTER COLUMN text FIRST; ALTER TABLE t ALTER COLUMN k COMMENT 'key'"
    )
    assert rows(shop, "DESCRIBE t") == [
        ("k", "bigint", "key"),
        ("s", "struct<a:int,b:string>", None),
        ("text", "string", None),
        ("w", "int", "new"),
    ]
    assert rows(shop, "SELECT * FROM t") == [("x", 1, None, (2, None))]
    with pytest.raises(InvalidInputError, match="text"):
        shop.lake.sql("ALTER TABLE t ALTER COLUMN text TYPE ARRAY<INT>")


def test_alter_table_ignores_the_case_of_columns_as_spark_does(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (k INT, s STRUCT<a: INT, b: INT>);"
        "ALTER TABLE t ALTER COLUMN K TYPE BIGINT, S.A COMMENT 'x';"
        "ALTER TABLE t ADD COLUMN z INT AFTER K; ALTER TABLE t DROP COLUMN S.B; ALTER TABLE t RENAME COLUMN S TO R"
    )
    assert [tuple(row)[:2] for row in shop.lake.sql("DESCRIBE t").collect()] == [
        ("k", "bigint"),
        ("z", "int"),
        ("R", "struct<a:int>"),
    ]
    with pytest.raises(InvalidInputError, match="column 'K' differs only in case from the column 'k'"):
        shop.lake.sql("ALTER TABLE t ADD COLUMN K INT")


def test_a_key_column_can_be_renamed_but_a_partition_column_cannot(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (k INT, dt STRING, PRIMARY KEY (k, dt) NOT ENFORCED) PARTITIONED BY (dt)")
    shop.lake.sql("ALTER TABLE t RENAME COLUMN k TO id")
    assert shop.table().schema.primary_keys == ("id", "dt")
    with pytest.raises(InvalidInputError, match="dt"):
        shop.lake.sql("ALTER TABLE t RENAME COLUMN dt TO day")


def test_the_merge_engine_of_a_table_with_rows_does_not_change(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (k INT PRIMARY KEY NOT ENFORCED, v INT) WITH ('bucket' = '1')")
    shop.lake.sql("INSERT INTO t VALUES (1, 2)")
    with pytest.raises(InvalidInputError, match="merge-engine"):
        shop.lake.sql("ALTER TABLE t SET ('merge-engine' = 'partial-update')")


def test_options_and_the_comment_are_set_and_removed(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (a INT); ALTER TABLE t SET TBLPROPERTIES ('write-buffer-size' = '256 mb', 'comment' = 'c')"
    )
    assert rows(shop, "SHOW TBLPROPERTIES t ('write-buffer-size')") == [("write-buffer-size", "256 mb")]
    assert shop.table().schema.comment == "c"
    for written, shown in (("'first'", "first"), ("NULL", None)):
        shop.lake.sql(f"COMMENT ON COLUMN s.t.a IS {written}; COMMENT ON COLUMN t.A IS {written}")
        assert rows(shop, "DESCRIBE t") == [("a", "int", shown)]
    shop.lake.sql("ALTER TABLE t UNSET TBLPROPERTIES ('write-buffer-size', 'comment')")
    assert (shop.table().schema.options.get("write-buffer-size"), shop.table().schema.comment) == (None, None)


def test_a_table_is_renamed(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t AS SELECT 1 AS a; ALTER TABLE t RENAME TO u; CREATE DATABASE d; ALTER TABLE s.u RENAME TO d.w"
    )
    assert rows(shop, "SELECT a FROM d.w") == [(1,)]
    assert rows(shop, "SHOW TABLES IN s") == []


def test_partitions_are_shown_dropped_and_truncated(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (a INT, dt STRING, hh INT) PARTITIONED BY (dt, hh);"
        "INSERT INTO t VALUES (1, 'x', 1), (2, 'x', 2), (3, 'y', 1), (4, 'z', 1)"
    )
    assert rows(shop, "SHOW PARTITIONS t PARTITION (dt = 'x')") == [("dt=x/hh=1",), ("dt=x/hh=2",)]
    shop.lake.sql("ALTER TABLE t DROP PARTITION (dt = 'x', hh = 1), PARTITION (dt = 'z', hh = 1)")
    assert rows(shop, "SELECT a FROM t") == [(2,), (3,)]
    with pytest.raises(InvalidInputError, match=r"s\.t has no partition dt=none; .*DROP IF EXISTS PARTITION"):
        shop.lake.sql("ALTER TABLE t DROP PARTITION (dt = 'y'), PARTITION (dt = 'none')")
    shop.lake.sql("ALTER TABLE t DROP IF EXISTS PARTITION (dt = 'none')")
    assert rows(shop, "SELECT a FROM t") == [(2,), (3,)]
    shop.lake.sql("TRUNCATE TABLE t PARTITION (dt = 'y', hh = 1)")
    assert rows(shop, "SELECT a FROM t") == [(2,)]
    shop.lake.sql("TRUNCATE TABLE t")
    assert rows(shop, "SELECT a FROM t") == []
    shop.lake.sql(
        "CREATE TABLE days (a INT, day DATE) PARTITIONED BY (day); INSERT INTO days VALUES (1, DATE '1582-10-04')"
    )
    assert rows(shop, "SHOW PARTITIONS days") == [("day=1582-10-04",)]  # as in a PARTITION clause


def test_tags_are_created_replaced_renamed_and_deleted(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    shop.lake.sql("ALTER TABLE t CREATE TAG a AS OF VERSION 1 RETAIN 7 DAYS; ALTER TABLE t CREATE TAG IF NOT EXISTS a")
    assert rows(shop, "SELECT count(*) FROM t VERSION AS OF 'a'") == [(1,)]
    shop.lake.sql("ALTER TABLE t REPLACE TAG a AS OF VERSION 2; ALTER TABLE t CREATE OR REPLACE TAG b")
    assert rows(shop, "SELECT count(*) FROM t VERSION AS OF 'a'") == [(2,)]
    shop.lake.sql("ALTER TABLE t RENAME TAG b TO c")
    assert rows(shop, "SHOW TAGS t") == [("a",), ("c",)]
    with pytest.raises(TagNotFound):
        shop.lake.sql("ALTER TABLE t DELETE TAG `a,c,nope`")
    assert rows(shop, "SHOW TAGS t") == [("a",), ("c",)]
    shop.lake.sql("ALTER TABLE t DELETE TAG `a,c`; ALTER TABLE t DELETE TAG IF EXISTS a")
    assert rows(shop, "SHOW TAGS t") == []
    with pytest.raises(TagNotFound):
        shop.lake.sql("ALTER TABLE t REPLACE TAG a")


def test_branches_are_created_written_and_deleted(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); ALTER TABLE t CREATE TAG x;"
        "ALTER TABLE t CREATE BRANCH b AS OF TAG x; INSERT INTO t$branch_b VALUES (2)"
    )
    assert rows(shop, "SELECT * FROM t$branch_b") == [(1,), (2,)]
    assert rows(shop, "SELECT * FROM `t$branch_b$snapshots`") != []
    assert rows(shop, "SELECT * FROM t") == [(1,)]
    assert rows(shop, "SHOW BRANCHES t") == [("b",)]
    with pytest.raises(TagNotFound, match="branch 'b' was not replaced"):
        shop.lake.sql("ALTER TABLE t CREATE OR REPLACE BRANCH b AS OF TAG nope")
    shop.lake.sql("CALL sys.fast_forward('t', 'b')")
    assert rows(shop, "SELECT * FROM t") == [(1,), (2,)]
    shop.lake.sql("ALTER TABLE t RENAME BRANCH b TO c; ALTER TABLE t DELETE BRANCH c")
    assert rows(shop, "SHOW BRANCHES t") == []


def test_a_table_is_described(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (k INT COMMENT 'key', dt STRING) PARTITIONED BY (dt) COMMENT 'c'")
    found = [tuple(row) for row in shop.lake.sql("DESCRIBE EXTENDED t").collect()]
    assert found[:5] == [
        ("k", "int", "key"),
        ("dt", "string", None),
        ("# Partition Information", "", ""),
        ("# col_name", "data_type", "comment"),
        ("dt", "string", None),
    ]
    assert ("Comment", "c", "") in found
    assert rows(shop, "SHOW COLUMNS IN t") == [("dt",), ("k",)]
    assert rows(shop, "DESCRIBE t K") == [("col_name", "k"), ("comment", "key"), ("data_type", "int")]


def test_views_and_queries_are_described_and_views_are_shown(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (k INT, dt DATE); CREATE TEMPORARY VIEW w (a COMMENT 'x', b) COMMENT 'y' AS TABLE t;"
        "CREATE TEMPORARY VIEW three_numbers AS SELECT * FROM range(3)"
    )
    try:
        assert rows(shop, "DESCRIBE W") == [("a", "int", None), ("b", "date", None)]
        assert rows(shop, "SHOW COLUMNS IN w") == [("a",), ("b",)]
        assert rows(shop, "DESCRIBE three_numbers") == [("id", "bigint", None)]
        assert rows(shop, "DESC QUERY SELECT k + 1L AS n FROM t") == [("n", "bigint", None)]
        assert rows(shop, "SHOW VIEWS LIKE 'W|three*'") == [("", "three_numbers", True), ("", "w", True)]
        assert rows(shop, "SHOW VIEWS IN s 'w'") == [("", "w", True)]
    finally:
        shop.lake.sql("DROP VIEW three_numbers")


def test_a_source_of_merge_may_rename_its_columns(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t AS SELECT 1 AS k, 'a' AS v")
    merge = "MERGE INTO t USING (VALUES (1, 'b'), (2, 'c')) AS s(k, v) ON t.k = s.k "
    shop.lake.sql(merge + "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *")
    assert rows(shop, "TABLE t") == [(1, "b"), (2, "c")]
    with pytest.raises(InvalidInputError, match="the source 's' has 1 column, but 2 names are given"):
        shop.lake.sql("MERGE INTO t USING (SELECT 1) s(k, v) ON t.k = s.k WHEN MATCHED THEN DELETE")


def test_a_source_of_merge_may_be_a_table_function_or_values(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t AS SELECT 1 AS k, 'a' AS v")
    shop.lake.sql("MERGE INTO t USING range(1, 3) r ON t.k = r.id WHEN MATCHED THEN UPDATE SET v = concat(v, r.id)")
    shop.lake.sql("MERGE INTO t USING VALUES (2, 'c') s(k, v) ON t.k = s.k WHEN NOT MATCHED THEN INSERT *")
    assert rows(shop, "TABLE t") == [(1, "a1"), (2, "c")]
    merge = "MERGE INTO t USING paimon_incremental_query('t', '2', '3') r ON t.k = r.k WHEN MATCHED THEN DELETE"
    shop.lake.sql(merge)
    assert rows(shop, "TABLE t") == [(1, "a1")]


@pytest.mark.parametrize(
    ("source", "alias"),
    [
        ("u VERSION AS OF 1", "u"),
        ("u FOR VERSION AS OF :version AS x", "x"),
        ("s.u TIMESTAMP AS OF current_timestamp() - INTERVAL 0 DAYS x", "x"),
        ("paimon.s.u VERSION AS OF 'one'", "s.u"),
    ],
)
def test_a_source_of_merge_may_be_an_earlier_state_of_a_table(shop: TestLake, source: str, alias: str) -> None:
    shop.lake.sql("CREATE TABLE t (k INT, v STRING); CREATE TABLE u AS SELECT 1 AS k, 'a' AS v")
    shop.lake.sql("ALTER TABLE u CREATE TAG one AS OF VERSION 1")
    shop.lake.sql("DELETE FROM u" if "TIMESTAMP" not in source else "SELECT 1")
    merge = f"MERGE INTO t USING {source} ON t.k = {alias}.k WHEN NOT MATCHED THEN INSERT *"
    shop.lake.sql(merge, **({"version": 1} if ":version" in source else {}))
    assert rows(shop, "TABLE t") == [(1, "a")]


def test_common_table_expressions_may_precede_insert(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (k INT, v STRING); WITH c AS (SELECT 7 AS k) INSERT INTO t (k) SELECT k FROM c")
    shop.lake.sql("WITH a(x, z) AS (TABLE t), b AS (SELECT 'v' AS y) INSERT OVERWRITE t SELECT k + 1, y FROM t, b")
    assert rows(shop, "TABLE t") == [(8, "v")]


def test_a_column_with_a_type_that_spark_lacks_is_described(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (a INT, b TIME(3))")
    assert rows(shop, "DESCRIBE t") == [("a", "int", None), ("b", "time(3)", None)]


def test_show_create_table_creates_an_equal_table(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (k BIGINT, s STRUCT<a: INT NOT NULL, b: ARRAY<STRING>> COMMENT 'it''s', n DECIMAL(10, 2),"
        " dt DATE, PRIMARY KEY (k, dt) NOT ENFORCED) PARTITIONED BY (dt) COMMENT 'c' WITH ('bucket' = '2')"
    )
    ((text,),) = rows(shop, "SHOW CREATE TABLE t")
    before = shop.table().schema
    shop.lake.sql("DROP TABLE t;" + text)
    after = shop.table().schema
    assert (after.fields, after.primary_keys, after.partition_keys, after.options, after.comment) == (
        before.fields,
        before.primary_keys,
        before.partition_keys,
        before.options,
        before.comment,
    )


def test_a_table_is_analyzed(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t AS SELECT id FROM range(5); ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS")
    assert rows(shop, "SELECT mergedRecordCount FROM t$statistics") == [(5,)]


# --- INSERT -----------------------------------------------------------------------------------------------------------


def test_rows_are_inserted_by_position_by_names_and_with_columns_left_out(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (a INT, b STRING, c DOUBLE)")
    shop.lake.sql("INSERT INTO t VALUES (1, 'x', 2.5); INSERT INTO t SELECT 2, NULL, DEFAULT")
    shop.lake.sql("INSERT INTO t (C, a) SELECT 4, 3; INSERT INTO t BY NAME SELECT 'y' AS b, 5S AS A")
    assert rows(shop, "SELECT * FROM t") == [(1, "x", 2.5), (2, None, None), (3, None, 4.0), (5, "y", None)]


def test_values_are_cast_by_store_assignment(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (a TINYINT, s STRUCT<x: BIGINT, y: STRING>, d DATE)")
    shop.lake.sql("INSERT INTO t SELECT 7, named_struct('p', 1, 'q', 'z'), TIMESTAMP '2026-01-02 03:04:05'")
    assert [tuple(row.s) for row in shop.lake.sql("SELECT s FROM t").collect()] == [(1, "z")]
    with pytest.raises(AnalysisException, match="`a`"):
        shop.lake.sql("INSERT INTO t VALUES ('7', NULL, NULL)")
    with pytest.raises(Exception, match="OVERFLOW"):
        shop.lake.sql("INSERT INTO t VALUES (700, NULL, NULL)")
    assert rows(shop, "SELECT count(*) FROM t") == [(1,)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO t VALUES (1)", r"expected 2 columns \(a, dt\), found 1"),
        ("INSERT INTO t (a, nope) VALUES (1, 2)", "column 'nope' does not exist; the columns are"),
        ("INSERT INTO t (a, A) VALUES (1, 2)", "column 'a' is given twice"),
        ("INSERT INTO t PARTITION (a = 1) VALUES ('x')", "'a' is not a partition column"),
        ("INSERT INTO t BY NAME SELECT 1 AS b", "column 'b' does not exist; the columns are"),
    ],
)
def test_rows_that_do_not_fit_are_refused(shop: TestLake, text: str, message: str) -> None:
    shop.lake.sql("CREATE TABLE t (a INT, dt STRING) PARTITIONED BY (dt)")
    with pytest.raises(InvalidInputError, match=message):
        shop.lake.sql(text)


def test_a_null_in_a_not_null_column_is_refused(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (a INT NOT NULL, b INT)")
    with pytest.raises(InvalidData, match="column 'a' is INT NOT NULL"):
        shop.lake.sql("INSERT INTO t (b) VALUES (1)")


def test_an_overwrite_is_static_unless_the_session_sets_dynamic(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (id INT, pt STRING) PARTITIONED BY (pt)")
    two, then_shown = "INSERT OVERWRITE t VALUES (1, 'p1'), (2, 'p2');", "; SELECT * FROM t"
    assert rows(shop, "".join([two, "INSERT OVERWRITE t VALUES (3, 'p1')", then_shown])) == [(3, "p1")]
    assert rows(shop, "".join([two, "INSERT OVERWRITE t PARTITION (pt) VALUES (3, 'p1')", then_shown])) == [(3, "p1")]
    kept = [(2, "p2"), (3, "p1")]
    assert rows(shop, "".join([two, "INSERT OVERWRITE t PARTITION (pt = 'p1') VALUES (3)", then_shown])) == kept
    shop.lake.sql(two + "SET spark.sql.sources.partitionOverwriteMode = dynamic")
    try:
        assert rows(shop, "INSERT OVERWRITE t VALUES (3, 'p1'); SELECT * FROM t") == kept
    finally:
        shop.lake.sql("SET spark.sql.sources.partitionOverwriteMode = static")


def test_the_partition_clause_sets_the_value_of_partition_columns(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (a INT, dt DATE, b STRING, hh INT) PARTITIONED BY (dt, hh)")
    shop.lake.sql("INSERT INTO t PARTITION (dt = '2026-01-01', hh) SELECT 1, 'x', 7")
    shop.lake.sql("INSERT INTO t PARTITION (hh = :hh, dt = DATE '2026-01-02') VALUES (2, 'y')", hh=8)
    assert rows(shop, "SELECT a, b, CAST(dt AS STRING), hh FROM t") == [
        (1, "x", "2026-01-01", 7),
        (2, "y", "2026-01-02", 8),
    ]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_partition_value_that_does_not_fit_is_refused_whatever_the_ansi_mode(shop: TestLake, ansi: str) -> None:
    shop.lake.sql("CREATE TABLE t (a INT, b TINYINT, dt DATE) PARTITIONED BY (b, dt)")
    with settings_of(shop.spark, {"spark.sql.ansi.enabled": ansi}):
        for text, message in (
            ("INSERT INTO t PARTITION (b = 300, dt = '2026-01-01') VALUES (1)", "'b' is TINYINT, .* hold int 300"),
            ("INSERT INTO t PARTITION (b = 'x', dt = '2026-01-01') VALUES (1)", "'b' is TINYINT, .* hold str 'x'"),
            ("INSERT INTO t PARTITION (dt = '2026-13-01', b = 1) VALUES (1)", "'dt' is DATE, .* hold str '2026-13-01'"),
        ):
            with pytest.raises(InvalidData, match=f"partition column {message}"):
                shop.lake.sql(text)
        shop.lake.sql("INSERT INTO t PARTITION (b = 1, dt = NULL) VALUES (1)")
    assert rows(shop, "TABLE t") == [(1, 1, None)]


def test_a_decimal_literal_names_a_partition_of_floats(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (a INT, d DOUBLE, f FLOAT) PARTITIONED BY (d, f);"
        "INSERT INTO t VALUES (1, 0.1D, 0.1F), (2, 0.1D, 2.5F), (3, 0.3D, 0.1F);"
        "INSERT OVERWRITE t PARTITION (d = 0.1, f = 0.1) VALUES (10);"
        "ALTER TABLE t DROP PARTITION (d = 0.3D);"
        "TRUNCATE TABLE t PARTITION (f = 2.5)"
    )
    assert rows(shop, "SELECT a FROM t") == [(10,)]
    assert rows(shop, "SHOW PARTITIONS t PARTITION (f = 0.1)") == [("d=0.1/f=0.1",)]


def test_a_literal_with_an_exponent_names_a_partition_of_floats(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (a INT, f FLOAT) PARTITIONED BY (f); INSERT INTO t VALUES (1, 0.1F), (2, 2.5F);"
        "INSERT OVERWRITE t PARTITION (f = 1e-1) VALUES (10); ALTER TABLE t DROP PARTITION (f = 25e-1)"
    )
    assert rows(shop, "SELECT a FROM t") == [(10,)]
    assert rows(shop, "SHOW PARTITIONS t PARTITION (f = 1e-1)") == [("f=0.1",)]


def test_a_time_without_a_zone_names_a_partition_in_the_zone_of_the_session(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (a INT, at TIMESTAMP) PARTITIONED BY (at)")
    with settings_of(shop.spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        for hour in (1, 2, 3):
            shop.lake.sql("INSERT INTO t PARTITION (at = :at) VALUES (:a)", at=f"2026-01-01 0{hour}:00:00", a=hour)
        shop.lake.sql("INSERT OVERWRITE t PARTITION (at = '2026-01-01 01:00:00') VALUES (10)")
        shop.lake.sql("ALTER TABLE t DROP PARTITION (at = TIMESTAMP '2026-01-01 02:00:00')")
        shop.lake.sql("TRUNCATE TABLE t PARTITION (at = '2025-12-31 18:00:00Z')")  # with a zone
    assert rows(shop, "SELECT a, CAST(at AS STRING) FROM t") == [(10, "2025-12-31 16:00:00")]
    assert len(rows(shop, "SHOW PARTITIONS t PARTITION (at = '2025-12-31 16:00:00')")) == 1


def test_replace_where_replaces_the_partitions_that_match(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (a INT, dt STRING) PARTITIONED BY (dt); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z');"
        "INSERT INTO t REPLACE WHERE dt >= (SELECT 'y' FROM t VERSION AS OF 1 LIMIT 1) SELECT a * 10, dt FROM t"
        " WHERE dt = 'z'"
    )
    assert rows(shop, "SELECT * FROM t") == [(1, "x"), (30, "z")]
    shop.lake.sql("INSERT INTO t BY NAME REPLACE WHERE s.t.dt = :day SELECT 'x' AS dt, 7 AS a", day="x")
    assert rows(shop, "SELECT * FROM t") == [(30, "z"), (7, "x")]
    with pytest.raises(InvalidInputError, match="`a` is not a partition column"):
        shop.lake.sql("INSERT INTO t REPLACE WHERE a = 7 VALUES (8, 'x')")
    assert rows(shop, "SELECT count(*) FROM t") == [(2,)]


def test_fields_of_rows_are_matched_by_name_except_in_an_insert_by_position(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (k INT, s STRUCT<a: INT, b: ARRAY<STRUCT<x: INT, y: INT>>>,"
        " m MAP<STRING, STRUCT<p: INT, q: INT>>);"
        "INSERT INTO t BY NAME SELECT named_struct('B', array(named_struct('y', 2L, 'x', 1)), 'a', 7) AS s, 1 AS k,"
        " map('z', named_struct('q', 4, 'p', 3)) AS m;"
        "INSERT INTO t SELECT 2, named_struct('b', 5, 'a', NULL), NULL; INSERT INTO t BY NAME SELECT 3 AS k, NULL AS s"
    )
    shown = "SELECT k, s.a, s.b[0].x, s.b[0].y, m['z'].p FROM t"
    assert rows(shop, shown) == [(1, 7, 1, 2, 3), (2, 5, None, None, None), (3, None, None, None, None)]
    shop.lake.sql(
        "UPDATE t SET s = named_struct('b', array(named_struct('y', 20, 'x', 10)), 'a', 70) WHERE k = 1;"
        "MERGE INTO t USING (SELECT 2 AS k, named_struct('b', NULL, 'A', 50) AS s, map() AS m) u ON t.k = u.k"
        " WHEN MATCHED THEN UPDATE SET *"
    )
    assert rows(shop, shown)[:2] == [(1, 70, 10, 20, 3), (2, 50, None, None, None)]
    for fields in ("'a', 1, 'c', 2", "'a', 1"):
        with pytest.raises(InvalidData, match=r"column 's' is struct<.*, and a value needs fields of the same names"):
            shop.lake.sql(f"INSERT INTO t BY NAME SELECT named_struct({fields}) AS s")


def test_whole_tables_are_inserted_and_copied(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE u AS TABLE t; CREATE TABLE w (TABLE u); INSERT INTO w TABLE t;"
        "INSERT INTO TABLE w TABLE u; CREATE TEMPORARY VIEW x AS TABLE w; INSERT OVERWRITE t (TABLE x)"
    )
    assert rows(shop, "TABLE t") == [(1,), (1,), (1,)]


def test_an_overwrite_may_read_the_rows_that_it_replaces(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t AS SELECT id FROM range(3); INSERT OVERWRITE t SELECT id * 10 FROM t WHERE id > 0")
    assert rows(shop, "SELECT * FROM t") == [(10,), (20,)]


def test_an_options_hint_applies_to_one_insert(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (a INT); INSERT INTO t /*+ OPTIONS('file.format' = 'orc') */ VALUES (1);"
        "INSERT INTO t VALUES (2)"
    )
    assert rows(shop, "SELECT DISTINCT file_format FROM t$files") == [("orc",), ("parquet",)]


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_procedures_accept_positional_and_named_arguments_and_return_rows(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (k INT PRIMARY KEY NOT ENFORCED) WITH ('bucket' = '1');"
        "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)"
    )
    assert rows(shop, "CALL sys.create_tag('t', 'x', 1)") == [(True,)]
    assert rows(shop, "CALL paimon.sys.rollback(table => 's.t', version => :v)", v="x") == [(2, 1)]
    assert rows(shop, "CALL sys.verify(`table` => 't')") == []
    with pytest.raises(InvalidInputError, match="argument 'table' is given twice"):
        shop.lake.sql("CALL sys.compact('t', table => 't')")
    with pytest.raises(UnsupportedFeature, match="procedures are called as CALL sys"):
        shop.lake.sql("CALL compact('t')")


def test_a_rollback_deletes_later_tags(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    shop.lake.sql("CALL sys.create_tag('t', 'late', 2); CALL sys.rollback('t', '1')")
    assert rows(shop, "SHOW TAGS t") == []


def test_retain_max_below_the_minimum_of_the_table_requires_retain_min(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    with pytest.raises(InvalidInputError, match="the table keeps at least 10; pass retain_min too"):
        shop.lake.sql("CALL sys.expire_snapshots(table => 't', retain_max => 1)")


def test_help_lists_procedures_with_their_arguments(shop: TestLake) -> None:
    everything = rows(shop, "CALL sys.help")
    assert {row[0] for row in everything} >= {"compact", "expire_snapshots", "rollback", "verify"}
    of_one = [tuple(row)[:4] for row in shop.lake.sql("CALL sys.help('rollback')").collect()]
    assert of_one[1] == ("rollback", "table", "a text that is not blank", True)


KEYED = "CREATE TABLE t (k INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')"
APPEND = "CREATE TABLE t (k INT, v STRING)"


def test_rows_are_updated_deleted_and_merged(shop: TestLake) -> None:
    shop.lake.sql(KEYED)
    shop.lake.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, NULL)")
    shop.lake.sql("UPDATE t AS x SET v = concat(x.v, :more) WHERE k = :key", more="{!}", key=1)
    shop.lake.sql("DELETE FROM t WHERE v <> 'b' AND k > 2")
    assert rows(shop, "SELECT * FROM t") == [(1, "a{!}"), (2, "b"), (4, None)]
    shop.lake.sql("""
        CREATE TABLE news (k INT, v STRING, op STRING);
        INSERT INTO news VALUES (1, NULL, 'D'), (2, 'bb', 'U'), (9, 'new', 'I');
        MERGE INTO t USING news AS n ON t.k = n.k
        WHEN MATCHED AND n.op = 'D' THEN DELETE
        WHEN MATCHED THEN UPDATE SET t.v = n.v
        WHEN NOT MATCHED THEN INSERT (k, v) VALUES (n.k, n.v)
        WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'old'
    """)
    assert rows(shop, "SELECT * FROM t") == [(2, "bb"), (4, "old"), (9, "new")]
    shop.lake.sql("MERGE INTO t USING (SELECT 4 AS k, 'four' AS v) s ON s.k = t.k WHEN MATCHED THEN UPDATE SET *")
    assert rows(shop, "SELECT v FROM t WHERE k = 4") == [("four",)]


def test_subqueries_of_changes_read_tables_of_the_catalog(shop: TestLake) -> None:
    shop.lake.sql(APPEND)
    shop.lake.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    shop.lake.sql("CREATE TABLE gone (k INT); INSERT INTO gone VALUES (1); INSERT INTO gone VALUES (2)")
    shop.lake.sql("DELETE FROM t WHERE k IN (SELECT k FROM s.gone VERSION AS OF 1)")
    assert rows(shop, "SELECT k FROM t") == [(2,), (3,)]
    shop.lake.sql("UPDATE t SET v = 'gone' WHERE EXISTS (SELECT 1 FROM gone g WHERE g.k = t.k)")
    assert rows(shop, "SELECT * FROM t") == [(2, "gone"), (3, "c")]
    assert not [view for _, view, _ in rows(shop, "SHOW VIEWS") if view.startswith("__paimon")]


def test_columns_of_changes_may_be_qualified_with_the_database(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE DATABASE IF NOT EXISTS other; CREATE TABLE other.t (k INT, v STRING); INSERT INTO other.t VALUES"
        " (2, 'B'), (3, 'C'); CREATE TABLE t (k INT, v STRING); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (4, 'd');"
        "UPDATE s.t SET s.t.v = concat(s.t.v, '!') WHERE paimon.s.t.k = 1;"
        "DELETE FROM t WHERE s.t.k > 3 AND NOT EXISTS (SELECT 1 FROM other.t WHERE other.t.k = s.t.k)"
    )
    assert rows(shop, "TABLE t") == [(1, "a!"), (2, "b")]
    shop.lake.sql(
        "MERGE INTO t USING other.t ON s.t.k = other.t.k WHEN MATCHED THEN UPDATE SET s.t.v = other.t.v"
        " WHEN NOT MATCHED THEN INSERT (s.t.k, v) VALUES (other.t.k, other.t.v)"
    )
    assert rows(shop, "TABLE t") == [(1, "a!"), (2, "B"), (3, "C")]


def test_fields_with_odd_names_are_updated(shop: TestLake) -> None:
    shop.lake.sql(
        "CREATE TABLE t (`a.b` INT, s STRUCT<`in ner`: INT, `d.e`: STRING, `汉`: INT>);"
        "INSERT INTO t VALUES (1, named_struct('in ner', 1, 'd.e', 'x', '汉', 3));"
        "UPDATE t SET `a.b` = 2, s.`in ner` = 5, t.s.`d.e` = '{', s.`汉` = 4 WHERE t.s.`d.e` = 'x'"
    )
    assert rows(shop, "SELECT `a.b`, s.* FROM t") == [(2, 5, "{", 4)]


def test_two_values_for_a_column_are_refused(shop: TestLake) -> None:
    shop.lake.sql(APPEND)
    shop.lake.sql("INSERT INTO t VALUES (1, 'a')")
    with pytest.raises(InvalidInputError, match="column 'v' is given two values"):
        shop.lake.sql("UPDATE t SET v = 'x', t.v = 'y'")
    with pytest.raises(UnsupportedFeature, match="a parameter of type list in UPDATE, DELETE, MERGE and CREATE VIEW"):
        shop.lake.sql("DELETE FROM t WHERE k = :keys", keys=[1])
    assert len(shop.lake.catalog.load_table("s.t").snapshots()) == 1  # type: ignore[union-attr]  # a data table


def test_a_program_can_register_its_own_statement(shop: TestLake) -> None:
    def read(reader: Reader) -> None:
        reader.expect("COUNT", "TABLES")
        reader.end()

    def count(session: SqlSession, _: None) -> Any:
        return frame_of_rows(session.spark, "n int", [(len(session.catalog.list_tables("s")),)])

    kind = StatementKind("count", Grammar(openings("COUNT TABLES"), read), count)
    with forgotten_again(STATEMENTS):
        register_statement(kind)
        assert rows(shop, "CREATE TABLE t (a INT); COUNT TABLES") == [(1,)]
        with pytest.raises(AlreadyExistsError, match="SQL statement 'count' already exists"):
            register_statement(kind)


def test_a_text_contains_its_own_quote_if_it_is_doubled(shop: TestLake) -> None:
    columns = """a STRING COMMENT 'it''s', b STRING DEFAULT 'it''s', c STRING DEFAULT "x""y\\n" """
    shop.lake.sql(f"CREATE TABLE t ({columns}) COMMENT 'a''b'")
    shop.lake.sql("INSERT INTO t VALUES ('''', DEFAULT, DEFAULT)")
    schema = shop.lake.catalog.load_table("s.t").schema
    assert (schema.fields[0].description, schema.comment) == ("it's", "a'b")
    assert rows(shop, "SELECT * FROM t") == [("'", "it's", 'x"y\n')]
    [[text]] = shop.lake.sql("SHOW CREATE TABLE t").collect()
    shop.lake.sql(f"DROP TABLE t; {text}")
    assert shop.lake.catalog.load_table("s.t").schema.fields == schema.fields


@pytest.mark.parametrize("text", ["CREATE TABLE t (a INT, A INT)", "CREATE TABLE t AS SELECT 1 AS a, 2 AS A"])
def test_columns_that_differ_only_in_case_are_refused_unless_the_session_distinguishes_case(
    shop: TestLake, text: str
) -> None:
    with pytest.raises(InvalidInputError, match="column 'A' differs only in case from the column 'a'"):
        shop.lake.sql(text)
    assert not shop.lake.catalog.table_exists("s.t")
    shop.spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        shop.lake.sql(text)
        assert shop.lake.catalog.load_table("s.t").schema.field_names == ("a", "A")
    finally:
        shop.spark.conf.unset("spark.sql.caseSensitive")


def test_a_view_replaces_the_view_of_the_same_name_whatever_it_reads(shop: TestLake) -> None:
    shop.lake.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); CREATE TEMPORARY VIEW w AS SELECT a FROM t")
    with pytest.raises(AlreadyExistsError, match="view 'w' already exists"):
        shop.lake.sql("CREATE TEMPORARY VIEW w AS SELECT 2 AS a")
    shop.lake.sql("CREATE OR REPLACE TEMPORARY VIEW w AS SELECT 2 AS a")
    assert rows(shop, "SELECT a FROM w") == [(2,)]
    shop.lake.sql("CREATE OR REPLACE TEMPORARY VIEW w AS SELECT a + 2 AS a FROM t")
    assert rows(shop, "SELECT a FROM w") == [(3,)]
    shop.lake.sql("DROP VIEW w")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        shop.lake.sql("SELECT a FROM w")
