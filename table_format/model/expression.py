"""Expressions on the columns of rows, such as assignments and conditions; they do not define how to evaluate them.

Columns belong to a *relation*: ``target`` is the table, and ``source`` the input of a MERGE. As in SQL, the result is
null if an argument is null, except for functions that test for null.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from table_format.model.types import DataType, InternalValue

TARGET: Final = "target"
SOURCE: Final = "source"


@dataclass(frozen=True, slots=True)
class ColumnOf:
    """A column of one of the relations."""

    relation: str
    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """An internal value of a type; the null constant has no type."""

    value: InternalValue
    type: DataType | None


@dataclass(frozen=True, slots=True)
class Call:
    """A function or operator of ``kernels.expressions`` with its arguments."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class CastTo:
    """A cast to another type, which rounds to a coarser type, and fails if the value does not fit."""

    argument: Expression
    type: DataType


Expression: TypeAlias = ColumnOf | Constant | Call | CastTo


def columns_in(expression: Expression) -> frozenset[ColumnOf]:
    """Return the columns that an expression reads."""
    return frozenset(_columns(expression))


def _columns(expression: Expression) -> Iterator[ColumnOf]:
    match expression:
        case ColumnOf():
            yield expression
        case Call(arguments=arguments):
            for argument in arguments:
                yield from _columns(argument)
        case CastTo(argument=argument):
            yield from _columns(argument)
        case Constant():
            return
