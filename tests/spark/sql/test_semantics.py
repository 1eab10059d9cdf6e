"""The meaning of statements where engines differ: as in Paimon's Spark connector, or refused if rows would be lost.

Other cases are tested with their statements: assignments of key columns, DELETE by merge engine and warnings in
``dml/test_statements.py``, versions and times in ``test_queries.py``, renamed columns, rollback and expiry in
``test_statements.py``.
"""

from __future__ import annotations

from typing import Any

import pytest

from table_format.errors import InvalidData, InvalidInputError, UnsupportedFeature
from tests.spark.lakes import TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]


@pytest.fixture(params=["keyed", "append"])
def table(request: pytest.FixtureRequest, lake: TestLake) -> TestLake:
    key = ", PRIMARY KEY (id) NOT ENFORCED" if request.param == "keyed" else ""
    options = "('bucket' = '1')" if key else "('bucket' = '-1')"
    lake.lake.sql(f"USE s; CREATE TABLE t (id INT NOT NULL, v STRING{key}) WITH {options}")
    lake.lake.sql("INSERT INTO t VALUES (1, 'a'), (2, NULL)")
    return lake


def rows(lake: TestLake) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, lake.lake.sql("SELECT * FROM s.t").collect()), key=repr)


def test_a_merge_is_ambiguous_even_if_a_clause_condition_is_true_for_only_one_row(table: TestLake) -> None:
    with pytest.raises(InvalidData, match="2 rows of the source match the row with id = 1"):
        table.lake.sql(
            "MERGE INTO t USING (VALUES (1, 'x'), (1, 'y') AS s(id, v)) s ON t.id = s.id "
            "WHEN MATCHED AND s.v = 'x' THEN UPDATE SET v = s.v"
        )
    assert rows(table) == [(1, "a"), (2, None)]


def test_all_unmatched_rows_are_inserted_even_if_they_are_equal(table: TestLake) -> None:
    table.lake.sql(
        "MERGE INTO t USING (VALUES (9, 'x'), (9, 'x') AS s(id, v)) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
    )
    is_keyed = bool(table.table().schema.primary_keys)
    assert rows(table) == [(1, "a"), (2, None), *[(9, "x")] * (1 if is_keyed else 2)]


def test_a_condition_that_is_null_deletes_nothing(table: TestLake) -> None:
    table.lake.sql("DELETE FROM t WHERE v <> 'z'")
    assert rows(table) == [(2, None)]


def test_clauses_that_assign_the_key_are_refused(lake: TestLake) -> None:
    lake.lake.sql("USE s; CREATE TABLE t (id INT PRIMARY KEY NOT ENFORCED, v STRING); INSERT INTO t VALUES (1, 'a')")
    for text in (
        "UPDATE t SET id = 2",
        "MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = 2",
    ):
        with pytest.raises(UnsupportedFeature, match="id"):
            lake.lake.sql(text)
    assert rows(lake) == [(1, "a")]


def test_the_merge_engine_can_change_only_before_the_first_snapshot(lake: TestLake) -> None:
    lake.lake.sql("USE s; CREATE TABLE t (id INT PRIMARY KEY NOT ENFORCED, v STRING, w INT) WITH ('bucket' = '1')")
    lake.lake.sql("ALTER TABLE t SET TBLPROPERTIES ('merge-engine' = 'partial-update')")
    lake.lake.sql("INSERT INTO t VALUES (1, 'a', NULL); INSERT INTO t VALUES (1, NULL, 5)")
    assert rows(lake) == [(1, "a", 5)]
    with pytest.raises(InvalidInputError, match="merge-engine"):
        lake.lake.sql("ALTER TABLE t UNSET TBLPROPERTIES ('merge-engine')")
    assert rows(lake) == [(1, "a", 5)]


def test_a_replaced_table_keeps_neither_snapshots_nor_tags_nor_options(table: TestLake) -> None:
    table.lake.sql("ALTER TABLE t CREATE TAG x; CREATE OR REPLACE TABLE t (z INT) TBLPROPERTIES ('bucket' = '-1')")
    assert table.table().tags() == {}
    assert table.table().facts.snapshots.latest() is None
    assert table.table().schema.field_names == ("z",)
    assert table.table().schema.primary_keys == ()


def test_a_fast_forward_replaces_the_snapshots_of_main_by_those_of_the_branch(table: TestLake) -> None:
    table.lake.sql("ALTER TABLE t CREATE TAG x; ALTER TABLE t CREATE BRANCH b AS OF TAG x")
    table.lake.sql("INSERT INTO t VALUES (3, 'main'); INSERT INTO `t$branch_b` VALUES (4, 'branch')")
    table.lake.sql("CALL sys.fast_forward('s.t', 'b')")
    assert rows(table) == [(1, "a"), (2, None), (4, "branch")]


def test_statements_and_procedures_create_tags(table: TestLake) -> None:
    table.lake.sql("ALTER TABLE t CREATE TAG `by-text` AS OF VERSION 1; CALL sys.create_tag('s.t', 'by-call', 1)")
    assert [row[0] for row in table.lake.sql("SHOW TAGS t").collect()] == ["by-call", "by-text"]
    with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
        table.spark.sql("ALTER TABLE s.t CREATE TAG x")
