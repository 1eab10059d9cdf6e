"""Converts conditions that were built in Python to the syntax trees that their texts would have."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from sqlglot import exp

from table_format.errors import InvalidFilter
from table_format.model.arguments import shown
from table_format.model.condition import (
    Column,
    Comparison,
    Condition,
    FitsPattern,
    HasNoValue,
    IsBetween,
    IsOneOf,
)
from table_format.model.filter_text import FilterValue, number_text, special_number, time_kind, time_text
from table_format.model.predicate import CompareOp

_NODES: Final[Mapping[CompareOp, type[exp.Expr]]] = {
    CompareOp.EQ: exp.EQ,
    CompareOp.NE: exp.NEQ,
    CompareOp.LT: exp.LT,
    CompareOp.LE: exp.LTE,
    CompareOp.GT: exp.GT,
    CompareOp.GE: exp.GTE,
    CompareOp.STARTS_WITH: exp.StartsWith,
    CompareOp.ENDS_WITH: exp.EndsWith,
    CompareOp.CONTAINS: exp.Contains,
}


def condition_tree(condition: Condition) -> exp.Expr:
    """Return the syntax tree of a condition on one column.

    >>> from table_format.model.condition import col
    >>> condition_tree(col("a").is_in([1, 2])).sql()
    '"a" IN (1, 2)'

    Raises:
        InvalidFilter: the argument is not a condition of ``col``.
    """
    match condition:
        case Column(name=name):
            return _column(name)
        case Comparison(column, op, value):
            return _NODES[op](this=_column(column), expression=_literal(value))
        case IsOneOf(column, values):
            return exp.In(this=_column(column), expressions=[_literal(value) for value in values])
        case IsBetween(column, low, high):
            return exp.Between(this=_column(column), low=_literal(low), high=_literal(high))
        case HasNoValue(column):
            return exp.Is(this=_column(column), expression=exp.Null())
        case FitsPattern(column, pattern):
            return exp.Like(this=_column(column), expression=exp.Literal.string(pattern))
        case _:
            message = f"filter: expected a condition made with col(), found {shown(condition)}"
            raise InvalidFilter(message)


def _column(name: str) -> exp.Column:
    return exp.Column(this=exp.Identifier(this=name, quoted=True))


def _literal(value: FilterValue) -> exp.Expr:
    match value:
        case bool():
            return exp.Boolean(this=value)
        case int() | float() | Decimal():
            return _number(value)
        case str():
            return exp.Literal.string(value)
        case bytes():
            return exp.HexString(this=value.hex())
        case _:
            return _cast(time_text(value), exp.DType[_KINDS[time_kind(value)]])


_KINDS: Final = {"DATE": "DATE", "TIME": "TIME", "TIMESTAMP": "TIMESTAMP", "TIMESTAMP_LTZ": "TIMESTAMPLTZ"}


def _number(value: float | Decimal) -> exp.Expr:
    special = special_number(value)
    if special is not None:
        return _cast(special, exp.DType.DOUBLE)
    digits = number_text(value)
    literal = exp.Literal.number(digits.removeprefix("-"))
    return exp.Neg(this=literal) if digits.startswith("-") else literal


def _cast(text: str, kind: exp.DType) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType(this=kind))
