"""Reads CREATE and DROP of views, which a session has or the catalog keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
class CreateStoredView:
    """``CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name [(column [COMMENT '...'], ...)] [COMMENT '...']``
    ``[TBLPROPERTIES (...)] AS query``. ``columns`` are names with comments.
    """

    name: SqlName
    query: str
    columns: tuple[tuple[str, str | None], ...] = ()
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropView:
    """``DROP VIEW [IF EXISTS] name``; ``text`` is the whole statement."""

    name: SqlName
    if_exists: bool = False
    text: str = ""


ViewStatement: TypeAlias = CreateView | CreateStoredView | DropView


def read_view_statement(reader: Reader) -> ViewStatement:
    """Read a statement about a view.

    Raises:
        InvalidSql: the statement cannot be parsed.
        UnsupportedFeature: it has a clause that is not supported.
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
        return _stored(reader, or_replace=or_replace)
    reader.expect("VIEW")
    if reader.sees("IF"):
        reader.refuse("CREATE TEMPORARY VIEW IF NOT EXISTS", "use CREATE OR REPLACE")
    name = reader.qualified_name("the name of a view")
    columns = tuple(column for column, _ in _columns(reader))  # whose comments no statement shows
    if reader.take("COMMENT"):
        reader.string()
    if reader.sees("USING"):
        return CreateView(name, "", columns, or_replace, reader.text)
    reader.expect("AS")
    return CreateView(name, reader.rest(), columns, or_replace, reader.text)


def _stored(reader: Reader, *, or_replace: bool) -> CreateStoredView:
    reader.expect("VIEW")
    start = reader.offset
    if_not_exists = reader.take("IF", "NOT", "EXISTS")
    if if_not_exists and or_replace:
        reader.fail("CREATE OR REPLACE VIEW cannot have IF NOT EXISTS", start)
    name = reader.qualified_name("the name of a view")
    columns = _columns(reader)
    comment: str | None = None
    options: dict[str, str] = {}
    while not reader.take("AS"):
        if reader.take("COMMENT"):
            comment = reader.string()
        elif reader.take("TBLPROPERTIES"):
            options.update(reader.options())
        elif reader.sees("WITH", "SCHEMA"):
            reader.refuse("CREATE VIEW ... WITH SCHEMA", "leave it out: the columns are those of the query now")
        elif reader.sees("PARTITIONED"):
            reader.refuse("CREATE VIEW ... PARTITIONED ON", "leave it out: a view has no files")
        else:
            reader.expected("COMMENT, TBLPROPERTIES or AS")
    return CreateStoredView(name, reader.rest(), columns, comment, options, or_replace, if_not_exists)


def _columns(reader: Reader) -> tuple[tuple[str, str | None], ...]:
    return tuple(reader.in_parentheses(lambda: _column(reader))) if reader.sees("(") else ()


def _column(reader: Reader) -> tuple[str, str | None]:
    name = reader.name("the name of a column")
    return name, reader.string() if reader.take("COMMENT") else None


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
