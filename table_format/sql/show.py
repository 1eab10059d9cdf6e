"""Reads SHOW and DESCRIBE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from table_format.sql.grammar import Grammar, openings
from table_format.sql.reader import Reader, SqlName
from table_format.sql.tables import read_partition


@dataclass(frozen=True, slots=True)
class ShowDatabases:
    """``SHOW DATABASES [LIKE 'pattern']``."""

    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowTables:
    """``SHOW TABLES [IN database] [LIKE 'pattern']``."""

    database: SqlName | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowOfTable:
    """``SHOW PARTITIONS | TAGS | BRANCHES | CREATE TABLE | CREATE VIEW | COLUMNS``; ``what`` is the keyword."""

    what: str
    name: SqlName
    partition: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ShowOptions:
    """``SHOW TBLPROPERTIES name [('key')]``."""

    name: SqlName
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCurrentDatabase:
    """``SHOW CURRENT DATABASE``."""


@dataclass(frozen=True, slots=True)
class DescribeTable:
    """``DESCRIBE [TABLE] [EXTENDED] name [column]``."""

    name: SqlName
    extended: bool = False
    column: str | None = None


@dataclass(frozen=True, slots=True)
class ShowViews:
    """``SHOW VIEWS [IN database] [LIKE 'pattern']``."""

    database: SqlName | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowMaterializedTables:
    """``SHOW MATERIALIZED TABLES [IN database] [LIKE 'pattern']``."""

    database: SqlName | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class DescribeQuery:
    """``DESCRIBE [QUERY] SELECT ...``; ``query`` is the text of the query."""

    query: str


ShowStatement: TypeAlias = (
    ShowDatabases
    | ShowTables
    | ShowOfTable
    | ShowOptions
    | ShowCurrentDatabase
    | ShowViews
    | ShowMaterializedTables
    | DescribeTable
    | DescribeQuery
)

_QUERIES: Final = ("SELECT", "WITH", "FROM", "VALUES", "(")
_CATALOG: Final = "PAIMON"


def read_show_statement(reader: Reader) -> ShowStatement:
    """Read a SHOW or DESCRIBE statement.

    Raises:
        InvalidSql: the statement cannot be parsed.
        UnsupportedFeature: it has a clause that is not supported.
    """
    found = _show(reader) if reader.take("SHOW") else _describe(reader)
    reader.end()
    return found


def _show(reader: Reader) -> ShowStatement:
    if reader.take_any("DATABASES", "SCHEMAS", "NAMESPACES"):
        if reader.take_any("IN", "FROM") and not reader.take(_CATALOG):
            reader.expected("paimon, the name of the catalog")
        return ShowDatabases(_pattern(reader))
    if reader.take("CURRENT"):
        if reader.take_any("DATABASE", "SCHEMA", "NAMESPACE") is None:
            reader.expected("DATABASE")
        return ShowCurrentDatabase()
    if kind := reader.take_any("TABLES", "VIEWS"):
        database = reader.qualified_name("a database") if reader.take_any("IN", "FROM") else None
        return (ShowTables if kind == "TABLES" else ShowViews)(database, _pattern(reader))
    if reader.take("MATERIALIZED", "TABLES"):
        database = reader.qualified_name("a database") if reader.take_any("IN", "FROM") else None
        return ShowMaterializedTables(database, _pattern(reader))
    if reader.sees("TABLE", "EXTENDED"):
        reader.refuse("SHOW TABLE EXTENDED", "use DESCRIBE EXTENDED, or read sys.tables and sys.partitions")
    return _show_of_table(reader)


def _show_of_table(reader: Reader) -> ShowStatement:
    if reader.take("TBLPROPERTIES"):
        name = reader.qualified_name()
        return ShowOptions(name, reader.in_parentheses(reader.option_key)[0] if reader.sees("(") else None)
    if reader.take("CREATE", "TABLE") or reader.take("CREATE", "MATERIALIZED", "TABLE"):
        name = reader.qualified_name()
        if reader.sees("AS", "SERDE"):
            reader.refuse("SHOW CREATE TABLE ... AS SERDE", "leave AS SERDE out")
        return ShowOfTable("CREATE TABLE", name)
    if reader.take("CREATE", "VIEW"):
        return ShowOfTable("CREATE VIEW", reader.qualified_name("the name of a view"))
    if reader.take("COLUMNS"):
        if reader.take_any("IN", "FROM") is None:
            reader.expected("IN")
        name = reader.qualified_name()
        if reader.take_any("IN", "FROM"):
            database = reader.qualified_name("a database")
            name = SqlName((*database.parts, *name.parts), name.start, name.end)
        return ShowOfTable("COLUMNS", name)
    what = reader.take_any("PARTITIONS", "TAGS", "BRANCHES")
    if what is None:
        reader.expected(
            "DATABASES, TABLES, PARTITIONS, TAGS, BRANCHES, COLUMNS, TBLPROPERTIES, CREATE TABLE or CREATE VIEW"
        )
    name = reader.qualified_name()
    partition = read_partition(reader) if what == "PARTITIONS" and reader.take("PARTITION") else None
    return ShowOfTable(what, name, partition)


def _pattern(reader: Reader) -> str | None:
    if reader.take("LIKE") or (reader.word is not None and reader.word.kind.value == "text"):
        return reader.string("a pattern within quotes")
    return None


def _describe(reader: Reader) -> ShowStatement:
    reader.take_any("DESCRIBE", "DESC")
    if any(reader.sees("QUERY", word) for word in _QUERIES):
        reader.take("QUERY")
        return DescribeQuery(reader.rest())
    if reader.sees_any(*_QUERIES):
        return DescribeQuery(reader.rest())
    reader.take("TABLE")
    extended = reader.take_any("EXTENDED", "FORMATTED") is not None
    name = reader.qualified_name()
    if reader.sees("PARTITION"):
        reader.refuse("DESCRIBE ... PARTITION", f"read `{name}$partitions`")
    if reader.sees("AS", "JSON"):
        reader.refuse("DESCRIBE ... AS JSON", "leave AS JSON out")
    column = str(reader.qualified_name("a column")) if reader.word is not None else None
    return DescribeTable(name, extended, column)


GRAMMAR: Final = Grammar(
    openings(
        *(
            f"SHOW {what}"
            for what in (
                *(
                    "DATABASES",
                    "SCHEMAS",
                    "NAMESPACES",
                    "TABLES",
                    "TBLPROPERTIES",
                    "CREATE TABLE",
                    "CREATE MATERIALIZED TABLE",
                    "CREATE VIEW",
                    "MATERIALIZED TABLES",
                    "COLUMNS",
                ),
                *("PARTITIONS", "TAGS", "BRANCHES", "CURRENT", "TABLE EXTENDED", "VIEWS"),
            )
        ),
        "DESCRIBE",
        "DESC",
    ),
    read_show_statement,
)
