"""Errors of Spark about a statement name the place in the text of the user, and no internal columns."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, ParseException

from table_format.spark.sql.error_places import corrected
from table_format.sql.splices import Edit
from tests.spark.lakes import TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]


@pytest.fixture
def table(lake: TestLake) -> TestLake:
    lake.lake.sql("USE s; CREATE TABLE t (id INT, v STRING, m MAP<STRING, INT>)")
    return lake


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT nope FROM t", "line 1 pos 7;"),
        ("SELECT sum(id) FROM t GROUP BY nope", "line 1 pos 31;"),
        ("SELECT a.id FROM t a JOIN s.t b ON a.id = b.id WHERE a.nope = 1", "line 1 pos 53;"),
        ("SELECT '{}' FROM t\n  JOIN (SELECT id FROM t$snapshots)", "line 2 pos 15;"),
        ("SELECT id FROM t VERSION AS OF 1 ORDER BY nope", "line 1 pos 42;"),
        ("WITH c AS (SELECT id FROM t) SELECT id FROM c, t WHERE t.id = nope", "line 1 pos 62;"),
        ("SELECT 1; SELECT id FROM t\nWHERE nope", "line 2 pos 6;"),
    ],
)
def test_an_unknown_column_has_its_place(table: TestLake, text: str, place: str) -> None:
    table.lake.sql("INSERT INTO t VALUES (1, 'a', NULL)")
    with pytest.raises(AnalysisException) as raised:
        table.lake.sql(text)
    assert place in str(raised.value)


def test_a_syntax_error_shows_the_text_of_the_user(table: TestLake) -> None:
    with pytest.raises(ParseException) as raised:
        table.lake.sql('SELECT id FROM t\nWHERE id IN (SELECT id AS "x y" FROM t)\nLIMIT 1')
    lines = str(raised.value).splitlines()
    assert "(line 2, pos 26)" in str(raised.value)
    shown = lines.index("SELECT id FROM t")
    assert lines[shown : shown + 3] == ["SELECT id FROM t", 'WHERE id IN (SELECT id AS "x y" FROM t)', "-" * 26 + "^^^"]


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM t WHERE nope = 1",
        "UPDATE t SET v = nope",
        "MERGE INTO t USING t AS u ON t.id = u.id WHEN MATCHED AND t.nope THEN DELETE",
    ],
)
def test_only_columns_of_the_table_are_suggested(table: TestLake, text: str) -> None:
    table.lake.sql("INSERT INTO t VALUES (1, 'a', NULL)")
    with pytest.raises(AnalysisException, match="cannot be resolved") as raised:
        table.lake.sql(text)
    assert "__" not in str(raised.value).splitlines()[0]


def test_a_message_without_a_place_stays() -> None:
    assert corrected("[X] no place", "SELECT 1 FROM t", [Edit(14, 15, "{t0}")]) == "[X] no place"
