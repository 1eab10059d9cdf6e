"""Converts conditions of polars: only the parts that certainly mean the same in this library.

An expression of polars exposes its parts but not its operator. So this module rebuilds it from its parts with each
known operator and compares the results.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from table_format.codecs.foreign_conditions import (
    AllOf,
    AnyOf,
    Condition,
    Known,
    Negation,
    Unknown,
    comparison,
    membership,
    value_of_decimal,
    value_of_micros,
    value_of_number,
)
from table_format.model.predicate import CompareOp, IsNull
from table_format.model.types import (
    BooleanType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    InternalValue,
    LocalZonedTimestampType,
    TimestampType,
    VarCharType,
)

if TYPE_CHECKING:
    import polars as pl

_Build = Callable[[Any, Any], Any]
_COMPARISONS: Final[Sequence[tuple[CompareOp, _Build]]] = (
    (CompareOp.EQ, operator.eq),
    (CompareOp.NE, operator.ne),
    (CompareOp.LT, operator.lt),
    (CompareOp.LE, operator.le),
    (CompareOp.GT, operator.gt),
    (CompareOp.GE, operator.ge),
    (CompareOp.STARTS_WITH, lambda column, text: column.str.starts_with(text)),
)
_BOUNDS: Final = {
    "both": (CompareOp.GE, CompareOp.LE),
    "left": (CompareOp.GE, CompareOp.LT),
    "right": (CompareOp.GT, CompareOp.LE),
    "none": (CompareOp.GT, CompareOp.LT),
}
_EPOCH: Final = dt.date(1970, 1, 1)
_MICROSECOND: Final = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class PolarsConditions:
    """Reads conditions on columns by their names."""

    polars: Any
    fields: Mapping[str, DataField]

    def condition(self, expression: pl.Expr) -> Condition:
        """Return the condition of an expression."""
        field = self._field(expression)
        if field is not None:
            return comparison(field, CompareOp.EQ, True) if isinstance(field.type, BooleanType) else Unknown()
        # The last part comes first.
        match expression.meta.pop()[::-1]:
            case [part]:
                return self._of_one(expression, part)
            case [left, right]:
                return self._of_two(expression, left, right)
            case [column, low, high]:
                return self._between(expression, column, low, high)
        return Unknown()

    def _of_one(self, expression: pl.Expr, part: pl.Expr) -> Condition:
        if expression.meta.eq(~part):
            return Negation(self.condition(part))
        field = self._field(part)
        if field is not None and expression.meta.eq(part.is_null()):
            return Known(IsNull(field.name))
        if field is not None and expression.meta.eq(part.is_not_null()):
            return Negation(Known(IsNull(field.name)))
        return Unknown()

    def _of_two(self, expression: pl.Expr, left: pl.Expr, right: pl.Expr) -> Condition:
        if expression.meta.eq(left & right):
            return AllOf((self.condition(left), self.condition(right)))
        if expression.meta.eq(left | right):
            return AnyOf((self.condition(left), self.condition(right)))
        field = self._field(left)
        if field is not None and expression.meta.eq(left.is_in(right)):
            [values] = self._values(right) or [None]
            known = [_value(value, field.type) for value in values] if isinstance(values, list) else []
            return membership(field, known, has_null=False)
        for op, build in _COMPARISONS:
            if expression.meta.eq(build(left, right)):
                return self._comparison(op, left, right)
        return Unknown()

    def _between(self, expression: pl.Expr, column: pl.Expr, low: pl.Expr, high: pl.Expr) -> Condition:
        for closed, (above, below) in _BOUNDS.items():
            if expression.meta.eq(column.is_between(low, high, closed=closed)):  # type: ignore[arg-type]  # its names
                return AllOf((self._comparison(above, column, low), self._comparison(below, column, high)))
        return Unknown()

    def _comparison(self, op: CompareOp, left: pl.Expr, right: pl.Expr) -> Condition:
        for column, literal, is_mirrored in ((left, right, False), (right, left, True)):
            field = self._field(column)
            values = [] if field is None else self._values(literal)
            if field is not None and len(values) == 1:
                return comparison(field, op, _value(values[0], field.type), is_mirrored=is_mirrored)
        return Unknown()

    def _field(self, expression: pl.Expr) -> DataField | None:
        return self.fields.get(expression.meta.output_name()) if expression.meta.is_column() else None

    def _values(self, expression: pl.Expr) -> list[object]:
        """Return the value of a literal; nothing for other expressions, and for timestamps finer than Python's."""
        if not expression.meta.is_literal():
            return []
        found = self.polars.select(expression).to_series()
        if isinstance(found.dtype, self.polars.Datetime) and found.dtype.time_unit == "ns":
            return []
        return list(found.to_list())


def _value(value: object, data_type: DataType) -> InternalValue | None:
    """The value of the column's type; ``None`` where it is not certain, as for floating numbers."""
    match data_type, value:
        case BooleanType(), bool():
            return value
        case IntegerType(), int() if not isinstance(value, bool):
            return value_of_number(value, data_type)
        case VarCharType(), str():
            return value
        case DecimalType(), Decimal() | int() if not isinstance(value, bool):
            return value_of_decimal(str(value), data_type)
        case TimestampType(), dt.datetime(tzinfo=None):
            return value_of_micros((value - dt.datetime(1970, 1, 1)) // _MICROSECOND, data_type)
        case LocalZonedTimestampType(), dt.datetime() if value.tzinfo is not None:
            return value_of_micros((value - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // _MICROSECOND, data_type)
        case DateType(), dt.date() if not isinstance(value, dt.datetime):
            return (value - _EPOCH).days
    return None
