"""Converts the filters of callers to predicates over the columns of one schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from table_format.errors import InvalidFilter
from table_format.model.arguments import shown, text
from table_format.model.column_names import no_such_column
from table_format.model.condition import Condition, Filter
from table_format.model.predicate import And, Compare, In, IsNull, Like, Literal, Not, Or, Predicate, columns_of
from table_format.model.types import DataField, InternalValue

_PREDICATES: Final = (And, Compare, In, IsNull, Like, Literal, Not, Or)


def bound_filter(condition: Filter | None, fields: Sequence[DataField]) -> Predicate | None:
    """Parse SQL text, bind a condition, or check a predicate's columns.

    Raises:
        InvalidFilter: the filter cannot be parsed or does not fit the columns.
        ColumnNotFound: a column does not exist.
    """
    if condition is None:
        return None
    if isinstance(condition, str):
        # The SQL parser takes longer to import than the rest of the library; most programs never filter by text.
        from table_format.codecs.filter_sql import parse_filter

        return parse_filter(condition, fields)
    if isinstance(condition, Condition):
        from table_format.codecs.filter_sql import bind_condition  # as above

        return bind_condition(condition, fields)
    _refuse_other_than_predicate(condition)
    names = [f.name for f in fields]
    for column in sorted(columns_of(condition)):
        if column not in names:
            raise no_such_column(column, names, "of the filter")
    return condition


def _refuse_other_than_predicate(condition: object) -> None:
    if not isinstance(condition, _PREDICATES):
        message = f"filter: expected SQL text, a condition made with col(), or a predicate; found {shown(condition)}"
        raise InvalidFilter(message)
    if isinstance(condition, And | Or):
        for part in condition.parts:
            _refuse_other_than_predicate(part)
    elif isinstance(condition, Not):
        _refuse_other_than_predicate(condition.part)
    elif isinstance(condition, Like):
        text(condition.pattern, "the pattern of LIKE")


def filter_text(predicate: Predicate) -> str:
    """Return a predicate as text. Values are internal, so a date is a number of days.

    >>> from table_format.model.predicate import CompareOp
    >>> filter_text(And((Compare("a", CompareOp.GE, 1), Or((IsNull("b"), Not(In("b", ("x", "y"))))))))
    "a >= 1 AND (b IS NULL OR NOT (b IN ('x', 'y')))"
    """
    match predicate:
        case And(parts):
            return " AND ".join(_inner(part) for part in parts)
        case Or(parts):
            return " OR ".join(_inner(part) for part in parts)
        case Not(part):
            return f"NOT ({filter_text(part)})"
        case Compare(column, op, value):
            return f"{column} {op.value} {_shown(value)}"
        case In(column, values):
            return f"{column} IN ({', '.join(map(_shown, values))})"
        case Like(column, pattern):
            return f"{column} LIKE {_shown(pattern)}"
        case IsNull(column):
            return f"{column} IS NULL"
        case Literal(value):
            return "unknown" if value is None else str(value).lower()


def _inner(predicate: Predicate) -> str:
    text = filter_text(predicate)
    return f"({text})" if isinstance(predicate, And | Or) else text


def _shown(value: InternalValue) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)
