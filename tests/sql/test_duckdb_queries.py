"""The tables of queries in DuckDB's SQL."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidSql
from table_format.sql.duckdb_queries import named_tables

NAMES = {
    "SELECT a FROM t": {("t",)},
    "FROM s.t SELECT a": {("s", "t")},
    'SELECT * FROM p.s."t$files" x JOIN u USING (a)': {("p", "s", "t$files"), ("u",)},
    "WITH c AS (SELECT * FROM t) SELECT (SELECT max(a) FROM s.u) FROM c": {("t",), ("s", "u"), ("c",)},
    "SELECT s.t FROM x, LATERAL (SELECT x.a) y": {("x",)},
}


@pytest.mark.parametrize("text", NAMES)
def test_names_of_tables_are_found(text: str) -> None:
    assert {table.parts for table in named_tables(text)} == NAMES[text]


def test_table_names_are_found_in_a_query_that_cannot_be_parsed() -> None:
    found = {table.parts for table in named_tables("FROM s.t WITHOUT SENSE ( SELECT u")}
    assert {("s", "t"), ("u",)} <= found


@pytest.mark.parametrize(
    ("clause", "is_version", "value"),
    [
        ("VERSION AS OF 3", True, 3),
        ("for version as of 'tag'", True, "tag"),
        ("TIMESTAMP AS OF '2026-01-31 12:00:00'", False, "2026-01-31 12:00:00"),
        ("FOR SYSTEM_TIME AS OF '2026-01-31'", False, "2026-01-31"),
    ],
)
def test_time_travel_applies_to_the_table_before_it(clause: str, is_version: bool, value: str) -> None:
    text = f"FROM s.t {clause} AS old JOIN t ON old.a = t.a"
    by_parts = {table.parts: table for table in named_tables(text)}
    travel = by_parts["s", "t"].travel
    assert travel is not None
    assert (travel.is_version, travel.value) == (is_version, value)
    assert text[by_parts["s", "t"].start : by_parts["s", "t"].end] == f"s.t {clause}"
    assert by_parts["s", "t"].has_alias
    assert by_parts["t",].travel is None


def test_a_text_that_is_not_sql_is_refused() -> None:
    with pytest.raises(InvalidSql):
        named_tables("SELECT 'no end")
