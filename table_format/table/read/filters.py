"""Converts the filters of callers to predicates over the columns of one schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from table_format.counted import listed
from table_format.errors import InvalidData, InvalidFilter
from table_format.kernels.values import array_of
from table_format.model.arguments import shown, text
from table_format.model.column_names import no_such_column
from table_format.model.condition import Condition, Filter
from table_format.model.filter_text import name_text, value_text
from table_format.model.predicate import (
    And,
    Compare,
    CompareOp,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Predicate,
    columns_of,
)
from table_format.model.types import DataField, DataType, InternalValue

_PREDICATES: Final = (And, Compare, In, IsNull, Like, Literal, Not, Or)
_FUNCTIONS: Final = (CompareOp.STARTS_WITH, CompareOp.ENDS_WITH, CompareOp.CONTAINS)


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


def filter_text(predicate: Predicate, fields: Sequence[DataField]) -> str:
    """Return a predicate over columns of a table as text, which is a filter unless an IN has more than fifty values.

    >>> from table_format.model.predicate import CompareOp
    >>> from table_format.model.types import DateType, IntType
    >>> fields = [DataField(0, "day", DateType()), DataField(1, "b", IntType())]
    >>> filter_text(And((Compare("day", CompareOp.GE, 20455), Or((IsNull("b"), Not(In("b", (1, 2))))))), fields)
    "day >= DATE '2026-01-02' AND (b IS NULL OR NOT (b IN (1, 2)))"
    """
    return _text(predicate, {field.name: field.type for field in fields})


def _text(predicate: Predicate, types: Mapping[str, DataType]) -> str:
    match predicate:
        case And(parts):
            return " AND ".join(_inner(part, types) for part in parts)
        case Or(parts):
            return " OR ".join(_inner(part, types) for part in parts)
        case Not(part):
            return f"NOT ({_text(part, types)})"
        case Compare(column, op, value):
            name, shown = name_text(column), _literal(value, types.get(column))
            return f"{op.value}({name}, {shown})" if op in _FUNCTIONS else f"{name} {op.value} {shown}"
        case In(column, values):
            return f"{name_text(column)} IN ({listed(_literal(value, types.get(column)) for value in values)})"
        case Like(column, pattern):
            return f"{name_text(column)} LIKE {value_text(pattern)}"
        case IsNull(column):
            return f"{name_text(column)} IS NULL"
        case Literal(value):
            return "NULL" if value is None else str(value).upper()


def _inner(predicate: Predicate, types: Mapping[str, DataType]) -> str:
    text = _text(predicate, types)
    return f"({text})" if isinstance(predicate, And | Or) else text


def _literal(value: InternalValue, data_type: DataType | None) -> str:
    """Return a value as SQL; as it is stored if Python has no such value, as for a year above 9999."""
    if value is None or data_type is None:
        return str(value)
    try:
        return value_text(array_of([value], data_type)[0].as_py())
    except (InvalidData, OverflowError, ValueError):
        return str(value)
