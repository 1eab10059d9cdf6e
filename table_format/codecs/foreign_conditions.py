"""Converts the parts of an engine's condition that certainly have the same meaning in this library.

The converted parts exclude rows early, and the engine tests the whole condition again. So any part may be left to the
engine, but a converted part must hold for every row for which the condition holds: types must be equal, and nulls,
rounding and time zones must not make a difference.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final, TypeAlias

from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Not, Or, Predicate, conjunction
from table_format.model.types import (
    AnyTimestampType,
    BooleanType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    InternalValue,
    VarCharType,
)

MAX_VALUES: Final = 1_000
"""The maximum number of values of an IN; a longer list is left to the engine."""

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_EPOCH: Final = dt.date(1970, 1, 1)
_MIRRORED: Final = {
    CompareOp.EQ: CompareOp.EQ,
    CompareOp.NE: CompareOp.NE,
    CompareOp.LT: CompareOp.GT,
    CompareOp.LE: CompareOp.GE,
    CompareOp.GT: CompareOp.LT,
    CompareOp.GE: CompareOp.LE,
}


@dataclass(frozen=True, slots=True)
class Known:
    """A condition that is equivalent to this predicate."""

    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Unknown:
    """A condition that only the engine can test."""


@dataclass(frozen=True, slots=True)
class AllOf:
    """An AND of conditions."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """An OR of conditions."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """The NOT of a condition."""

    part: Condition


Condition: TypeAlias = Known | Unknown | AllOf | AnyOf | Negation


def implied(condition: Condition) -> Predicate | None:
    """Return a predicate that the condition implies; ``None`` if there is none.

    >>> a, b = Known(IsNull("a")), Known(IsNull("b"))
    >>> implied(AllOf((a, Unknown())))
    IsNull(column='a')
    >>> implied(AnyOf((a, Unknown()))), implied(Negation(AllOf((a, Unknown()))))
    (None, None)
    >>> implied(Negation(AnyOf((a, b))))
    Not(part=Or(parts=(IsNull(column='a'), IsNull(column='b'))))
    """
    match condition:
        case AllOf(parts):
            return conjunction(tuple(p for p in map(implied, parts) if p is not None))
        case AnyOf(parts):
            known = tuple(p for p in map(implied, parts) if p is not None)
            return Or(known) if len(known) == len(parts) else None
        case _:
            return _exact(condition)


def is_understood(condition: Condition) -> bool:
    """Return whether the whole condition is converted, so that it is equivalent to ``implied``.

    >>> is_understood(AllOf((Known(IsNull("a")), Unknown()))), is_understood(Known(IsNull("a")))
    (False, True)
    """
    return _exact(condition) is not None


def _exact(condition: Condition) -> Predicate | None:
    match condition:
        case Known(predicate):
            return predicate
        case AllOf(parts) | AnyOf(parts):
            known = tuple(p for p in map(_exact, parts) if p is not None)
            if len(known) < len(parts):
                return None
            return And(known) if isinstance(condition, AllOf) else Or(known)
        case Negation(part):
            inner = _exact(part)
            return None if inner is None else Not(inner)
        case Unknown():
            return None


def comparison(field: DataField, op: CompareOp, value: InternalValue | None, *, is_mirrored: bool = False) -> Condition:
    """Return a comparison with a value, or ``Unknown`` if it is ``None``; if mirrored, the value is on the left."""
    if value is None or (op not in _MIRRORED and (is_mirrored or not isinstance(field.type, VarCharType))):
        return Unknown()
    return Known(Compare(field.name, _MIRRORED[op] if is_mirrored else op, value))


def same_value(field: DataField, value: InternalValue | None) -> Condition:
    """Return the condition of ``<=>``, which is false instead of unknown if the column is null."""
    return AllOf((Negation(Known(IsNull(field.name))), comparison(field, CompareOp.EQ, value)))


def membership(field: DataField, values: Sequence[InternalValue | None], *, has_null: bool) -> Condition:
    """Return an IN, or ``Unknown`` if a value is ``None``. With a null in its list, it is never false."""
    known = tuple(value for value in values if value is not None)
    if not known or len(known) < len(values) or len(known) > MAX_VALUES:
        return Unknown()
    found = Known(In(field.name, known))
    return AllOf((found, Unknown())) if has_null else found


def value_of_text(text: str, data_type: DataType) -> InternalValue | None:
    """Return the value of a literal of the column's exact type from the text that Spark prints; ``None`` if unsure.

    Instants are unsure because their text depends on a time zone, and floating-point numbers because Spark treats NaN
    as a number.

    >>> value_of_text("1582-10-10", DateType())
    -141432
    >>> value_of_text("1.50", DecimalType(10, 3))
    Decimal('1.500')
    """
    match data_type:
        case BooleanType():
            return {"true": True, "false": False}.get(text)
        case IntegerType():
            return value_of_number(int(text), data_type)
        case DecimalType():
            return value_of_decimal(text, data_type)
        case VarCharType():
            return text
        case DateType():
            return (dt.date.fromisoformat(text) - _EPOCH).days if _DATE.fullmatch(text) else None
    return None


def value_of_number(number: int, data_type: IntegerType) -> int | None:
    """Return an integer, or ``None`` if it does not fit the column."""
    return number if -(1 << (data_type.bits - 1)) <= number < 1 << (data_type.bits - 1) else None


def value_of_decimal(text: str, data_type: DecimalType) -> Decimal | None:
    """Return a decimal number in the scale of the column, or ``None`` if it has more digits."""
    try:
        value = Decimal(text)
        scaled = value.quantize(Decimal(1).scaleb(-data_type.scale))
    except InvalidOperation:
        return None
    return scaled if scaled == value and len(scaled.as_tuple().digits) <= data_type.precision else None


def value_of_micros(micros: int, data_type: AnyTimestampType) -> int | None:
    """Return a timestamp in nanoseconds, or ``None`` if the precision of the column is too low.

    >>> from table_format.model.types import TimestampType
    >>> value_of_micros(1500, TimestampType(6)), value_of_micros(1500, TimestampType(3))
    (1500000, None)
    """
    return micros * 1000 if micros % 10 ** (6 - min(6, data_type.precision)) == 0 else None
