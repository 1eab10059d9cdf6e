"""Converts conditions of a query to a filter of a scan if both mean the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

from table_format.model.types import (
    BigIntType,
    DataField,
    DataType,
    DateType,
    IntType,
    SmallIntType,
    TinyIntType,
    VarCharType,
)
from table_format.sql.conditions import Condition, LiteralValue

_BITS: Final[Mapping[type[DataType], int]] = {TinyIntType: 8, SmallIntType: 16, IntType: 32, BigIntType: 64}


def filter_of(fields: Sequence[DataField], conditions: Sequence[Condition]) -> str | None:
    """Return a filter of the conditions whose literals have exactly the type of the column; ``None`` if there are none.

    Conditions on a column that does not exist, or that is ambiguous without case, are left out.
    """
    parts = []
    for condition in conditions:
        found = [field for field in fields if field.name.lower() == condition.column.lower()]
        if len(found) == 1 and all(_fits(found[0], value) for value in condition.values):
            parts.append(_text(found[0].name, condition))
    return " AND ".join(parts) or None


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
