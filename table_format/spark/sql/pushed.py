"""Converts conditions and the limit of a query to those of a scan if both mean the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Final

from table_format.model.row_order import OrderedColumn, RowLimit
from table_format.model.types import (
    NESTED,
    BigIntType,
    DataField,
    DataType,
    DateType,
    IntType,
    SmallIntType,
    TinyIntType,
    VarCharType,
)
from table_format.spark.names import quoted
from table_format.sql.conditions import Condition, LiteralValue
from table_format.sql.first_rows import FirstRows

_BITS: Final[Mapping[type[DataType], int]] = {TinyIntType: 8, SmallIntType: 16, IntType: 32, BigIntType: 64}


def filter_of(fields: Sequence[DataField], conditions: Sequence[Condition]) -> str | None:
    """Return a filter of the conditions whose literals have exactly the type of the column; ``None`` if there are none.

    Conditions on a column that does not exist, or that is ambiguous without case, are left out.
    """
    parts = (_part(fields, condition) for condition in conditions)
    return " AND ".join(part for part in parts if part is not None) or None


def limit_of(fields: Sequence[DataField], first: FirstRows) -> RowLimit | None:
    """The limit with the columns as they are called; ``None`` if a filter would leave out one of the conditions.

    Columns without an order, and those that are not there or there twice, have none.
    """
    if any(_part(fields, condition) is None for condition in first.conditions):
        return None
    order: list[OrderedColumn] = []
    for ordered in first.limit.order:
        field = _field(fields, ordered.column)
        if field is None or isinstance(field.type, NESTED):
            return None
        order.append(replace(ordered, column=field.name))
    return RowLimit(first.limit.count, tuple(order))


def limit_arguments(limit: RowLimit | None) -> Mapping[str, object]:
    """The limit as arguments of ``Lake.table``.

    >>> limit_arguments(RowLimit(3, (OrderedColumn("a b", descending=True, nulls_first=False),)))
    {'order_by': ['`a b` DESC NULLS LAST'], 'limit': 3}
    """
    if limit is None:
        return {}
    order = [str(replace(ordered, column=quoted(ordered.column))) for ordered in limit.order]
    return {"order_by": order or None, "limit": limit.count}


def _part(fields: Sequence[DataField], condition: Condition) -> str | None:
    field = _field(fields, condition.column)
    if field is None or not all(_fits(field, value) for value in condition.values):
        return None
    return _text(field.name, condition)


def _field(fields: Sequence[DataField], name: str) -> DataField | None:
    found = [field for field in fields if field.name.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def _fits(field: DataField, value: LiteralValue) -> bool:
    if isinstance(value, int):
        bits = _BITS.get(type(field.type))
        return bits is not None and -(1 << (bits - 1)) <= value < 1 << (bits - 1)
    return isinstance(field.type, DateType if isinstance(value, date) else VarCharType)


def _text(name: str, condition: Condition) -> str:
    column = '"' + name.replace('"', '""') + '"'
    values = ", ".join(map(_literal, condition.values))
    if condition.operator == "IN":
        return f"{column} IN ({values})"
    return f"{column} {condition.operator} {values}".rstrip()


def _literal(value: LiteralValue) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return "'" + value.replace("'", "''") + "'"
