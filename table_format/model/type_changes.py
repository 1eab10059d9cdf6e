"""The allowed type changes of a column (format chapter 02, section 6; Java ``DataTypeCasts``).

ALTER allows every cast of Java (``may_cast``). A write that changes the schema (``write.merge-schema``) may only widen
types, without a loss except the rounding of floats (``can_widen``).
"""

from __future__ import annotations

from typing import Final

from table_format.model.types import (
    AnyTimestampType,
    BigIntType,
    BinaryType,
    BooleanType,
    BytesType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatingType,
    FloatType,
    IntegerType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TextType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

_NUMERIC_ORDER: Final[tuple[type[DataType], ...]] = (
    TinyIntType,
    SmallIntType,
    IntType,
    BigIntType,
    FloatType,
    DoubleType,
)

_EXACT_NUMERIC: Final = (IntegerType, DecimalType)
_NUMERIC: Final = (*_EXACT_NUMERIC, FloatingType)


def may_cast(old: DataType, new: DataType, *, explicit: bool) -> bool:
    """Return whether Java allows the cast from the old type to the new one; nullability is ignored.

    ``explicit`` adds the casts that a user has to request. An allowed cast is not necessarily implemented.

    >>> may_cast(IntType(), BigIntType(), explicit=False), may_cast(BigIntType(), IntType(), explicit=False)
    (True, False)
    >>> may_cast(BigIntType(), IntType(), explicit=True), may_cast(DateType(), IntType(), explicit=True)
    (True, False)
    """
    return _casts_implicitly(old, new) or (explicit and _casts_explicitly(old, new))


def _casts_implicitly(old: DataType, new: DataType) -> bool:
    match new:
        case VarCharType():
            return isinstance(old, TextType)
        case VarBinaryType():
            return isinstance(old, BytesType)
        case DecimalType() | DoubleType():
            return isinstance(old, _NUMERIC)
        case FloatType():
            return isinstance(old, (*_EXACT_NUMERIC, FloatType))
        case IntegerType():
            return isinstance(old, IntegerType) and old.bits <= new.bits
        case DateType() | TimeType():
            return isinstance(old, (type(new), TimestampType))
        case AnyTimestampType():
            return isinstance(old, AnyTimestampType)
    return type(old) is type(new)


def _casts_explicitly(old: DataType, new: DataType) -> bool:
    match new:
        case TextType():
            return True
        case BooleanType():
            return isinstance(old, TextType | IntegerType)
        case BinaryType():
            return isinstance(old, TextType | VarBinaryType)
        case BytesType():
            return isinstance(old, TextType)
        case IntegerType() | FloatingType() | DecimalType():
            return isinstance(old, (*_NUMERIC, TextType, BooleanType, AnyTimestampType))
        case DateType() | TimeType():
            return isinstance(old, AnyTimestampType | TextType)
        case AnyTimestampType():
            return isinstance(old, (*_NUMERIC, TextType, DateType, TimeType))
    return False


def can_widen(old: DataType, new: DataType) -> bool:
    """Return whether a column of the old type may be widened to the new type; nullability is ignored.

    >>> can_widen(IntType(), BigIntType()), can_widen(BigIntType(), IntType())
    (True, False)
    >>> can_widen(DecimalType(precision=10, scale=2), DecimalType(precision=12, scale=4))
    True
    >>> can_widen(DecimalType(precision=10, scale=2), DecimalType(precision=10, scale=4))
    False
    """
    old, new = old.with_nullable(True), new.with_nullable(True)
    if old == new:
        return True
    if type(old) in _NUMERIC_ORDER and type(new) in _NUMERIC_ORDER:
        return _NUMERIC_ORDER.index(type(old)) < _NUMERIC_ORDER.index(type(new))
    match old, new:
        case IntegerType(), DecimalType():
            return new.precision - new.scale >= old.digits
        case DecimalType(), DecimalType():
            return new.holds(old)
        case (TextType(), VarCharType()):
            return new.length >= old.length
        case (BytesType(), VarBinaryType()):
            return new.length >= old.length
        case TimestampType(), TimestampType():
            return new.precision >= old.precision
        case LocalZonedTimestampType(), LocalZonedTimestampType():
            return new.precision >= old.precision
    return False


def keeps_bounds(old: DataType, new: DataType) -> bool:
    """Return whether cast bounds of the old type are valid for values cast to the new type.

    A cast that rounds may move values across their bounds: 16777217 is 16777216 as a FLOAT.

    >>> keeps_bounds(IntType(), DoubleType()), keeps_bounds(BigIntType(), DoubleType())
    (True, False)
    """
    if not can_widen(old, new):
        return False
    match new:
        case FloatType():
            return isinstance(old, (TinyIntType, SmallIntType, FloatType))
        case DoubleType():
            return not isinstance(old, BigIntType)
    return True
