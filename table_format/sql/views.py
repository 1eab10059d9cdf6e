"""Reads CREATE and DROP of temporary views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from table_format.sql.grammar import Grammar, openings
from table_format.sql.reader import Reader, SqlName


@dataclass(frozen=True, slots=True)
class CreateView:
    """``CREATE [OR REPLACE] TEMPORARY VIEW name [(column, ...)] AS query``; ``text`` is the whole statement."""

    name: SqlName
    query: str
    columns: tuple[str, ...] = ()
    or_replace: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class DropView:
    """``DROP VIEW [IF EXISTS] name``; ``text`` is the whole statement."""

    name: SqlName
    if_exists: bool = False
    text: str = ""


ViewStatement: TypeAlias = CreateView | DropView


def read_view_statement(reader: Reader) -> ViewStatement:
    """Read a statement about a view.

    Raises:
        InvalidSql: the statement cannot be parsed.
        UnsupportedFeature: the view is not a temporary view of the session.
    """
    if reader.take("DROP", "VIEW"):
        if_exists = reader.take("IF", "EXISTS")
        name = reader.qualified_name("the name of a view")
        reader.end()
        return DropView(name, if_exists, reader.text)
    reader.expect("CREATE")
    or_replace = reader.take("OR", "REPLACE")
    if reader.sees("GLOBAL"):
        reader.refuse("CREATE GLOBAL TEMPORARY VIEW", "use CREATE TEMPORARY VIEW")
    if reader.take_any("TEMPORARY", "TEMP") is None:
        reader.refuse("CREATE VIEW", "the catalog does not store views; use CREATE TEMPORARY VIEW")
    reader.expect("VIEW")
    if reader.sees("IF"):
        reader.refuse("CREATE VIEW IF NOT EXISTS", "use CREATE OR REPLACE")
    name = reader.qualified_name("the name of a view")
    columns: tuple[str, ...] = ()
    if reader.sees("("):
        columns = tuple(reader.in_parentheses(lambda: _column(reader)))
    if reader.take("COMMENT"):
        reader.string()
    if reader.sees("USING"):
        return CreateView(name, "", columns, or_replace, reader.text)
    reader.expect("AS")
    return CreateView(name, reader.rest(), columns, or_replace, reader.text)


def _column(reader: Reader) -> str:
    name = reader.name("the name of a column")
    if reader.take("COMMENT"):
        reader.string()  # which no statement shows
    return name


GRAMMAR: Final = Grammar(
    openings(
        *(
            f"CREATE {kind}VIEW"
            for kind in (
                *("", "OR REPLACE ", "TEMPORARY ", "TEMP ", "OR REPLACE TEMPORARY ", "OR REPLACE TEMP "),
                *("GLOBAL TEMPORARY ", "GLOBAL TEMP ", "OR REPLACE GLOBAL TEMPORARY ", "OR REPLACE GLOBAL TEMP "),
            )
        ),
        "DROP VIEW",
    ),
    read_view_statement,
)
