"""Expressions over the columns of rows: what an assignment or a condition means, without how it is evaluated.

Columns belong to a *relation*: ``target`` are the rows of the table, ``source`` those a merge brings. Values are those
of SQL: null comes out where null goes in, except from the functions that ask for it.
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
    """An internal value of a type; null has none."""

    value: InternalValue
    type: DataType | None


@dataclass(frozen=True, slots=True)
class Call:
    """A function or operator of ``kernels.expressions`` with its arguments."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class CastTo:
    """A value as another type: rounded where the type is coarser, refused where it does not fit."""

    argument: Expression
    type: DataType


Expression: TypeAlias = ColumnOf | Constant | Call | CastTo


def columns_in(expression: Expression) -> frozenset[ColumnOf]:
    """The columns an expression reads."""
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
