"""Finds the tables of a query in DuckDB's SQL, and time travel clauses and hints, which DuckDB does not support.

sqlglot's DuckDB dialect reads the query. If it cannot parse a query, every name in the text may be a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError

from table_format.sql.hints import end_of_hints, hints_between, options_between
from table_format.sql.qualifiers import Relation, qualifier_edits
from table_format.sql.splices import Edit, edited
from table_format.sql.words import fail_at

_VERSIONS: Final = ("VERSION", "SYSTEM_VERSION")
_TIMES: Final = ("TIMESTAMP", "SYSTEM_TIME")
_TYPES: Final = ("TIMESTAMP", "DATE", "TIMESTAMPTZ")
_EXPLAIN: Final = ("EXPLAIN", "ANALYZE")
_NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER)


class _Tokenizer(DuckDB.Tokenizer):
    IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ['"', "`"]
    # With commands, the whole text after a word such as EXPLAIN would be one token.
    COMMANDS: ClassVar[set[TokenType]] = set()


@dataclass(frozen=True, slots=True)
class TimeTravel:
    """``VERSION | TIMESTAMP AS OF value``, from ``start`` to ``end``. The value is a literal or a parameter."""

    is_version: bool
    value: object
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A possible table name of one to three parts, and the options of a hint after it.

    ``is_certain`` means that the query is parsed, so that the name cannot be that of a column.
    """

    parts: tuple[str, ...]
    start: int
    end: int
    has_alias: bool = True
    travel: TimeTravel | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    is_certain: bool = False


def named_tables(text: str, parameters: Mapping[str, object] | None = None) -> tuple[NamedTable, ...]:
    """Return the possible table names in a query, in any order. ``parameters`` are the values of ``$name``.

    >>> [(table.parts, table.travel is None) for table in named_tables("FROM s.t JOIN u VERSION AS OF 3 USING (a)")]
    [(('s', 't'), True), (('u',), False)]

    Raises:
        InvalidSql: the text cannot be split into tokens, a time travel clause or a hint cannot be parsed, or a hint
            does not follow the name of a table.
    """
    tokens, travels = _tokens(text, parameters or {})
    kept = _without_travels(tokens, travels)
    trees = _trees(text, kept)
    found = _chains(kept) if trees is None else _tables_of_trees(trees)
    tables = tuple(_with_clauses(text, table, travels, tokens) for table in found)
    _check_hints(text, tokens, tables)
    return tables


def column_edits(
    text: str, relations: Sequence[Relation], parameters: Mapping[str, object] | None = None
) -> list[Edit]:
    """Return the edits that qualify columns with the aliases of tables.

    >>> column_edits("SELECT s.t.a FROM s.t", [Relation(("p", "s", "t"), "t", 18)])
    [Edit(start=7, end=10, text='"t"')]

    Raises:
        InvalidSql: a name is that of two tables.
    """
    if not relations:
        return []
    trees = _trees(text, _without_travels(*_tokens(text, parameters or {}))) or []
    return [edit for tree in trees for edit in qualifier_edits(text, tree, relations, quote=in_double_quotes)]


def in_double_quotes(name: str) -> str:
    """Quote a name for DuckDB.

    >>> in_double_quotes("t$files")
    '"t$files"'
    """
    return '"' + name.replace('"', '""') + '"'


def without_backquotes(text: str) -> str:
    """Return a query with the names in backquotes, as Spark writes them, in double quotes.

    >>> without_backquotes("SELECT `a b` FROM `t$files`")
    'SELECT "a b" FROM "t$files"'

    Raises:
        InvalidSql: the text cannot be split into tokens.
    """
    if "`" not in text:
        return text
    quoted = (token for token in _split(text) if text.startswith("`", token.start))
    return edited(text, [Edit(name.start, name.end + 1, in_double_quotes(name.text)) for name in quoted])


def _split(text: str) -> list[Token]:
    try:
        return _Tokenizer(dialect=DuckDB()).tokenize(text)
    except TokenError as error:
        fail_at(text, 0, f"this is not SQL: {error}")


def _tokens(text: str, parameters: Mapping[str, object]) -> tuple[list[Token], tuple[TimeTravel, ...]]:
    tokens = _split(text)
    return tokens, tuple(_travels(text, tokens, parameters))


def _without_travels(tokens: Sequence[Token], travels: Sequence[TimeTravel]) -> list[Token]:
    """Return the tokens of the query without EXPLAIN and time travel."""
    kept = [token for token in tokens if not any(travel.start <= token.start < travel.end for travel in travels)]
    while kept and kept[0].text.upper() in _EXPLAIN:
        kept = kept[1:]
    return kept


def _check_hints(text: str, tokens: Sequence[Token], tables: Sequence[NamedTable]) -> None:
    ends = [0, *(token.end + 1 for token in tokens)]
    starts = [*(token.start for token in tokens), len(text)]
    for gap in zip(ends, starts, strict=True):
        for begun in hints_between(text, *gap):
            if not any(table.start <= begun < table.end for table in tables):
                fail_at(text, begun, "this OPTIONS hint does not follow a table name; write it directly after the name")


def _travels(text: str, tokens: Sequence[Token], parameters: Mapping[str, object]) -> Iterator[TimeTravel]:
    for number, token in enumerate(tokens[:-3]):
        word = token.text.upper()
        following = [following.text.upper() for following in tokens[number + 1 : number + 3]]
        if word not in (*_VERSIONS, *_TIMES) or following != ["AS", "OF"]:
            continue
        value, last = _travel_value(text, tokens[number + 3 : number + 5], parameters)
        has_for = number > 0 and tokens[number - 1].text.upper() == "FOR"
        first = tokens[number - 1] if has_for else token
        yield TimeTravel(word in _VERSIONS, value, first.start, last.end + 1)


def _travel_value(text: str, tokens: Sequence[Token], parameters: Mapping[str, object]) -> tuple[object, Token]:
    """Return the value of a literal, such as ``3``, ``'tag'`` and ``TIMESTAMP '...'``, or of ``$name``, and its end."""
    first, *more = tokens
    if first.token_type is TokenType.STRING:
        return first.text, first
    if first.token_type is TokenType.NUMBER and first.text.isdigit():
        return int(first.text), first
    if more and first.text.upper() in _TYPES and more[0].token_type is TokenType.STRING:
        return more[0].text, more[0]
    if not more or first.token_type is not TokenType.PARAMETER:
        fail_at(text, first.start, "expected a number, a text within quotes or a parameter")
    if more[0].text not in parameters:
        known = ", ".join(parameters) or "none"
        fail_at(text, first.start, f"there is no parameter '{more[0].text}'; the parameters are {known}")
    return parameters[more[0].text], more[0]


def _trees(text: str, tokens: list[Token]) -> list[exp.Expr] | None:
    """Parse a query; ``None`` if it cannot be parsed."""
    try:
        return [tree for tree in DuckDB().parser().parse(tokens, text) if tree is not None]
    except (ParseError, RecursionError):
        return None


def _tables_of_trees(trees: Sequence[exp.Expr]) -> list[NamedTable]:
    found = []
    for table in (table for tree in trees for table in tree.find_all(exp.Table)):
        parts = [part for part in table.parts if isinstance(part, exp.Identifier) and "start" in part.meta]
        if parts and len(parts) == len(table.parts):
            start = min(part.meta["start"] for part in parts)
            end = max(part.meta["end"] for part in parts) + 1
            names = tuple(part.name for part in parts)
            found.append(NamedTable(names, start, end, bool(table.alias), is_certain=True))
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


def _with_clauses(text: str, table: NamedTable, travels: Sequence[TimeTravel], tokens: Sequence[Token]) -> NamedTable:
    """Return the table with the time travel and the hints that follow its name."""
    end = table.end
    options: dict[str, str] = {}
    travel = None
    while True:
        after = min((token.start for token in tokens if token.start >= end), default=len(text))
        options.update(options_between(text, end, after))
        end = end_of_hints(text, end, after)
        if travel is not None:
            break
        travel = next((found for found in travels if found.start == after), None)
        if travel is None:
            break
        end = travel.end
    return replace(table, end=end, travel=travel, options=options)
