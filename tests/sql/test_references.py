"""The tables that a query names."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from table_format.errors import InvalidSql
from table_format.sql.qualifiers import Relation
from table_format.sql.references import TableUse, names_in, tables_of
from table_format.sql.splices import Edit, edited


def names(text: str) -> list[str]:
    return [str(use.name) for use in tables_of(text).tables]


def the_table(text: str, **parameters: object) -> TableUse:
    (use,) = tables_of(text, parameters).tables
    return use


NAMES = {
    "SELECT * FROM a JOIN d.b USING (id) LEFT JOIN c.d.e x ON true": ["a", "d.b", "c.d.e"],
    "SELECT (SELECT max(k) FROM a) FROM b WHERE k IN (SELECT k FROM c) AND EXISTS (SELECT 1 FROM d)": list("abcd"),
    "WITH a AS (SELECT 1), b AS (SELECT * FROM a, c) SELECT * FROM b, d.a": ["c", "d.a"],
    "WITH t AS (SELECT * FROM t) SELECT * FROM t": ["t"],
    "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT * FROM t": [],
    "SELECT * FROM q, (WITH q AS (SELECT 1) SELECT * FROM q) x": ["q"],
    "FROM d.t |> WHERE k > 1 |> SELECT k": ["d.t"],
    "SELECT * FROM t, LATERAL explode(t.a) e LATERAL VIEW explode(b) l AS x": ["t"],
    "SELECT a FROM x UNION ALL (SELECT b FROM y EXCEPT SELECT c FROM z)": ["x", "y", "z"],
    "SELECT t:a.b::int FROM d.t": ["d.t"],
    "VALUES (1)": [],
    "TABLE d.t ORDER BY t.k DESC LIMIT 3": ["d.t"],
    "(TABLE a) UNION ALL TABLE b EXCEPT (TABLE c)": ["a", "b", "c"],
    "WITH q AS (TABLE a) TABLE q": ["a"],
    "SELECT EXISTS (TABLE a), k IN (TABLE b) FROM f(TABLE c) JOIN (TABLE d) x ON x.table = 1": list("abcd"),
    "SELECT table, (table) AS table FROM f(g(1, TABLE(e.a)), TABLE b) WHERE table IS NULL": ["e.a", "b"],
    "FROM a |> SET k = (SELECT 1 FROM b) |> DROP v |> OFFSET 3 |> UNION ALL SELECT * FROM c |> LIMIT 1": list("abc"),
    "FROM a |> WHERE k IN (FROM b |> EXCEPT TABLE c) |> ORDER BY k |> LIMIT 2 |> OFFSET 1 |> JOIN d ON true": list(
        "abcd"
    ),
    "SELECT * FROM my_table$snapshots s, `d`.`t$files`, d.t$branch_b$files": [
        "my_table$snapshots",
        "d.t$files",
        "d.t$branch_b$files",
    ],
    "SELECT CAST(NULL AS ARRAY<ROW<a BIGINT>>), ARRAY[ROW(a)] FROM t, UNNEST(x) AS u(y)": ["t"],
    "SELECT '{' || \"FROM x\" /* FROM y */ FROM t -- FROM z": ["t"],
}


@pytest.mark.parametrize("text", NAMES)
def test_names_of_tables_are_found_without_names_of_ctes(text: str) -> None:
    assert names(text) == NAMES[text]


TRAVELS = {
    "VERSION AS OF 3": (True, 3),
    "FOR VERSION AS OF 'my-tag'": (True, "my-tag"),
    "VERSION AS OF :v": (True, 7),
    "FOR SYSTEM_VERSION AS OF 3": (True, 3),
    "TIMESTAMP AS OF '2026-01-01'": (False, "'2026-01-01'"),
    "TIMESTAMP AS OF 1678883047": (False, "1678883047"),
    "FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01'": (False, "TIMESTAMP '2026-01-01'"),
    "TIMESTAMP AS OF date_sub(current_date(), 1)": (False, "date_sub(current_date(), 1)"),
    "TIMESTAMP AS OF current_timestamp() - INTERVAL '1' DAY": (False, "current_timestamp() - INTERVAL '1' DAY"),
}


@pytest.mark.parametrize("text", TRAVELS)
@pytest.mark.parametrize("behind", ["", " AS x", " WHERE k = 1", " JOIN u USING (k)"])
def test_time_travel_applies_to_one_use_of_a_table(text: str, behind: str) -> None:
    query = " ".join(["SELECT * FROM d.t", text]) + behind
    use = tables_of(query, {"v": 7}).tables[0]
    is_version, expected = TRAVELS[text]
    assert use.travel is not None
    assert use.travel.is_version is is_version
    assert (use.travel.value if is_version else use.travel.text) == expected
    assert query[use.end :] == behind


def test_an_options_hint_applies_to_the_table_before_it() -> None:
    query = "SELECT * FROM a /*+ OPTIONS('x' = '1', y = 2) */ AS q JOIN b VERSION AS OF 1 /*+ options('z'='3')*/"
    first, second = tables_of(query).tables
    assert first.options == {"x": "1", "y": "2"}
    assert query[first.end :].startswith(" AS q")
    assert second.options == {"z": "3"}
    assert second.end == len(query)


def test_hints_for_spark_are_ignored() -> None:
    assert the_table("SELECT /*+ BROADCAST(t) */ * FROM d.t").options == {}


@pytest.mark.parametrize(
    "text", ["SELECT 1 /*+ OPTIONS('a'='b') */ FROM t", "SELECT * FROM t WHERE x /*+ OPTIONS() */"]
)
def test_an_options_hint_without_a_table_is_an_error(text: str) -> None:
    with pytest.raises(InvalidSql, match="this OPTIONS hint does not follow a table name"):
        tables_of(text)


def test_a_malformed_hint_is_an_error_with_line_and_column() -> None:
    with pytest.raises(InvalidSql, match="line 2, column 23: expected a literal"):
        tables_of("SELECT *\nFROM t /*+ OPTIONS('a') */")


@pytest.mark.parametrize("version", ["-1", "latest"])
def test_a_version_that_is_no_literal_is_not_taken_for_a_time(version: str) -> None:
    with pytest.raises(InvalidSql, match="line 1, column 31: expected a snapshot id, or the name of a tag"):
        tables_of(f"SELECT * FROM t VERSION AS OF {version}")  # noqa: S608


def test_an_alias_is_inserted_after_a_sample() -> None:
    query = "SELECT * FROM d.t TABLESAMPLE (10 PERCENT) REPEATABLE (3) WHERE k = 1"
    use = the_table(query)
    assert query[use.alias_at :] == " WHERE k = 1"
    assert not use.has_alias


def test_the_database_is_removed_from_qualified_columns() -> None:
    query = "SELECT d.t.a, t.b, x.t.c FROM d.t WHERE D.T.k = 1"
    assert edited(query, tables_of(query).edits) == "SELECT `t`.a, t.b, x.t.c FROM d.t WHERE `t`.k = 1"


ALIASED = {
    "SELECT d.t.k, t.k, paimon.D.T.k, d.t.* FROM t": "SELECT `t`.k, t.k, `t`.k, `t`.* FROM t AS `t`",
    "SELECT x.t.k FROM x.t JOIN y.t ON x.t.k = y.t.k": (
        "SELECT `x.t`.k FROM x.t AS `x.t` JOIN y.t AS `y.t` ON `x.t`.k = `y.t`.k"
    ),
    "SELECT * FROM x.t WHERE t.a = 1 AND EXISTS (SELECT 1 FROM t WHERE t.k = x.t.k)": (
        "SELECT * FROM x.t AS `x.t` WHERE `x.t`.a = 1 AND EXISTS (SELECT 1 FROM t AS `d.t` WHERE `d.t`.k = `x.t`.k)"
    ),
    "SELECT * FROM x.t WHERE EXISTS (SELECT 1 FROM u AS t WHERE t.k = x.t.k)": (
        "SELECT * FROM x.t AS `x.t` WHERE EXISTS (SELECT 1 FROM u AS t WHERE t.k = `x.t`.k)"
    ),
    "SELECT t.* FROM x.t UNION ALL SELECT t.k FROM y.t": (
        "SELECT `x.t`.* FROM x.t AS `x.t` UNION ALL SELECT `y.t`.k FROM y.t AS `y.t`"
    ),
    "WITH t AS (SELECT t.k FROM x.t) SELECT t.k FROM t": "WITH t AS (SELECT t.k FROM x.t AS `t`) SELECT t.k FROM t",
    "SELECT t.a.b, a.b.c FROM d.t": "SELECT t.a.b, a.b.c FROM d.t AS `t`",
}


def aliased(query: str, outer: Sequence[Relation] = ()) -> str:
    found = tables_of(query, database=("paimon", "d"), outer=outer)
    aliases = [Edit(use.alias_at, use.alias_at, f" AS `{use.alias}`") for use in found.tables if not use.has_alias]
    return edited(query, [*found.edits, *aliases])


@pytest.mark.parametrize("query", ALIASED)
def test_columns_are_qualified_with_the_aliases_of_their_tables(query: str) -> None:
    assert aliased(query) == ALIASED[query]


def test_a_name_of_two_tables_is_ambiguous() -> None:
    with pytest.raises(InvalidSql, match="line 1, column 8: 't' is the name of two tables; write the database"):
        aliased("SELECT t.k FROM t JOIN x.t ON true")


def test_an_expression_names_columns_of_the_table_of_its_statement() -> None:
    outer = [Relation(("paimon", "d", "t"), "t")]
    assert aliased("SELECT d.t.k = 1", outer) == "SELECT `t`.k = 1"
    assert aliased("SELECT d.t.k IN (SELECT x.t.k FROM x.t WHERE t.v = d.t.v)", outer) == (
        "SELECT `t`.k IN (SELECT `x.t`.k FROM x.t AS `x.t` WHERE `x.t`.v = `t`.v)"
    )


def test_calls_of_paimon_incremental_query_and_max_pt_are_found() -> None:
    query = "SELECT sys.max_pt('d.t') FROM paimon_incremental_query('d.t', 1, 'x') q"
    first, second = tables_of(query).functions
    assert (first.function, first.arguments) == ("max_pt", ("d.t",))
    assert query[first.start : first.end] == "sys.max_pt('d.t')"
    assert (second.function, second.arguments, second.has_alias) == ("paimon_incremental_query", ("d.t", 1, "x"), True)


def test_paimon_incremental_to_auto_tag_takes_a_table_and_a_tag() -> None:
    (use,) = tables_of("SELECT * FROM paimon_incremental_to_auto_tag('t', '2026-11-29')").functions
    assert (use.arguments, use.has_alias) == (("t", "2026-11-29"), False)
    with pytest.raises(InvalidSql, match=r"takes 2 arguments \(table, tag\), found 3 arguments"):
        tables_of("SELECT * FROM paimon_incremental_to_auto_tag('t', 1, 2)")


UNREADABLE = {
    "SELECT a FROM t WHERE\n  x = = 1": (2, 7),
    "SELECT * FROM t VERSION AS OF current_date()": (1, 31),
    "SELECT * FROM paimon_incremental_query('t', 1)": (1, 15),
}


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_query_with_a_syntax_error_names_line_and_column(text: str) -> None:
    with pytest.raises(InvalidSql) as raised:
        tables_of(text)
    assert (raised.value.line, raised.value.column) == UNREADABLE[text]


def test_possible_table_names_are_found_in_a_text_that_cannot_be_parsed() -> None:
    assert [str(name) for name in names_in("COPY INTO t FROM 'x', u WHERE a = d.v AND b")] == ["t", "u", "d.v"]


def test_nothing_but_an_order_or_a_limit_follows_a_query_of_a_whole_table() -> None:
    with pytest.raises(InvalidSql, match=r"line 2, column 1: after TABLE d\.t, expected ORDER BY, LIMIT or OFFSET"):
        tables_of("TABLE d.t\nWHERE a = 1")


def test_a_query_that_sqlglot_cannot_handle_is_an_error_of_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("sqlglot.parser.Parser.parse", broken)
    with pytest.raises(InvalidSql, match="line 1, column 1: this query cannot be parsed"):
        tables_of("SELECT 'a query of which no other test keeps the tree'")


def test_options_in_parentheses_are_refused_with_an_alternative() -> None:
    with pytest.raises(InvalidSql, match=r"line 1, column 19: WITH \(\.\.\.\) is not supported; use a hint"):
        tables_of("SELECT * FROM d.t WITH ('scan.snapshot-id' = '1')")
