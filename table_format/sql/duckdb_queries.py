"""Finds the tables of a query in DuckDB's SQL, and time travel clauses, which DuckDB does not support.

sqlglot's DuckDB dialect reads the query. If it cannot parse a query, every name in the text may be a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError

from table_format.sql.words import fail_at

_VERSIONS: Final = ("VERSION", "SYSTEM_VERSION")
_TIMES: Final = ("TIMESTAMP", "SYSTEM_TIME")
_LITERALS: Final = (TokenType.NUMBER, TokenType.STRING)
_NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER)


@dataclass(frozen=True, slots=True)
class TimeTravel:
    """``VERSION | TIMESTAMP AS OF literal``, from ``start`` to ``end``."""

    is_version: bool
    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A possible table name of one to three parts."""

    parts: tuple[str, ...]
    start: int
    end: int
    has_alias: bool = True
    travel: TimeTravel | None = None


def named_tables(text: str) -> tuple[NamedTable, ...]:
    """Return the possible table names in a query, in any order.

    >>> [(table.parts, table.travel is None) for table in named_tables("FROM s.t JOIN u VERSION AS OF 3 USING (a)")]
    [(('s', 't'), True), (('u',), False)]

    Raises:
        InvalidSql: the text cannot be split into tokens.
    """
    try:
        tokens = DuckDB().tokenize(text)
    except TokenError as error:
        fail_at(text, 0, f"this is not SQL: {error}")
    travels = tuple(_travels(tokens))
    kept = [token for token in tokens if not any(travel.start <= token.start < travel.end for travel in travels)]
    found = _tables_of_tree(kept, text)
    if found is None:
        found = _chains(kept)
    return tuple(_with_travel(text, table, travels) for table in found)


def _travels(tokens: Sequence[Token]) -> Iterator[TimeTravel]:
    for number, token in enumerate(tokens[:-3]):
        word = token.text.upper()
        following = [following.text.upper() for following in tokens[number + 1 : number + 3]]
        literal = tokens[number + 3]
        if word in (*_VERSIONS, *_TIMES) and following == ["AS", "OF"] and literal.token_type in _LITERALS:
            has_for = number > 0 and tokens[number - 1].text.upper() == "FOR"
            first = tokens[number - 1] if has_for else token
            yield TimeTravel(word in _VERSIONS, literal.text, first.start, literal.end + 1)


def _tables_of_tree(tokens: list[Token], text: str) -> list[NamedTable] | None:
    """Return the tables of a query, or ``None`` if it cannot be parsed."""
    try:
        trees = DuckDB().parser().parse(tokens, text)
    except (ParseError, RecursionError):
        return None
    found = []
    for table in (table for tree in trees if tree is not None for table in tree.find_all(exp.Table)):
        parts = [part for part in table.parts if isinstance(part, exp.Identifier) and "start" in part.meta]
        if parts and len(parts) == len(table.parts):
            start = min(part.meta["start"] for part in parts)
            end = max(part.meta["end"] for part in parts) + 1
            found.append(NamedTable(tuple(part.name for part in parts), start, end, bool(table.alias)))
    return found


def _chains(tokens: Sequence[Token]) -> list[NamedTable]:
    """Return all qualified names."""
    found: list[NamedTable] = []
    for number, token in enumerate(tokens):
        if token.token_type not in _NAMES:
            continue
        if number > 1 and tokens[number - 1].token_type is TokenType.DOT and found:
            last = found.pop()
            found.append(NamedTable((*last.parts, token.text), last.start, token.end + 1))
        else:
            found.append(NamedTable((token.text,), token.start, token.end + 1))
    return found


def _with_travel(text: str, table: NamedTable, travels: Sequence[TimeTravel]) -> NamedTable:
    for travel in travels:
        if not text[table.end : travel.start].strip() and table.end <= travel.start:
            return NamedTable(table.parts, table.start, travel.end, table.has_alias, travel)
    return table
