"""Statements by plain ``spark.sql`` that Spark would run on entries alone."""

from __future__ import annotations

from typing import Any

import pytest

from table_format.errors import UnsupportedFeature
from table_format.spark.source.empty_entries import check_plain_statement
from table_format.spark.source.entry_statements import entry_statement
from tests.spark.lakes import TestLake


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a INT) USING paimon",
        "create table if not exists d.`t` (a int) using `paimon` LOCATION '/x'",
        "-- first\nCREATE OR REPLACE TABLE t USING Paimon AS SELECT 1 AS a",
        "REPLACE TABLE t USING paimon OPTIONS (a 'b') AS SELECT 1",
        "CREATE EXTERNAL TABLE t LIKE u USING paimon",
    ],
)
def test_statements_that_create_an_empty_entry_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedFeature, match=r"use lake\.sql with the same text"):
        check_plain_statement(text)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t USING paimon LOCATION '/x'",
        "CREATE TABLE t USING paimon OPTIONS (path '/x')",
        "CREATE TEMPORARY VIEW v USING paimon OPTIONS (path '/x')",
        "CREATE TABLE t (a INT) USING parquet",
        "SELECT 'CREATE TABLE t (a INT) USING paimon'",
        "CREATE TABLE t (a INT) USING paimon COMMENT 'not closed",
    ],
)
def test_other_statements_are_passed_to_spark(text: str) -> None:
    check_plain_statement(text)


@pytest.mark.parametrize(
    ("text", "clause", "name"),
    [
        ("ALTER TABLE d.t ADD COLUMN a INT", "ALTER TABLE", "d.t"),
        ("-- first\nalter table `t` rename to u", "ALTER TABLE", "t"),
        ("COMMENT ON TABLE d.t IS 'x'", "COMMENT ON TABLE", "d.t"),
        ("CREATE TABLE IF NOT EXISTS d.u LIKE d.t", "CREATE TABLE ... LIKE", "d.t"),
    ],
)
def test_a_statement_that_would_change_or_copy_an_entry_is_recognised(text: str, clause: str, name: str) -> None:
    found = entry_statement(text)
    assert found is not None
    assert (found[0], str(found[1])) == (clause, name)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE d.u LIKE d.t USING parquet",
        "CREATE TABLE u USING parquet AS SELECT * FROM t WHERE v LIKE 'a'",
        "CREATE VIEW w AS SELECT * FROM t WHERE v LIKE 'a'",
        "SELECT 'ALTER TABLE t'",
        "ALTER TABLE",
        "ALTER TABLE 'not closed",
        "DROP TABLE t",
    ],
)
def test_statements_on_rows_and_other_tables_are_not(text: str) -> None:
    assert entry_statement(text) is None


@pytest.mark.spark
def test_spark_changes_and_copies_no_entry(lake: TestLake) -> None:
    spark: Any = lake.spark
    lake.create(primary_keys=(), bucket="-1")
    lake.lake.attach("s")
    try:
        for text in (
            "ALTER TABLE s.t ADD COLUMN w INT",
            "ALTER TABLE s.t SET TBLPROPERTIES ('write-only' = 'true')",
            "ALTER TABLE s.t RENAME TO s.u",
            "COMMENT ON TABLE s.t IS 'x'",
            "CREATE TABLE s.u LIKE s.t",
        ):
            with pytest.raises(UnsupportedFeature, match=r"attached table 's\.t' is not supported.*use lake\.sql"):
                spark.sql(text)
        spark.sql("CREATE TABLE s.p (a INT) USING parquet")
        spark.sql("ALTER TABLE s.p SET TBLPROPERTIES ('x' = 'y')")
        assert sorted(entry.name for entry in spark.catalog.listTables("s") if not entry.isTemporary) == ["p", "t"]
    finally:
        spark.sql("DROP DATABASE s CASCADE")


@pytest.mark.spark
def test_spark_creates_no_entry(lake: TestLake) -> None:
    spark: Any = lake.spark
    with pytest.raises(UnsupportedFeature, match=r"USING paimon in spark\.sql"):
        spark.sql("CREATE TABLE made (a INT) USING paimon")
    with pytest.raises(UnsupportedFeature, match=r"USING paimon in spark\.sql"):
        spark.newSession().sql("CREATE TABLE made USING paimon AS SELECT 1 AS a")
    with pytest.raises(Exception, match="name the table"):
        spark.sql("CREATE TABLE made USING paimon")
    assert not spark.catalog.tableExists("made")
    spark.sql("SELECT :a AS a", {"a": 1}).collect()
    assert spark.sql("SELECT {x} AS a", x=2).collect()[0][0] == 2
