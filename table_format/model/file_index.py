"""The names of file index types, and the values that each accepts (format chapter 09)."""

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
"""The maximum precision of a DECIMAL whose unscaled values fit into 64 bits."""
_MAX_MICRO_PRECISION: Final = 6

DEFAULT_ITEMS: Final = 1_000_000
DEFAULT_FPP: Final = 0.1

MAX_BLOOM_BITS: Final = 2**31 - 8
"""The maximum number of bits, because Java numbers them with an ``int``."""


def has_fast_hash(data_type: DataType) -> bool:
    """Return whether bloom filters support a type: all types except BOOLEAN, DECIMAL and nested types.

    >>> from table_format.model.types import IntType
    >>> has_fast_hash(IntType()), has_fast_hash(VarCharType())
    (True, True)
    """
    return isinstance(data_type, _HASHED)


def keeps_fast_hash(stored: DataType, wanted: DataType) -> bool:
    """Return whether the bloom filter hash stays the same if values are read as ``wanted``: a wider or longer type.

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
    """Return whether bitmap indexes support a type: all types except BINARY, DECIMAL and nested types.

    >>> has_bitmap(BooleanType()), has_bitmap(DecimalType(9, 2))
    (True, False)
    """
    return isinstance(data_type, (*_TICKED, BooleanType, FloatType, DoubleType, CharType, VarCharType))


def has_bit_slices(data_type: DataType) -> bool:
    """Return whether bit-slice indexes support a type. DECIMAL values of more than 64 bits are never indexed.

    >>> has_bit_slices(DecimalType(38, 2)), has_bit_slices(FloatType())
    (True, False)
    """
    return isinstance(data_type, (*_TICKED, DecimalType))


def bit_slices_hold(value: InternalValue, data_type: DataType) -> bool:
    """Return whether a bit-slice index can hold a value, whose absolute value must fit into a signed 64-bit integer.

    >>> from table_format.model.types import BigIntType
    >>> bit_slices_hold(2**63 - 1, BigIntType()), bit_slices_hold(-(2**63), BigIntType())
    (True, False)
    """
    tick = position(value, data_type).tick if isinstance(value, Decimal) else value
    return not isinstance(tick, int) or -(2**63) < tick < 2**63


def has_range_bitmap(data_type: DataType) -> bool:
    """Return whether range bitmaps support a type, whose keys must be 64-bit numbers or text.

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
    """Return whether the keys of values in indexes stay the same if the values are read as ``wanted``.

    >>> from table_format.model.types import TimestampType
    >>> keeps_keys(DecimalType(5, 2), DecimalType(9, 2)), keeps_keys(DateType(), TimestampType(6))
    (True, False)
    """
    match stored, wanted:
        case DecimalType(precision=old, scale=scale), DecimalType(precision=new, scale=new_scale):
            return old <= new and scale == new_scale
    return keeps_fast_hash(stored, wanted)


def bloom_size(items: int, fpp: float) -> tuple[int, int]:
    """Return the number of bits and of hash functions for ``items`` distinct values and a false positive rate.

    Raises:
        InvalidData: the filter would need more bits than the maximum.

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
    """Return the column of an index on a column or on a key of a map column.

    >>> column_of("m[a]"), column_of("n")
    ('m', 'n')
    """
    nested = map_key_of(index)
    return index if nested is None else nested[0]


def map_key_of(column: str) -> tuple[str, str] | None:
    """Return the map column and the key of an index ``m[key]`` on the values of one key; else ``None``.

    >>> map_key_of("m[a]"), map_key_of("m")
    (('m', 'a'), None)
    """
    name, bracket, key = column.partition("[")
    return (name, key[:-1]) if bracket and key.endswith("]") else None
