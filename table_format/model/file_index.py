"""File indexes: the names of their types, and the values that they accept (format chapter 09)."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final

from table_format.errors import InvalidData
from table_format.model.ticks import position
from table_format.model.types import (
    AnyTimestampType,
    BooleanType,
    BytesType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatingType,
    FloatType,
    IntegerType,
    InternalValue,
    TextType,
    TimeType,
    VarBinaryType,
    VarCharType,
)

BLOOM_FILTER: Final = "bloom-filter"
BITMAP: Final = "bitmap"
BSI: Final = "bsi"
RANGE_BITMAP: Final = "range-bitmap"

_HASHED: Final = (TextType, BytesType, IntegerType, FloatingType, DateType, TimeType, AnyTimestampType)

_TICKED: Final = (IntegerType, DateType, TimeType, AnyTimestampType)
_MAX_LONG_PRECISION: Final = 18
"""Digits of a DECIMAL whose unscaled values are integers of 64 bits."""
_MAX_MICRO_PRECISION: Final = 6

DEFAULT_ITEMS: Final = 1_000_000
DEFAULT_FPP: Final = 0.1

MAX_BLOOM_BITS: Final = 2**31 - 8
"""Bits are numbered by Java's ``int``."""


def has_fast_hash(data_type: DataType) -> bool:
    """Whether values of a type have the hash of bloom filters: all but BOOLEAN, DECIMAL and types with parts.

    >>> from table_format.model.types import IntType
    >>> has_fast_hash(IntType()), has_fast_hash(VarCharType())
    (True, True)
    """
    return isinstance(data_type, _HASHED)


def keeps_fast_hash(stored: DataType, wanted: DataType) -> bool:
    """Whether values of a type have the hash they had when they are read as another: a wider integer, longer text.

    >>> from table_format.model.types import BigIntType, IntType
    >>> keeps_fast_hash(IntType(), BigIntType()), keeps_fast_hash(BigIntType(), IntType())
    (True, False)
    """
    stored, wanted = stored.with_nullable(True), wanted.with_nullable(True)
    if stored == wanted:
        return True
    match stored, wanted:
        case IntegerType(), IntegerType():
            return stored.bits <= wanted.bits
        case (VarCharType(length=old), VarCharType(length=new)) | (
            VarBinaryType(length=old),
            VarBinaryType(length=new),
        ):
            return old <= new
    return False


def has_bitmap(data_type: DataType) -> bool:
    """Whether a column can have a bitmap for each of its values: all but BINARY, DECIMAL and types with parts.

    >>> has_bitmap(BooleanType()), has_bitmap(DecimalType(9, 2))
    (True, False)
    """
    return isinstance(data_type, (*_TICKED, BooleanType, FloatType, DoubleType, CharType, VarCharType))


def has_bit_slices(data_type: DataType) -> bool:
    """Whether a column can have bit slices of its values; an index of DECIMAL values beyond 64 bits is not made.

    >>> has_bit_slices(DecimalType(38, 2)), has_bit_slices(FloatType())
    (True, False)
    """
    return isinstance(data_type, (*_TICKED, DecimalType))


def bit_slices_hold(value: InternalValue, data_type: DataType) -> bool:
    """Whether an index of bit slices can hold a value: its magnitude has to be an integer of 64 bits.

    >>> from table_format.model.types import BigIntType
    >>> bit_slices_hold(2**63 - 1, BigIntType()), bit_slices_hold(-(2**63), BigIntType())
    (True, False)
    """
    tick = position(value, data_type).tick if isinstance(value, Decimal) else value
    return not isinstance(tick, int) or -(2**63) < tick < 2**63


def has_range_bitmap(data_type: DataType) -> bool:
    """Whether a column can have bit slices of the ranks of its values: keys of 64 bits, or text.

    >>> from table_format.model.types import TimestampType
    >>> has_range_bitmap(TimestampType(6)), has_range_bitmap(TimestampType(7))
    (True, False)
    """
    if isinstance(data_type, AnyTimestampType):
        return data_type.precision <= _MAX_MICRO_PRECISION
    if isinstance(data_type, DecimalType):
        return data_type.precision <= _MAX_LONG_PRECISION
    return has_bitmap(data_type)


def keeps_keys(stored: DataType, wanted: DataType) -> bool:
    """Whether values of a type have the keys in indexes that they had when they are read as another.

    >>> from table_format.model.types import TimestampType
    >>> keeps_keys(DecimalType(5, 2), DecimalType(9, 2)), keeps_keys(DateType(), TimestampType(6))
    (True, False)
    """
    match stored, wanted:
        case DecimalType(precision=old, scale=scale), DecimalType(precision=new, scale=new_scale):
            return old <= new and scale == new_scale
    return keeps_fast_hash(stored, wanted)


def bloom_size(items: int, fpp: float) -> tuple[int, int]:
    """The number of bits and of hash functions for so many distinct values at that rate of false positives.

    Raises:
        InvalidData: that would take more bits than a filter can have.

    >>> bloom_size(10, 0.1), bloom_size(1_000_000, 0.1)
    ((48, 3), (4792536, 3))
    """
    ln2 = math.log(2)
    bits = int(-items * math.log(fpp) / (ln2 * ln2))
    bits += 8 - bits % 8
    if bits > MAX_BLOOM_BITS:
        message = f"a bloom filter for {items} items at a rate of {fpp} has {bits} bits, more than {MAX_BLOOM_BITS}"
        raise InvalidData(message)
    return bits, max(1, math.floor(bits / items * ln2 + 0.5))


def column_of(index: str) -> str:
    """The column that an index is over, or one of whose keys it is over.

    >>> column_of("m[a]"), column_of("n")
    ('m', 'n')
    """
    nested = map_key_of(index)
    return index if nested is None else nested[0]


def map_key_of(column: str) -> tuple[str, str] | None:
    """The map column and the key that ``m[key]`` names, which is an index over the values of that key.

    >>> map_key_of("m[a]"), map_key_of("m")
    (('m', 'a'), None)
    """
    name, bracket, key = column.partition("[")
    return (name, key[:-1]) if bracket and key.endswith("]") else None
