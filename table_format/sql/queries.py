"""Queries, EXPLAIN, and all that is left to the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from table_format.sql.grammar import Grammar, openings
from table_format.sql.reader import Reader


@dataclass(frozen=True, slots=True)
class Query:
    """A query, as text."""

    text: str


@dataclass(frozen=True, slots=True)
class Explain:
    """``EXPLAIN [EXTENDED | FORMATTED | ...] query``."""

    mode: str
    query: str


@dataclass(frozen=True, slots=True)
class OfEngine:
    """A statement that is none of this library; the engine runs it if it names no table of the catalog."""

    text: str


QueryStatement: TypeAlias = Query | Explain | OfEngine

_QUERIES: Final = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")


def read_query(reader: Reader) -> QueryStatement:
    """A query, or any other statement.

    Raises:
        UnsupportedFeature: a WITH before an INSERT.
    """
    if reader.sees_any(*_QUERIES):
        _refuse_other_than_query(reader)
        return Query(reader.rest())
    if reader.take("EXPLAIN"):
        mode = reader.take_any("EXTENDED", "FORMATTED", "CODEGEN", "COST") or ""
        if reader.sees_any(*_QUERIES):
            return Explain(mode, reader.rest())
        reader.refuse("EXPLAIN of other statements than queries", "explain the query of the statement")
    return OfEngine(reader.rest())


def _refuse_other_than_query(reader: Reader) -> None:
    depth = 0
    for number, word in enumerate(reader.words):
        depth += word.says("(") - word.says(")")
        following = reader.words[number + 1] if number + 1 < len(reader.words) else None
        if (
            depth == 0
            and word.says("INSERT")
            and following is not None
            and following.text.upper() in ("INTO", "OVERWRITE")
        ):
            clause = "INSERT behind WITH or FROM"
            reader.refuse(clause, "write INSERT INTO table first, and WITH ... SELECT behind it", word.start)


GRAMMAR: Final = Grammar(openings(*_QUERIES, ""), read_query)
