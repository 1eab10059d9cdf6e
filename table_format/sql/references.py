"""Finds the tables of a query: the positions of their names, and which state of each table the query reads.

sqlglot's Spark dialect parses the query. The clauses after a name, such as VERSION AS OF, are read from the words. This
module does not change the text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final, NoReturn

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError

from table_format.counted import counted
from table_format.parser_messages import described
from table_format.sql.hints import end_of_hints, hints_outside, options_between
from table_format.sql.pipes import has_pipes, without_unknown_operators
from table_format.sql.qualifiers import Relation, qualifier_edits, with_own_aliases
from table_format.sql.reader import Reader, SqlName
from table_format.sql.respelling import row_types
from table_format.sql.splices import Edit
from table_format.sql.table_queries import without_table_queries
from table_format.sql.words import RECENT_TEXTS, Word, WordKind, fail_at, tokens_of

_TO_TAG: Final = "paimon_incremental_to_auto_tag"
INCREMENTAL_FUNCTIONS: Final = {
    "paimon_incremental_query": "incremental-between",
    "paimon_incremental_between_timestamp": "incremental-between-timestamp",
    _TO_TAG: "incremental-to-auto-tag",
}
"""Functions that return changes of a table, with the option that takes their other arguments."""

MAX_PARTITION: Final = "max_pt"
_BEFORE_TABLE: Final = frozenset({"FROM", "JOIN", "INTO", "TABLE", "UPDATE", "USING", ",", "VIEW", "("})
_DIALECTS: Final[tuple[type[Dialect], ...]] = (Spark, Databricks)
"""The dialect of Databricks parses syntax of Spark 4 that sqlglot's Spark dialect lacks, such as ``a:b``."""

_AFTER_TABLE_QUERY: Final = (
    *("ORDER", "SORT", "DISTRIBUTE", "CLUSTER", "WINDOW", "LIMIT", "OFFSET"),
    *("UNION", "INTERSECT", "EXCEPT", "MINUS", "SETMINUS", "|>", ")", ",", ";"),
)
"""The words that may follow ``TABLE name``."""


@dataclass(frozen=True, slots=True)
class Travel:
    """``VERSION | TIMESTAMP AS OF``: the text of the expression, and the value of a version."""

    is_version: bool
    text: str
    value: object = None


@dataclass(frozen=True, slots=True)
class TableUse:
    """One use of a table in a query. ``end`` is the offset after time travel and hints.

    If the query gives no alias, ``alias`` is inserted at ``alias_at``, so that a name still qualifies columns.
    ``select_at`` is the offset of the word TABLE in a query ``TABLE name``, which stands for SELECT * FROM.
    """

    name: SqlName
    end: int
    alias_at: int
    has_alias: bool = False
    travel: Travel | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    select_at: int | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """A call of a function that this library implements, such as ``paimon_incremental_query`` or ``sys.max_pt``."""

    function: str
    arguments: tuple[object, ...]
    start: int
    end: int
    has_alias: bool = True


@dataclass(frozen=True, slots=True)
class QueryTables:
    """The tables that a query reads, in the order of the text, and the edits that this requires."""

    tables: tuple[TableUse, ...]
    functions: tuple[FunctionUse, ...]
    edits: tuple[Edit, ...] = ()


def tables_of(
    text: str,
    parameters: Mapping[str, object] | None = None,
    *,
    database: tuple[str, str] | None = None,
    outer: Sequence[Relation] = (),
) -> QueryTables:
    """Return the tables that a query names, except its own CTEs.

    ``database`` are the names of the catalog and of the database of names without one. ``outer`` are tables outside of
    the text whose columns it may name.

    Raises:
        InvalidSql: the query cannot be parsed.
        UnsupportedFeature: a clause is not supported.
    """
    reader = Reader.of(text, parameters)
    tree = tree_of(text)
    uses = sorted(
        (_use(reader, table) for table in tree.find_all(exp.Table) if _names_a_table(table)),
        key=lambda use: use.name.start,
    )
    functions = tuple(_functions(reader))
    used = [(use.name.end, use.end) for use in uses] + [(use.start, use.end) for use in functions]
    stray = hints_outside(text, used)
    if stray is not None:
        fail_at(text, stray, "this OPTIONS hint does not follow a table name; write it directly after the name")
    relations = [_relation(use, database) for use in uses if not use.has_alias]
    relations = list(with_own_aliases([*outer, *relations], tree))
    aliases = {relation.start: relation.alias for relation in relations}
    named = (replace(use, alias=aliases.get(use.name.start)) for use in uses)
    return QueryTables(tuple(named), functions, tuple(qualifier_edits(text, tree, relations)))


def _relation(use: TableUse, database: tuple[str, str] | None) -> Relation:
    return Relation(full_name(use.name, database), use.name.parts[-1], use.name.start)


def full_name(name: SqlName, database: tuple[str, str] | None) -> tuple[str, ...]:
    """Return ``catalog.database.table`` in lower case, as far as it is known.

    >>> full_name(SqlName(("T",)), ("paimon", "d"))
    ('paimon', 'd', 't')
    """
    missing = 3 - len(name.parts)
    before = () if database is None or missing <= 0 else database[:missing]
    return tuple(part.lower() for part in (*before, *name.parts))


def names_in(text: str) -> tuple[SqlName, ...]:
    """Return the possible table names in a text that cannot be parsed: names with dots, and single names where a table
    is expected.
    """
    reader = Reader.of(text)
    found: list[SqlName] = []
    before = ""
    for number, word in enumerate(reader.words):
        if number < reader.position:
            continue
        reader.position = number
        if word.is_name:
            name = _chain(reader)
            if len(name.parts) > 1 or before.upper() in _BEFORE_TABLE:
                found.append(name)
        before = word.text
    return tuple(found)


def calls_own_function(text: str) -> bool:
    """Return whether a text that cannot be parsed calls a function of this library that returns rows."""
    words = Reader.of(text).words
    return any(
        name.is_name and name.text.lower() in INCREMENTAL_FUNCTIONS and after.says("(")
        for name, after in pairwise(words)
    )


def _chain(reader: Reader) -> SqlName:
    start = reader.offset
    parts = [reader.name()]
    while reader.sees(".") and reader.position + 1 < len(reader.words) and reader.words[reader.position + 1].is_name:
        reader.position += 1
        parts.append(reader.name())
    return SqlName(tuple(parts), start, reader.last_end)


# --- the tree ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=RECENT_TEXTS)
def tree_of(text: str) -> exp.Expr:
    """Parse a query without its time travel clauses. Do not change the tree: several steps use it.

    Raises:
        InvalidSql: the query cannot be parsed.
    """
    tokens = _readable(text, tokens_of(text))
    first: ParseError | None = None
    for dialect in _DIALECTS:
        try:
            trees = [tree for tree in dialect().parser().parse(tokens, text) if tree is not None]
        except ParseError as error:
            first = first or error
        except AssertionError:
            continue  # a query that this parser of sqlglot did not expect
        except RecursionError:
            fail_at(text, 0, f"the query is nested too deeply ({len(text)} characters)")
        else:
            if len(trees) == 1 and not isinstance(trees[0], exp.Command):
                return trees[0]
    return _fail(text, first)


def _fail(text: str, error: ParseError | None) -> NoReturn:
    for word, following in pairwise(Reader.of(text).words):
        if word.says("WITH") and following.says("("):
            fail_at(text, word.start, "WITH (...) is not supported; use a hint /*+ OPTIONS('key' = 'value') */")
    place = error.errors[0] if error is not None and error.errors else {}
    line, column = place.get("line"), place.get("col")
    if not line or not column:
        fail_at(text, len(text) - len(text.lstrip()), "this query cannot be parsed")
    lines = text.split("\n")
    highlight = str(place.get("highlight", ""))
    # sqlglot's column is that of the last character.
    offset = sum(len(before) + 1 for before in lines[: line - 1]) + max(column - len(highlight), 0)
    fail_at(text, offset, described(place, "cannot be read"))


def _readable(text: str, tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens without time travel, and with STRUCT for ROW. sqlglot's Spark dialect does not fully support
    them.
    """
    reader = Reader.of(text)
    rows = {edit.start for edit in row_types(reader)}
    travels = list(_travels(reader))
    found = [
        Token(TokenType.STRUCT, "STRUCT", t.line, t.col, t.start, t.end, t.comments) if t.start in rows else t
        for t in tokens
        if not any(start <= t.start < end for start, end in travels)
    ]
    found = without_table_queries(found)
    return without_unknown_operators(found) if has_pipes(text) else found


def _travels(reader: Reader) -> Iterator[tuple[int, int]]:
    """Return the ranges of the time travel clauses."""
    for number in range(1, len(reader.words)):
        reader.position = number
        start = reader.offset
        if reader.words[number - 1].says("FOR"):
            continue
        if (word := _travel_word(reader)) is not None:
            _check_version(reader, word)
            _skip_travel(reader)
            yield start, reader.last_end


def _names_a_table(table: exp.Table) -> bool:
    parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
    if table.find_ancestor(exp.Hint) is not None:
        return False  # as in BROADCAST(t)
    if not parts or len(parts) != len(table.parts) or any("start" not in part.meta for part in parts):
        return False
    return len(parts) > 1 or not _is_cte(table)


def _is_cte(table: exp.Table) -> bool:
    name = table.name.lower()
    inner: exp.Expr = table
    while (outer := inner.parent) is not None:
        clause = outer.args.get("with_")
        if isinstance(clause, exp.With):
            for cte in clause.expressions:
                if cte.alias.lower() == name and (cte is not inner or clause.recursive):
                    return True
                if cte is inner:
                    break
        # A CTE can use the CTEs before it in the same WITH.
        if isinstance(outer, exp.With):
            for cte in outer.expressions:
                if cte is inner:
                    if outer.recursive and cte.alias.lower() == name:
                        return True
                    break
                if cte.alias.lower() == name:
                    return True
            inner = outer.parent if outer.parent is not None else outer
            continue
        inner = outer
    return False


# --- what follows a name ----------------------------------------------------------------------------------------------


def _use(reader: Reader, table: exp.Table) -> TableUse:
    parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
    start = min(part.meta["start"] for part in parts)
    end = max(part.meta["end"] for part in parts) + 1
    name = SqlName(tuple(part.name for part in parts), start, end)
    reader.position = (
        next(i for i, word in enumerate(reader.words) if word.start >= end)
        if _follows(reader.words, end)
        else len(reader.words)
    )
    options = options_between(reader.text, end, reader.offset)
    travel = _travel(reader)
    if travel is not None:
        end = reader.last_end
        options.update(options_between(reader.text, end, reader.offset))
    end = end_of_hints(reader.text, end, reader.offset)
    alias_at = end
    if reader.take("TABLESAMPLE"):
        reader.skip_parentheses()
        if reader.take("REPEATABLE"):
            reader.skip_parentheses()
        alias_at = reader.last_end
    keyword = _table_keyword(reader.words, start)
    select = table.parent.parent if keyword is not None and isinstance(table.parent, exp.From) else None
    if keyword is None or select is None:
        return TableUse(name, end, alias_at, bool(table.alias), travel, options)
    if reader.word is not None and not reader.sees_any(*_AFTER_TABLE_QUERY):
        reader.fail(f"after TABLE {name}, expected ORDER BY, LIMIT or OFFSET; for other clauses, use SELECT * FROM")
    if isinstance(select.parent, exp.Func):
        # The engine accepts an argument of a function only in this form.
        return TableUse(name, end, alias_at, True, travel, options)
    return TableUse(name, end, alias_at, False, travel, options, keyword.start)


def _table_keyword(words: Sequence[Word], start: int) -> Word | None:
    """Return the word TABLE if it is before the name at this offset, as in ``TABLE t`` and ``f(TABLE(t))``."""
    number = bisect_left(words, start, key=lambda word: word.start) - 1
    if number > 0 and words[number].says("("):
        number -= 1
    return words[number] if number >= 0 and words[number].says("TABLE") else None


def _follows(words: Sequence[Word], end: int) -> bool:
    return bool(words) and words[-1].start >= end


def _travel_word(reader: Reader) -> str | None:
    """Skip ``[FOR] VERSION AS OF`` or a similar clause if it comes next."""
    position = reader.position
    reader.take("FOR")
    word = reader.take_any("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME")
    if word is not None and reader.take("AS", "OF"):
        return word
    reader.position = position
    return None


def travel_clause(reader: Reader) -> str:
    """Read a time travel clause, if one comes next, and return its text; otherwise an empty text.

    >>> travel_clause(Reader.of("VERSION AS OF 3 AS s"))
    'VERSION AS OF 3'

    Raises:
        InvalidSql: the version or the time cannot be parsed.
    """
    start = reader.offset
    if _travel(reader) is None:
        return ""
    reader.passed_on.append((start, reader.last_end))
    return reader.text[start : reader.last_end]


def _travel(reader: Reader) -> Travel | None:
    word = _travel_word(reader)
    if word is None:
        return None
    start = reader.offset
    if "VERSION" in word:
        _check_version(reader, word)
        value = reader.value()
        return Travel(True, reader.text[start : reader.last_end], value)
    _skip_travel(reader)
    return Travel(False, reader.text[start : reader.last_end])


def _check_version(reader: Reader, word: str) -> None:
    if "VERSION" in word and not _sees_literal(reader):
        reader.expected("a snapshot id, or the name of a tag within quotes")


def _skip_travel(reader: Reader) -> None:
    _operand(reader)
    while reader.take_any("+", "-"):
        _operand(reader)


def _sees_literal(reader: Reader) -> bool:
    word = reader.word
    return word is not None and (word.kind in (WordKind.TEXT, WordKind.NUMBER) or word.says(":"))


def _operand(reader: Reader) -> None:
    """Skip a literal, an interval, or a function call."""
    if reader.take("INTERVAL"):
        reader.value()
        reader.name("the unit of an interval")
        return
    if reader.sees("("):
        reader.skip_parentheses()
        return
    if reader.take(":"):
        reader.name("the name of a parameter")
        return
    if _sees_literal(reader):
        reader.value()
        return
    reader.name("a time")
    if reader.sees("("):
        reader.skip_parentheses()
    elif reader.word is not None and reader.word.kind is WordKind.TEXT:
        reader.string()  # TIMESTAMP '...'


# --- functions --------------------------------------------------------------------------------------------------------


def _functions(reader: Reader) -> Iterator[FunctionUse]:
    reader.position = 0
    while (word := reader.word) is not None:
        start = word.start
        name = word.text.lower()
        if reader.sees("SYS", ".", "MAX_PT", "("):
            reader.position += 3
            yield _function(reader, MAX_PARTITION, start)
        elif word.is_name and name in INCREMENTAL_FUNCTIONS and reader.position + 1 < len(reader.words):
            reader.position += 1
            if reader.sees("("):
                yield _function(reader, name, start)
        else:
            reader.position += 1


def _function(reader: Reader, name: str, start: int) -> FunctionUse:
    arguments = tuple(reader.in_parentheses(reader.value))
    if name == MAX_PARTITION:
        return FunctionUse(name, arguments, start, reader.last_end)
    expected = ("table", "tag") if name == _TO_TAG else ("table", "beginning", "end")
    if len(arguments) != len(expected):
        found = counted(len(arguments), "argument")
        reader.fail(f"{name} takes {len(expected)} arguments ({', '.join(expected)}), found {found}", start)
    has_alias = reader.sees("AS") or (reader.word is not None and _is_alias(reader))
    return FunctionUse(name, arguments, start, reader.last_end, has_alias)


_AFTER_TABLE: Final = frozenset(
    [
        "WHERE",
        "GROUP",
        "ORDER",
        "HAVING",
        "LIMIT",
        "JOIN",
        "LEFT",
        "RIGHT",
        "FULL",
        "INNER",
        "CROSS",
        "ANTI",
        "SEMI",
        "NATURAL",
        "ON",
        "USING",
        "UNION",
        "INTERSECT",
        "EXCEPT",
        "MINUS",
        "LATERAL",
        "WINDOW",
        "SORT",
        "CLUSTER",
        "DISTRIBUTE",
        "PIVOT",
        "UNPIVOT",
        "QUALIFY",
        "OFFSET",
        "TABLESAMPLE",
    ]
)


def _is_alias(reader: Reader) -> bool:
    word = reader.word
    return word is not None and word.is_name and word.text.upper() not in _AFTER_TABLE
