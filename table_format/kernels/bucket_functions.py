"""The bucket functions ``mod`` and ``hive`` of ``bucket-function.type`` (format chapter 05, section 5).

Java ``ModBucketFunction``, ``HiveBucketFunction`` and ``HiveHasher``.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.errors import UnsupportedFeature
from table_format.kernels.row_words import BytesWords, UInt32s, column_words
from table_format.model.types import (
    BigIntType,
    BooleanType,
    BytesType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TextType,
    TimeType,
    TinyIntType,
)

_MULTIPLIER: Final = 31
_INVERSE: Final = pow(_MULTIPLIER, -1, 1 << 32)
_WORD: Final = 0xFFFFFFFF
_NAN_32: Final = np.uint32(0x7FC00000)
_NAN_64: Final = np.uint64(0x7FF8 << 48)


def mod_buckets(t: DataType, column: pa.Array, bucket_count: int) -> npt.NDArray[np.int32]:
    """Return the remainder of a single INT or BIGINT key, never negative; null goes to bucket 0.

    >>> mod_buckets(IntType(), pa.array([7, -1, None], pa.int32()), 5).tolist()
    [2, 4, 0]

    Raises:
        UnsupportedFeature: the key has another type.
    """
    if not isinstance(t, IntType | BigIntType):
        feature = f"bucket-function.type 'mod' on {t}"
        message = f"{feature} is not possible: the key must be one INT or BIGINT"
        raise UnsupportedFeature(feature, message)
    values = column.fill_null(0).to_numpy()
    buckets: npt.NDArray[np.int32] = np.mod(values, bucket_count).astype(np.int32)
    return buckets


def hive_buckets(types: Sequence[DataType], columns: Sequence[pa.Array], bucket_count: int) -> npt.NDArray[np.int32]:
    """Return the bucket that Hive would choose; the hash of null is 0.

    >>> from table_format.model.types import VarCharType
    >>> hive_buckets([VarCharType()], [pa.array(["a"])], 7).tolist()
    [6]

    Raises:
        UnsupportedFeature: Hive's hash is not supported for a type (timestamps, nested types).
    """
    hashes = np.zeros(len(columns[0]), np.uint32)
    for t, column in zip(types, columns, strict=True):
        hashes = hashes * np.uint32(_MULTIPLIER) + _hive_hashes(t, column)
    positive = (hashes & np.uint32(0x7FFFFFFF)).view(np.int32)
    return np.mod(positive, np.int32(bucket_count))


def _hive_hashes(t: DataType, column: pa.Array) -> UInt32s:
    match t:
        case BooleanType() | TinyIntType() | SmallIntType() | IntType() | DateType() | TimeType():
            numbers: UInt32s = column.cast(pa.int32()).fill_null(0).to_numpy().view(np.uint32)
            return numbers
        case FloatType():
            floats = column.fill_null(0).to_numpy()
            # Java treats all NaNs as equal, and both zeros.
            return np.where(np.isnan(floats), _NAN_32, np.where(floats == 0, np.uint32(0), floats.view(np.uint32)))
        case DoubleType():
            doubles = column.fill_null(0).to_numpy()
            zeroed = np.where(doubles == 0, np.uint64(0), doubles.view(np.uint64))
            return _long_hashes(np.where(np.isnan(doubles), _NAN_64, zeroed))
        case BigIntType():
            return _long_hashes(column.fill_null(0).to_numpy().view(np.uint64))
        case DecimalType():
            # Trailing zeros of each value are removed first, in a loop, because only tables of Hive use this function.
            return np.array([0 if v is None else _decimal_hash(v) for v in column.to_pylist()], np.uint32)
        case TextType() | BytesType():
            words = column_words(t, column)
            if isinstance(words, BytesWords):
                return _bytes_hashes(words)
    feature = f"bucket-function.type 'hive' on {t}"
    raise UnsupportedFeature(feature)


def _long_hashes(values: npt.NDArray[np.uint64]) -> UInt32s:
    return (values ^ values >> np.uint64(32)).astype(np.uint32)


def _bytes_hashes(words: BytesWords) -> UInt32s:
    """Return ``h = 31 * h + byte`` over the bytes of each value, for all values at once.

    With P(k) the sum of ``byte[i] * 31**-i`` for ``i < k``, the hash of bytes s to e is
    ``(P(e) - P(s)) * 31**(e - 1)``: 31 is odd and so has an inverse modulo ``2**32``.
    """
    content = words.data.view(np.int8).astype(np.int32).view(np.uint32)
    sums = np.zeros(len(content) + 1, np.uint32)
    np.cumsum(content * _powers(_INVERSE, len(content)), out=sums[1:], dtype=np.uint32)
    ends = words.starts + words.lengths
    hashes: UInt32s = (sums[ends] - sums[words.starts]) * _powers(_MULTIPLIER, len(sums))[ends] * np.uint32(_INVERSE)
    return hashes


def _powers(base: int, count: int) -> UInt32s:
    factors = np.full(count, base, np.uint32)
    factors[:1] = 1
    powers: UInt32s = np.cumprod(factors, dtype=np.uint32)
    return powers


def _decimal_hash(value: Decimal) -> int:
    """Return ``BigDecimal.hashCode`` of the value without trailing zeros.

    >>> _decimal_hash(Decimal("12.340")) == _decimal_hash(Decimal("12.34")) == 31 * 1234 + 2
    True
    """
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits)))
    scale = -int(exponent)
    while scale > 0 and unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale - 1
    hashed = 0
    for shift in (96, 64, 32, 0):
        hashed = hashed * _MULTIPLIER + (unscaled >> shift & _WORD)
    return ((-hashed if sign else hashed) * _MULTIPLIER + scale) & _WORD
