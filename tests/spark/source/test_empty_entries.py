"""``CREATE TABLE ... USING paimon`` by plain ``spark.sql``."""

from __future__ import annotations

from typing import Any

import pytest

from table_format.errors import UnsupportedFeature
from table_format.spark.source.empty_entries import check_plain_statement
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
