"""Types of columns and random values of them, as Arrow takes them."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from random import Random
from typing import Any, Final

from table_format.model.types import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

NESTED_TYPES: Final[tuple[DataType, ...]] = (
    ArrayType(IntType()),
    MapType(VarCharType(nullable=False), DecimalType(9, 2)),
    MultisetType(VarCharType(nullable=False)),
    RowType((DataField(50, "x", TimestampType(6)), DataField(51, "y", ArrayType(VarCharType())))),
)
KEY_TYPES: Final[tuple[DataType, ...]] = (
    TinyIntType(),
    SmallIntType(),
    IntType(),
    BigIntType(),
    BigIntType(),
    DecimalType(9, 2),
    DecimalType(30, 3),
    DateType(),
    TimestampType(6),
    LocalZonedTimestampType(3),
    VarCharType(),
    VarCharType(),
    CharType(6),
)
VALUE_TYPES: Final[tuple[DataType, ...]] = (
    *KEY_TYPES,
    BooleanType(),
    FloatType(),
    DoubleType(),
    TimestampType(0),
    TimestampType(3),
    LocalZonedTimestampType(6),
    VarCharType(9),
    BinaryType(3),
    VarBinaryType(),
    *NESTED_TYPES,
)
PARTITION_TYPES: Final[tuple[DataType, ...]] = (
    VarCharType(),
    IntType(),
    BigIntType(),
    DateType(),
    BooleanType(),
    TimestampType(3),
    LocalZonedTimestampType(3),
    DecimalType(9, 2),
)

_TEXTS: Final = ("", "a", "A", "b", "ab", "a b", "a%", "a_b", "it's", "a\\b", "ä☃", "\U0001f600", "7", "-12", "a/b:c=d")
_DAYS: Final = (
    *(dt.date(1582, 10, day) for day in (4, 5, 10, 14, 15)),
    *(dt.date(1, 1, 1), dt.date(999, 12, 31), dt.date(1500, 2, 28), dt.date(1900, 3, 1), dt.date(9999, 12, 31)),
    *(dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(2026, 3, 29), dt.date(2026, 10, 25)),
)
_TIMES: Final = (
    dt.timedelta(),
    dt.timedelta(hours=2, minutes=30),
    dt.timedelta(hours=23, minutes=59, seconds=59, milliseconds=999),
    dt.timedelta(hours=1, microseconds=123_456),
)
_FLOATS: Final = (0.0, -0.0, 1.5, -2.25, 1e30, -1e-30, math.inf, -math.inf, math.nan)


def random_value(  # noqa: C901 - one line for each type
    data_type: DataType, chance: Random, *, nulls: float = 0.15
) -> Any:
    """A value; now and then null where the type admits it."""
    if data_type.nullable and chance.random() < nulls:
        return None
    match data_type:
        case BooleanType():
            return chance.random() < 0.5
        case TinyIntType() | SmallIntType() | IntType() | BigIntType():
            half = 1 << (data_type.bits - 1)
            return chance.choice((chance.randrange(-9, 10), chance.randrange(-9, 10), -half, half - 1))
        case FloatType() | DoubleType():
            return chance.choice(_FLOATS)
        case DecimalType(precision=precision, scale=scale):
            digits = chance.choice((chance.randrange(-999, 1000), 10**precision - 1, 1 - 10**precision))
            return Decimal(digits).scaleb(-scale) if precision <= 28 else _wide(digits, scale)
        case DateType():
            return chance.choice(_DAYS)
        case TimestampType(precision=precision):
            return _time(chance, precision)
        case LocalZonedTimestampType(precision=precision):
            return _time(chance, precision).replace(tzinfo=dt.UTC)
        case CharType(length=length):
            return chance.choice(_TEXTS)[:length].rstrip(" ")
        case VarCharType(length=length):
            return chance.choice(_TEXTS)[:length]
        case BinaryType(length=length):
            return bytes(chance.randrange(256) for _ in range(length))
        case VarBinaryType():
            return bytes(chance.randrange(256) for _ in range(chance.randrange(4)))
        case ArrayType(element=element):
            return [random_value(element, chance) for _ in range(chance.randrange(3))]
        case MapType(key=key, value=value):
            return list({random_value(key, chance): random_value(value, chance) for _ in range(2)}.items())
        case MultisetType(element=element):
            return list({random_value(element, chance): chance.randrange(1, 5) for _ in range(2)}.items())
        case RowType(fields=fields):
            return {field.name: random_value(field.type, chance) for field in fields}
    raise AssertionError(data_type)


def _wide(digits: int, scale: int) -> Decimal:
    return Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -scale))


def _time(chance: Random, precision: int) -> dt.datetime:
    found = dt.datetime.combine(chance.choice(_DAYS), dt.time()) + chance.choice(_TIMES)
    # Before 1970 whole milliseconds only: those are what ORC files can hold.
    step = 10 ** (6 - min(precision, 6 if found.year >= 1970 else 3))
    return found.replace(microsecond=found.microsecond // step * step)
