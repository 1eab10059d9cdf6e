"""Reads INSERT INTO and INSERT OVERWRITE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from table_format.sql.grammar import Grammar, openings, verb_after_ctes
from table_format.sql.hints import options_between
from table_format.sql.reader import Reader, SqlName


@dataclass(frozen=True, slots=True)
class Insert:
    """``INSERT INTO | OVERWRITE``: ``query`` is the text of the rows.

    ``partition`` has the values of the partition columns that are given, and ``None`` for those that the query returns.
    ``replaces`` is the condition of ``REPLACE WHERE``. ``options`` come from a hint after the name.
    """

    name: SqlName
    query: str
    overwrites: bool = False
    columns: tuple[str, ...] | None = None
    by_name: bool = False
    partition: Mapping[str, Any] | None = None
    replaces: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OfQuery:
    """Marks a partition column whose values the query returns."""


OF_QUERY: Final = OfQuery()

_BEFORE_QUERY: Final = ("SELECT", "WITH", "VALUES", "TABLE")


def read_insert(reader: Reader) -> Insert:
    """Read an INSERT statement. Common table expressions before it become part of its query.

    Raises:
        InvalidSql: the statement cannot be parsed.
        UnsupportedFeature: it has a clause that is not supported.
    """
    ctes = _ctes(reader)
    reader.expect("INSERT")
    overwrites = reader.take("OVERWRITE")
    if not overwrites:
        reader.expect("INTO")
    elif reader.sees("DIRECTORY") or reader.sees("LOCAL"):
        reader.refuse("INSERT OVERWRITE DIRECTORY", "write the DataFrame of the query")
    reader.take("TABLE")
    name = reader.qualified_name()
    options = options_between(reader.text, name.end, reader.offset)
    reader.passed_on.append((name.end, reader.offset))
    partition = None
    if reader.take("PARTITION"):
        partition = dict(reader.in_parentheses(lambda: _partition_column(reader)))
        if reader.sees("IF", "NOT", "EXISTS"):
            reader.refuse("IF NOT EXISTS of a partition", "check SHOW PARTITIONS first")
    by_name = reader.take("BY", "NAME")
    columns = None
    if reader.sees("(") and not _is_query(reader):
        columns = tuple(reader.in_parentheses(lambda: reader.name("the name of a column")))
    replaces = _replaced(reader, has_target=overwrites or partition is not None or columns is not None)
    if not reader.sees_any(*_BEFORE_QUERY, "FROM", "("):
        reader.expected("a query or VALUES")
    if ctes and reader.sees("WITH"):
        reader.refuse("WITH before and after INSERT", "write one WITH")
    query = ctes + reader.rest()[len(ctes) :]
    return Insert(name, query, overwrites, columns, by_name, partition, replaces, options)


def _ctes(reader: Reader) -> str:
    """Skip common table expressions and return the text before INSERT, which is empty without them."""
    verb = verb_after_ctes(reader.words) if reader.sees("WITH") else None
    if verb is None:
        return ""
    reader.position = reader.words.index(verb)
    reader.passed_on.append((0, verb.start))
    return reader.text[: verb.start]


def _replaced(reader: Reader, *, has_target: bool) -> str | None:
    """Read the condition of ``REPLACE WHERE``. Spark allows it only directly after the name, or after BY NAME."""
    if not reader.sees("REPLACE"):
        return None
    if not reader.sees("REPLACE", "WHERE"):
        reader.refuse("INSERT INTO ... REPLACE without WHERE", "use REPLACE WHERE, or INSERT OVERWRITE with PARTITION")
    if has_target:
        reader.refuse("REPLACE WHERE with OVERWRITE, PARTITION or columns", "write INSERT INTO t REPLACE WHERE ...")
    reader.expect("REPLACE", "WHERE")
    return reader.expression(*_BEFORE_QUERY)


def _is_query(reader: Reader) -> bool:
    return any(reader.sees("(", word) for word in ("SELECT", "WITH", "VALUES", "TABLE", "FROM", "("))


def _partition_column(reader: Reader) -> tuple[str, Any]:
    name = reader.name("a partition column")
    return name, reader.value() if reader.take("=") else OF_QUERY


GRAMMAR: Final = Grammar(openings("INSERT"), read_insert, after_ctes=True)
