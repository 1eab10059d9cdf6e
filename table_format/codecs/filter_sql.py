"""Binds filters to the columns of one table and their types; a filter is SQL text, or a condition built in Python.

Names are case-sensitive, plain or in double quotes or backquotes. Text is in single quotes; a single quote in it is
doubled, and a backslash is an ordinary character. Supported: comparisons of a column with a literal, IN,
BETWEEN, LIKE, IS [NOT] NULL / TRUE / FALSE / DISTINCT FROM, AND, OR, NOT, ``starts_with``, ``ends_with`` and
``contains``; literals DATE, TIME and TIMESTAMP '...' and X'...'. An instant without a zone is in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from sqlglot import exp, parse
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Tokenizer as StandardTokenizer

from table_format.codecs.condition_tree import condition_tree
from table_format.codecs.filter_literals import MisfitError, is_literal, literal_value
from table_format.codecs.sql_errors import parse_errors_as
from table_format.errors import InvalidFilter
from table_format.model.column_names import no_such_column
from table_format.model.condition import AllConditions, AnyCondition, Condition, NotCondition
from table_format.model.like import ESCAPE, escaped, pieces
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Like, Literal, Not, Or, Predicate
from table_format.model.ticks import compared_with_tick, position, tick_range, value_at
from table_format.model.types import (
    NESTED,
    BooleanType,
    BytesType,
    DataField,
    InternalValue,
    TextType,
    TimeType,
)


class FilterDialect(Dialect):
    """Standard SQL that also allows names in backquotes."""

    class Tokenizer(StandardTokenizer):
        """Splits text into tokens, with two kinds of quotes around names, and hexadecimal literals."""

        IDENTIFIERS = ['"', "`"]  # noqa: RUF012 - sqlglot's way to declare a dialect
        HEX_STRINGS = [  # noqa: RUF012
            ("x'", "'"),
            ("X'", "'"),
        ]


_OPERATORS: Final[Mapping[type[exp.Expr], CompareOp]] = {
    exp.EQ: CompareOp.EQ,
    exp.NEQ: CompareOp.NE,
    exp.LT: CompareOp.LT,
    exp.LTE: CompareOp.LE,
    exp.GT: CompareOp.GT,
    exp.GTE: CompareOp.GE,
}
_MIRRORED: Final[Mapping[CompareOp, CompareOp]] = {
    CompareOp.LT: CompareOp.GT,
    CompareOp.LE: CompareOp.GE,
    CompareOp.GT: CompareOp.LT,
    CompareOp.GE: CompareOp.LE,
}
_TEXT_FUNCTIONS: Final[Mapping[type[exp.Expr], CompareOp]] = {
    exp.StartsWith: CompareOp.STARTS_WITH,
    exp.EndsWith: CompareOp.ENDS_WITH,
    exp.Contains: CompareOp.CONTAINS,
}


def parse_filter(text: str, fields: Sequence[DataField]) -> Predicate:
    """Parse a filter on these columns.

    >>> from table_format.model.types import IntType
    >>> parse_filter("a > 1.5 OR a IS NULL", [DataField(0, "a", IntType())])
    Or(parts=(Compare(column='a', op=<CompareOp.GT: '>'>, value=1), IsNull(column='a')))

    Raises:
        ColumnNotFound: the text names a column that is not among ``fields``.
        InvalidFilter: the text is not a condition, uses unsupported syntax, or compares a column with a literal of
            another kind. The message names the position.
    """
    with parse_errors_as(InvalidFilter, "filter", text, lambda: _advice(text, fields)):
        trees = parse(text, dialect=FilterDialect)
        if len(trees) != 1 or trees[0] is None:
            message = f"a filter is one condition, found {text!r}"
            raise InvalidFilter(message)
        return _Binder({field.name: field for field in fields}).condition(trees[0])


def _advice(text: str, fields: Sequence[DataField]) -> str:
    """Return what to write in place of a text that cannot be parsed, if one of the usual reasons applies."""
    without_strings = re.sub(r"'[^']*'", "''", text)
    if re.match(r"\s*where\b", without_strings, re.IGNORECASE):
        return "write the condition without WHERE"
    without_names = re.sub(r'"[^"]*"|`[^`]*`', "", without_strings)
    for name in sorted((field.name for field in fields), key=len, reverse=True):
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", without_names) and not _is_plain_name(name):
            return f"write the column as {exp.to_identifier(name, quoted=True).sql(FilterDialect)}"
    return "write AND in place of &&" if "&&" in without_names else ""


def _is_plain_name(name: str) -> bool:
    """Return whether the text of a filter can have this name of a column without quotes."""
    try:
        (tree,) = parse(name, dialect=FilterDialect)
    except (ParseError, TokenError):
        return False
    return isinstance(tree, exp.Column) and tree.name == name and not tree.table


def bind_condition(condition: Condition, fields: Sequence[DataField]) -> Predicate:
    """Bind a condition to these columns. The result is the same as for its text, but nothing is parsed.

    >>> from table_format.model.condition import col
    >>> from table_format.model.types import IntType
    >>> bind_condition((col("a") > 1.5) | col("a").is_null(), [DataField(0, "a", IntType())])
    Or(parts=(Compare(column='a', op=<CompareOp.GT: '>'>, value=1), IsNull(column='a')))

    Raises:
        ColumnNotFound: the condition names a column that is not among ``fields``.
        InvalidFilter: the condition compares a column with a value of another kind.
    """
    try:
        return _bound_condition(condition, _Binder({field.name: field for field in fields}))
    except RecursionError:
        message = "the filter is nested too deeply"
        raise InvalidFilter(message) from None


def _bound_condition(condition: Condition, binder: _Binder) -> Predicate:
    match condition:
        case AllConditions(parts):
            return And(tuple(_bound_condition(part, binder) for part in parts))
        case AnyCondition(parts):
            return Or(tuple(_bound_condition(part, binder) for part in parts))
        case NotCondition(part):
            return Not(_bound_condition(part, binder))
        case _:
            return binder.condition(condition_tree(condition))


class _Binder:
    """Converts syntax trees to predicates on known columns."""

    def __init__(self, fields: Mapping[str, DataField]) -> None:
        self._fields = fields

    def condition(self, node: exp.Expr) -> Predicate:
        match node:
            case exp.And() | exp.Or():
                kind = And if isinstance(node, exp.And) else Or
                return kind(tuple(self.condition(part) for part in node.flatten()))
            case exp.Not():
                return Not(self.condition(_only(node, "this")))
            case exp.Paren():
                return self.condition(_only(node, "this"))
            case exp.Boolean():
                return Literal(bool(node.this))
            case exp.Null():
                return Literal(None)
            case exp.Column():
                return self._truth(node)
            case _:
                return self._test(node)

    def _test(self, node: exp.Expr) -> Predicate:
        if type(node) in _OPERATORS:
            return self._comparison(node, _OPERATORS[type(node)])
        if type(node) in _TEXT_FUNCTIONS:
            _check_arguments(node, "this", "expression")
            return self._text_function(node, _TEXT_FUNCTIONS[type(node)])
        tests: Mapping[type[exp.Expr], Callable[[exp.Expr], Predicate]] = {
            exp.In: self._in,
            exp.Between: self._between,
            exp.Is: self._is,
            exp.Like: self._like,
            exp.Escape: self._like,
            exp.NullSafeEQ: self._same,
            exp.NullSafeNEQ: lambda inner: Not(self._same(inner)),
        }
        test = tests.get(type(node))
        if test is None:
            raise _unsupported(node)
        return test(node)

    def _comparison(self, node: exp.Expr, op: CompareOp) -> Predicate:
        _check_arguments(node, "this", "expression")
        left, right = _bare(node.this), _bare(node.expression)
        if isinstance(right, exp.Column) and is_literal(left):
            left, right, op = right, left, _MIRRORED.get(op, op)
        self._check_literals(node, right)
        return self._compare(self._field(left), op, right)

    def _check_literals(self, node: exp.Expr, *values: exp.Expr) -> None:
        for value in values:
            if isinstance(value, exp.Column) and value.name not in self._fields:
                shown = value.sql(dialect=FilterDialect)
                raise _error(value, f"{shown} is not a column of the table, and text is in single quotes")
            if not is_literal(value):
                raise _unsupported(node)

    def _compare(self, field: DataField, op: CompareOp, literal: exp.Expr) -> Predicate:
        if isinstance(literal, exp.Null):
            return Literal(None)
        value = _bound(literal, field)
        ticks = tick_range(field.type)
        if ticks is None:
            return Compare(field.name, op, value)
        at_tick = compared_with_tick(op, position(value, field.type), ticks)  # type: ignore[arg-type]  # a number: there are ticks
        if isinstance(at_tick, bool):
            return _where_known(field, answer=at_tick)
        return Compare(field.name, at_tick[0], value_at(at_tick[1], field.type))

    def _in(self, node: exp.Expr) -> Predicate:
        _check_arguments(node, "this", "expressions")
        field = self._field(node.this)
        literals = [_bare(item) for item in node.expressions]
        self._check_literals(node, *literals)
        known = [self._compare(field, CompareOp.EQ, item) for item in literals if not isinstance(item, exp.Null)]
        values = tuple(p.value for p in known if isinstance(p, Compare))
        test: Predicate = In(field.name, values) if values else _where_known(field, answer=False)
        return test if len(known) == len(literals) else Or((test, Literal(None)))

    def _between(self, node: exp.Expr) -> Predicate:
        _check_arguments(node, "this", "low", "high")
        field = self._field(node.this)
        low, high = _bare(node.args["low"]), _bare(node.args["high"])
        self._check_literals(node, low, high)
        return And((self._compare(field, CompareOp.GE, low), self._compare(field, CompareOp.LE, high)))

    def _is(self, node: exp.Expr) -> Predicate:
        _check_arguments(node, "this", "expression")
        match node.expression:
            case exp.Null():
                return IsNull(self._field(node.this).name)
            case exp.Boolean(this=answer):
                field = self._field(node.this)
                return _known_and(field, self._truth(node.this, answer=bool(answer)))
            case _:
                raise _unsupported(node)

    def _same(self, node: exp.Expr) -> Predicate:
        """Bind ``IS NOT DISTINCT FROM``, which is never unknown."""
        _check_arguments(node, "this", "expression")
        left, right = _bare(node.this), _bare(node.expression)
        if not is_literal(right):
            raise _unsupported(node)
        field = self._field(left)
        if isinstance(right, exp.Null):
            return IsNull(field.name)
        return _known_and(field, self._compare(field, CompareOp.EQ, right))

    def _like(self, node: exp.Expr) -> Predicate:
        escape, like = ESCAPE, node
        if isinstance(node, exp.Escape):
            _check_arguments(node, "this", "expression")
            like = node.this
            escape = _text_of(node.expression)
            if not isinstance(like, exp.Like) or len(escape) != 1:
                raise _unsupported(node)
        _check_arguments(like, "this", "expression", "negate")
        field = self._field(like.this)
        if not isinstance(field.type, TextType):
            message = f"LIKE needs a column of type STRING, but '{field.name}' has type {field.type}"
            raise _error(like, message)
        if isinstance(_bare(like.expression), exp.Null):
            return Literal(None)
        pattern = escaped(pieces(_text_of(like.expression), escape))
        return Not(Like(field.name, pattern)) if like.args.get("negate") else Like(field.name, pattern)

    def _text_function(self, node: exp.Expr, op: CompareOp) -> Predicate:
        field = self._field(node.this)
        if not isinstance(field.type, TextType | BytesType):
            message = f"{op} needs a column of type STRING or BYTES, but '{field.name}' has type {field.type}"
            raise _error(node, message)
        literal = _bare(node.expression)
        if not is_literal(literal):
            raise _unsupported(node)
        return self._compare(field, op, literal)

    def _truth(self, node: exp.Expr, *, answer: bool = True) -> Predicate:
        field = self._field(node)
        if not isinstance(field.type, BooleanType):
            message = f"expected a condition, but '{field.name}' has type {field.type}"
            raise _error(node, message)
        return Compare(field.name, CompareOp.EQ, answer)

    def _field(self, node: exp.Expr) -> DataField:
        """Return the column that the expression names.

        Raises:
            ColumnNotFound: no column has this name.
            InvalidFilter: the expression is not a column.
        """
        column = _bare(node)
        if not isinstance(column, exp.Column) or not isinstance(column.this, exp.Identifier):
            raise _unsupported(node)
        if set(column.args) - {"this"} and any(column.args.get(part) for part in ("table", "db", "catalog")):
            raise _unsupported(node)
        field = self._fields.get(column.name)
        if field is None:
            raise no_such_column(column.name, self._fields, "of the filter")
        return field


def _bound(literal: exp.Expr, field: DataField) -> InternalValue:
    if isinstance(field.type, NESTED):
        message = f"column '{field.name}' of type {field.type} can only be tested for null"
        raise _error(literal, message)
    try:
        value = literal_value(literal, field.type)
    except MisfitError as error:
        found = literal.sql(dialect=FilterDialect)
        message = f"column '{field.name}' has type {field.type}: expected {error}, found {found}"
        raise _error(literal, message) from error
    if isinstance(field.type, TimeType) and isinstance(value, int):
        return Decimal(value).scaleb(-6)  # milliseconds, the unit of the column
    return value


def _where_known(field: DataField, *, answer: bool) -> Predicate:
    """Return a predicate with the same answer for every value of the column, and unknown for null."""
    if answer:
        return Or((Not(IsNull(field.name)), Literal(None)))
    return And((IsNull(field.name), Literal(None)))


def _known_and(field: DataField, test: Predicate) -> Predicate:
    return And((Not(IsNull(field.name)), test))


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _only(node: exp.Expr, name: str) -> exp.Expr:
    _check_arguments(node, name)
    inner = node.args[name]
    assert isinstance(inner, exp.Expr)  # noqa: S101
    return inner


def _check_arguments(node: exp.Expr, *known: str) -> None:
    """Refuse syntax that this module would otherwise ignore silently."""
    if any(value for name, value in node.args.items() if name not in known):
        raise _unsupported(node)


def _text_of(node: exp.Expr) -> str:
    literal = _bare(node)
    if isinstance(literal, exp.Literal) and literal.is_string:
        return str(literal.this)
    message = f"expected text in single quotes, found {node.sql(dialect=FilterDialect)}"
    raise _error(node, message)


def _unsupported(node: exp.Expr) -> InvalidFilter:
    shown = node.sql(dialect=FilterDialect)
    return _error(node, f"'{shown}' is not supported; a filter compares a column with literals")


def _error(node: exp.Expr, message: str) -> InvalidFilter:
    starts = [start for part in node.walk() if (start := part.meta.get("start")) is not None]
    where = f"at character {min(starts) + 1}: " if starts else ""
    return InvalidFilter(f"filter, {where}{message}" if where else f"filter: {message}")
