"""Parsing of UPDATE, DELETE and MERGE."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidSql, UnsupportedFeature
from table_format.sql.changes import (
    DeleteStatement,
    MergeStatement,
    UpdateStatement,
    WhenMatched,
    WhenNotMatched,
    WhenNotMatchedBySource,
    read_change_statement,
)
from table_format.sql.reader import Reader, SqlName

T = SqlName(("d", "t"))


def read(text: str) -> object:
    return read_change_statement(Reader.of(text))


def test_the_expressions_of_an_update_stay_as_written() -> None:
    found = read("UPDATE d.t AS x SET a = CASE WHEN b = 1 THEN 2 END, s.c = f(1, 2) WHERE k IN (SELECT 1, 2)")
    assert found == UpdateStatement(
        T,
        ((("a",), "CASE WHEN b = 1 THEN 2 END"), (("s", "c"), "f(1, 2)")),
        "k IN (SELECT 1, 2)",
        "x",
    )


def test_a_delete_with_and_without_a_condition() -> None:
    assert read("DELETE FROM d.t") == DeleteStatement(T)
    assert read("DELETE FROM d.t x WHERE k > 1 AND v <> 'WHERE'") == DeleteStatement(T, "k > 1 AND v <> 'WHERE'", "x")


def test_a_merge_with_all_clauses() -> None:
    found = read(
        "MERGE INTO d.t AS t USING (SELECT * FROM s) s ON t.k = s.k "
        "WHEN MATCHED AND CASE WHEN s.x THEN true END THEN UPDATE SET v = s.v, w = 1 WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED AND s.k > 1 THEN INSERT (k, v) VALUES (s.k, f(s.v, 2)) "
        "WHEN NOT MATCHED BY TARGET THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE AND t.k = 0 THEN UPDATE SET v = 'old' WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    assert found == MergeStatement(
        T,
        "SELECT * FROM s",
        "t.k = s.k",
        (
            WhenMatched("CASE WHEN s.x THEN true END", ((("v",), "s.v"), (("w",), "1"))),
            WhenMatched(deletes=True),
            WhenNotMatched("s.k > 1", ((("k",), "s.k"), (("v",), "f(s.v, 2)"))),
            WhenNotMatched(),
            WhenNotMatchedBySource("t.k = 0", ((("v",), "'old'"),)),
            WhenNotMatchedBySource(deletes=True),
        ),
        "t",
        "s",
    )


def test_a_star_in_a_merge_sets_all_columns() -> None:
    found = read("MERGE INTO d.t USING d.s ON t.k = s.k WHEN MATCHED THEN UPDATE SET *")
    assert found == MergeStatement(T, SqlName(("d", "s")), "t.k = s.k", (WhenMatched(),))


@pytest.mark.parametrize(
    "text", ["DELETE FROM t USING s", "UPDATE t SET a = s.a FROM s WHERE t.k = s.k", "UPDATE t SET a = f(b) FROM (s)"]
)
def test_an_unsupported_clause_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedFeature, match="is not supported"):
        read(text)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("UPDATE t SET a =", 17),
        ("DELETE t", 8),
        ("MERGE INTO t USING s ON a = b", 30),
        ("MERGE INTO t USING s ON a WHEN NOT MATCHED THEN DELETE", 49),
        ("MERGE INTO t USING s ON a WHEN MATCHED THEN DELETE WHEN MATCHED AND b THEN DELETE", 52),
        ("MERGE INTO t USING s ON a WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)", 56),
    ],
)
def test_a_syntax_error_names_its_line_and_column(text: str, column: int) -> None:
    with pytest.raises(InvalidSql, match=f"line 1, column {column}:"):
        read(text)


def test_a_merge_may_change_the_schema() -> None:
    found = read("MERGE WITH SCHEMA EVOLUTION INTO d.t USING d.s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *")
    assert found == MergeStatement(T, SqlName(("d", "s")), "t.k = s.k", (WhenNotMatched(),), evolves=True)


def test_from_in_an_expression_is_part_of_it() -> None:
    text = "UPDATE t SET a = b IS DISTINCT FROM c, d = extract(year FROM e) + (SELECT max(x) FROM y) WHERE f = 1"
    found = read(text)
    assert isinstance(found, UpdateStatement)
    assert [value for _, value in found.assignments] == [
        "b IS DISTINCT FROM c",
        "extract(year FROM e) + (SELECT max(x) FROM y)",
    ]


def test_an_alias_of_the_source_may_name_its_columns() -> None:
    found = read_change_statement(
        Reader.of("MERGE INTO t USING (VALUES (1)) AS s(k) ON t.k = s.k WHEN MATCHED THEN DELETE")
    )
    assert isinstance(found, MergeStatement)
    assert (found.source, found.source_alias, found.source_columns) == ("VALUES (1)", "s", ("k",))


SOURCES = {
    "range(3) AS s(k)": "SELECT * FROM range(3)",
    "explode(array(1, 2)) s(k)": "SELECT * FROM explode(array(1, 2))",
    "VALUES (1, 'a'), (2, ')') AS s(k, v)": "VALUES (1, 'a'), (2, ')')",
    "values AS s": SqlName(("values",)),
}


@pytest.mark.parametrize("source", SOURCES)
def test_the_source_may_be_a_call_of_a_function_or_values(source: str) -> None:
    found = read(f"MERGE INTO t USING {source} ON t.k = s.k WHEN MATCHED THEN DELETE")
    assert isinstance(found, MergeStatement)
    assert (found.source, found.source_alias) == (SOURCES[source], "s")
