"""Reads UPDATE, DELETE and MERGE. The expressions of the user stay text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from table_format.counted import counted
from table_format.sql.grammar import Grammar, openings
from table_format.sql.reader import Reader, SqlName
from table_format.sql.references import travel_clause

_TRAVELS: Final = (("VERSION", "AS"), ("TIMESTAMP", "AS"), ("FOR",))
_OF_QUERIES: Final = (
    *("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "LATERAL", ","),
    *("WHERE", "TABLESAMPLE", "PIVOT", "UNPIVOT"),
)
"""The beginnings of clauses that a query may have after a table, but not the source of a MERGE."""

Assignments: TypeAlias = tuple[tuple[tuple[str, ...], str], ...]
"""Columns, each as a path of names, with the text of its new value."""


@dataclass(frozen=True, slots=True)
class UpdateStatement:
    """``UPDATE table SET column = expression, ... [WHERE condition]``."""

    name: SqlName
    assignments: Assignments
    condition: str | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteStatement:
    """``DELETE FROM table [WHERE condition]``."""

    name: SqlName
    condition: str | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class WhenMatched:
    """``WHEN MATCHED [AND ...] THEN``: DELETE, or UPDATE. Without assignments, ``UPDATE SET *``."""

    condition: str | None = None
    assignments: Assignments | None = None
    deletes: bool = False


@dataclass(frozen=True, slots=True)
class WhenNotMatched:
    """``WHEN NOT MATCHED [BY TARGET] [AND ...] THEN INSERT``. Without values, ``INSERT *``."""

    condition: str | None = None
    values: Assignments | None = None


@dataclass(frozen=True, slots=True)
class WhenNotMatchedBySource:
    """``WHEN NOT MATCHED BY SOURCE [AND ...] THEN``: changes rows of the table that match no source row."""

    condition: str | None = None
    assignments: Assignments | None = None
    deletes: bool = False


WhenClause: TypeAlias = WhenMatched | WhenNotMatched | WhenNotMatchedBySource


@dataclass(frozen=True, slots=True)
class MergeStatement:
    """``MERGE INTO table USING source ON condition WHEN ...``; ``source`` is the name of a table, or a query as text.

    ``travel`` is the time travel clause of a source that is a table, such as ``VERSION AS OF 3``. ``evolves`` is true
    for ``MERGE WITH SCHEMA EVOLUTION INTO``. ``source_columns`` are the new names of the columns of the source, as in
    ``AS s(a, b)``.
    """

    name: SqlName
    source: SqlName | str
    condition: str
    clauses: tuple[WhenClause, ...]
    alias: str | None = None
    source_alias: str | None = None
    evolves: bool = False
    source_columns: tuple[str, ...] = ()
    travel: str = ""


ChangeStatement: TypeAlias = UpdateStatement | DeleteStatement | MergeStatement


def read_change_statement(reader: Reader) -> ChangeStatement:
    """Read a statement that changes rows.

    Raises:
        InvalidSql: the statement cannot be parsed.
        UnsupportedFeature: it has a clause that is not supported.
    """
    if reader.take("UPDATE"):
        name, alias = reader.qualified_name(), _alias(reader, "SET")
        reader.expect("SET")
        assignments = _assignments(reader, "WHERE")
        _refuse_from(reader)
        found: ChangeStatement = UpdateStatement(name, assignments, _condition(reader), alias)
    elif reader.take("DELETE"):
        reader.expect("FROM")
        name, alias = reader.qualified_name(), _alias(reader, "WHERE")
        if reader.sees("USING"):
            reader.refuse("DELETE ... USING", "use WHERE ... IN (SELECT ...), or MERGE")
        found = DeleteStatement(name, _condition(reader), alias)
    else:
        found = _merge(reader)
    reader.end()
    return found


def _alias(reader: Reader, *stops: str) -> str | None:
    if reader.take("AS"):
        return reader.name("an alias")
    if reader.word is not None and reader.word.is_name and not reader.sees_any(*stops, "USING", "ON", "WHEN"):
        return reader.name("an alias")
    return None


def _condition(reader: Reader) -> str | None:
    return reader.expression() if reader.take("WHERE") else None


def _refuse_from(reader: Reader) -> None:
    """Refuse ``UPDATE t SET ... FROM s``. FROM within parentheses and after DISTINCT belongs to an expression."""
    depth = 0
    for before, word in pairwise(reader.words[: reader.position]):
        depth += word.says("(") - word.says(")")
        if depth == 0 and word.says("FROM") and not before.says("DISTINCT"):
            reader.refuse("UPDATE ... FROM", "use MERGE INTO t USING s ON ... WHEN MATCHED THEN UPDATE", word.start)


def _assignments(reader: Reader, *stops: str) -> Assignments:
    found = []
    while True:
        path = reader.qualified_name("a column").parts
        reader.expect("=")
        found.append((path, reader.expression(",", *stops)))
        if not reader.take(","):
            return tuple(found)


def _merge(reader: Reader) -> MergeStatement:
    reader.expect("MERGE")
    evolves = reader.take("WITH", "SCHEMA", "EVOLUTION")
    reader.expect("INTO")
    name, alias = reader.qualified_name(), _alias(reader)
    reader.expect("USING")
    source = _source(reader)
    travel = travel_clause(reader) if isinstance(source, SqlName) else ""
    _refuse_clause_of_source(reader)
    source_alias = _alias(reader)
    source_columns: tuple[str, ...] = ()
    if source_alias is not None and reader.sees("("):
        source_columns = tuple(reader.in_parentheses(lambda: reader.name("a column")))
    _refuse_clause_of_source(reader)
    reader.expect("ON")
    condition = reader.expression("WHEN")
    clauses: list[WhenClause] = []
    while reader.sees("WHEN"):
        start = reader.offset
        reader.take("WHEN")
        clause = _when(reader)
        if any(type(before) is type(clause) and before.condition is None for before in clauses):
            reader.fail("this clause never applies, because an earlier clause of the same kind has no condition", start)
        clauses.append(clause)
    if not clauses:
        reader.expected("WHEN")
    return MergeStatement(name, source, condition, tuple(clauses), alias, source_alias, evolves, source_columns, travel)


def _source(reader: Reader) -> SqlName | str:
    """Read the source of a MERGE: a table, a query in parentheses, VALUES, or a call of a table function."""
    start = reader.offset
    if reader.sees("("):
        reader.skip_parentheses()
        reader.passed_on.append((start, reader.last_end))
        return reader.text[start + 1 : reader.last_end - 1].strip()
    if reader.sees("VALUES", "("):
        reader.take("VALUES")
        reader.skip_parentheses()
        while reader.take(","):
            reader.skip_parentheses()
        reader.passed_on.append((start, reader.last_end))
        return reader.text[start : reader.last_end]
    name = reader.qualified_name("the source")
    if not reader.sees("("):
        return name
    reader.skip_parentheses()
    reader.passed_on.append((start, reader.last_end))
    return f"SELECT * FROM {reader.text[start : reader.last_end]}"  # noqa: S608 - the text of the user


def _refuse_clause_of_source(reader: Reader) -> None:
    if any(reader.sees(*words) for words in _TRAVELS):
        reader.refuse("time travel here", "write it after the name of a table and before its alias")
    for word in _OF_QUERIES:
        if reader.sees(word):
            clause = "a list of sources" if word == "," else f"{word} after the source"
            reader.refuse(clause, "write the query in parentheses: USING (SELECT ...) AS alias")


def _when(reader: Reader) -> WhenClause:
    matched = not reader.take("NOT")
    reader.expect("MATCHED")
    by_source = False
    if not matched and reader.take("BY"):
        by_source = reader.take("SOURCE")
        if not by_source:
            reader.expect("TARGET")
    condition = reader.expression("THEN") if reader.take("AND") else None
    reader.expect("THEN")
    if not matched and not by_source:
        reader.expect("INSERT")
        return WhenNotMatched(condition, _inserted(reader))
    deletes = reader.take("DELETE")
    assignments = None
    if not deletes:
        reader.expect("UPDATE", "SET")
        if not (matched and reader.take("*")):
            assignments = _assignments(reader, "WHEN")
    return (WhenMatched if matched else WhenNotMatchedBySource)(condition, assignments, deletes)


def _inserted(reader: Reader) -> Assignments | None:
    if reader.take("*"):
        return None
    start = reader.offset
    columns = reader.in_parentheses(lambda: reader.qualified_name("a column").parts)
    reader.expect("VALUES")
    values = reader.in_parentheses(lambda: reader.expression(","))
    if len(columns) != len(values):
        reader.fail(
            f"found {counted(len(columns), 'column')} and {counted(len(values), 'value')}; give each column a value",
            start,
        )
    return tuple(zip(columns, values, strict=True))


GRAMMAR: Final = Grammar(openings("UPDATE", "DELETE", "MERGE"), read_change_statement)
