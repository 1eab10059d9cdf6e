"""Recognizes queries, EXPLAIN, and statements that the engine runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from table_format.sql.grammar import Grammar, openings, verb_after_ctes
from table_format.sql.reader import Reader


@dataclass(frozen=True, slots=True)
class Query:
    """The text of a query."""

    text: str


@dataclass(frozen=True, slots=True)
class Explain:
    """``EXPLAIN [EXTENDED | FORMATTED | ...] query``."""

    mode: str
    query: str


@dataclass(frozen=True, slots=True)
class OfEngine:
    """A statement that this library does not implement. The engine runs it if it names no table of the catalog."""

    text: str


QueryStatement: TypeAlias = Query | Explain | OfEngine

_CHANGES: Final[Mapping[str, str]] = {
    "MERGE": "write the query as USING (SELECT ...) AS name",
    "UPDATE": "write the query as a subquery of WHERE",
    "DELETE": "write the query as a subquery of WHERE",
}
_QUERIES: Final = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")


def read_query(reader: Reader) -> QueryStatement:
    """Read a query, or any other statement.

    Raises:
        UnsupportedFeature: FROM precedes INSERT, WITH precedes MERGE, UPDATE or DELETE, or EXPLAIN has no
            query.
    """
    if reader.sees_any(*_QUERIES):
        _refuse_other_than_query(reader)
        return Query(reader.rest())
    if reader.take("EXPLAIN"):
        mode = reader.take_any("EXTENDED", "FORMATTED", "CODEGEN", "COST") or ""
        if reader.sees_any(*_QUERIES):
            return Explain(mode, reader.rest())
        reader.refuse("EXPLAIN of a statement that is not a query", "explain the query of the statement")
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
            reader.refuse("INSERT after FROM", "write INSERT INTO table first, then FROM ... SELECT", word.start)
    verb = verb_after_ctes(reader.words) if reader.sees("WITH") else None
    for change, advice in _CHANGES.items():
        if verb is not None and verb.says(change):
            reader.refuse(f"{change} after WITH", advice, verb.start)


GRAMMAR: Final = Grammar(openings(*_QUERIES, "DESCRIBE FUNCTION", "DESC FUNCTION", ""), read_query)
