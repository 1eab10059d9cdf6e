"""Which types a column may change into (format chapter 02, section 6; Java ``DataTypeCasts``).

Allowed is what loses nothing but the precision a float has: values already written stay readable by a cast, and a
filter on the new type still fits the statistics of the old.
"""

from __future__ import annotations

from typing import Final

from table_format.model.types import (
    BigIntType,
    BytesType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TextType,
    TimestampType,
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


def can_widen(old: DataType, new: DataType) -> bool:
    """Whether a column of the old type may become one of the new, nullability aside.

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
    """Whether bounds of the old type bound the values cast to the new one.

    A cast that rounds moves values across their bounds: 16777217 is 16777216 as a FLOAT.

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
