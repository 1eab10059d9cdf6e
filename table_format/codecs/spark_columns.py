"""Finds the columns in a Spark SQL text by its syntax alone; unclear cases are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

ColumnName: TypeAlias = tuple[str, str]
"""The relation that qualifies a column (empty without one), and the name of the column."""


def column_of_text(text: str) -> ColumnName | None:
    """Return the column that a text names, or ``None`` if the text is not just a column.

    >>> column_of_text("(`s`.Id)"), column_of_text("s.id + 1")
    (('s', 'Id'), None)
    """
    parsed = _parsed(text)
    return None if parsed is None else _column(parsed)


def equalities_of_text(text: str) -> Sequence[tuple[ColumnName, ColumnName]]:
    """Return pairs of columns that are equal in every row for which a condition holds.

    >>> equalities_of_text("(t.id = s.key) AND t.n > 1 AND shop = s.shop")
    [(('t', 'id'), ('s', 'key')), (('', 'shop'), ('s', 'shop'))]
    >>> equalities_of_text("t.id = s.id OR s.id IS NULL"), equalities_of_text("no SQL (")
    ([], [])
    """
    parsed = _parsed(text)
    if parsed is None:
        return []
    parts = list(parsed.flatten()) if isinstance(parsed, exp.And) else [parsed]
    found: list[tuple[ColumnName, ColumnName]] = []
    for part in parts:
        equal = part.unnest()
        if isinstance(equal, exp.EQ):
            left, right = _column(equal.this.unnest()), _column(equal.expression.unnest())
            if left is not None and right is not None:
                found.append((left, right))
    return found


def _parsed(text: str) -> exp.Expr | None:
    try:
        return parse_one(text, dialect="spark").unnest()
    except SqlglotError:
        return None


def _column(expression: exp.Expr) -> ColumnName | None:
    if not isinstance(expression, exp.Column) or expression.db or isinstance(expression.this, exp.Star):
        return None
    return expression.table, expression.name
