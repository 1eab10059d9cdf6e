"""The 64-bit hash of bloom filters, for whole columns (format chapter 09, section 3; Java ``FastHash``).

The hash is xxHash64 for text and bytes, and Thomas Wang's integer hash, with arithmetic right shifts, for numbers as
64-bit integers.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.errors import InvalidData
from table_format.kernels.file_index.xxhash64 import xxhash64
from table_format.kernels.row_words import UInt64s
from table_format.model.arrow_types import arrow_type
from table_format.model.file_index import has_fast_hash
from table_format.model.types import DataType

_BLOCK_ROWS: Final = 32768
_NANOS_PER_MICRO: Final = 1000
_MILLIS_PER_SECOND: Final = 1000
_FIRST_FACTOR: Final = (1 << 21) - 1
_STEPS: Final = ((24, 1 + (1 << 3) + (1 << 8)), (14, 1 + (1 << 2) + (1 << 4)), (28, 1 + (1 << 31)))
"""Right shifts and factors."""


def fast_hashes(column: pa.Array, t: DataType) -> UInt64s:
    """Return the hashes of the non-null values of a column, in order.

    >>> from table_format.model.types import IntType
    >>> [hex(h) for h in fast_hashes(pa.array([3, None], pa.int32()), IntType()).tolist()]
    ['0x135fddf6a6bfbbdd']

    Raises:
        InvalidData: the column is not of ``arrow_type(t)``, or the type has no such hash.
    """
    if column.type != arrow_type(t) or not has_fast_hash(t):
        message = f"expected an Arrow array of {arrow_type(t)} for {t}, which needs a hash; found {column.type}"
        raise InvalidData(message)
    if column.null_count:
        column = column.drop_null()
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return xxhash64(column)
    hashes = np.empty(len(column), np.int64)
    for start in range(0, len(column), _BLOCK_ROWS):
        hashes[start : start + _BLOCK_ROWS] = _wang(_as_integers(column.slice(start, _BLOCK_ROWS)))
    return hashes.view(np.uint64)


def _as_integers(column: pa.Array) -> npt.NDArray[np.int64]:
    """Return each value as an integer, in a new array."""
    arrow = column.type
    if pa.types.is_float32(arrow):
        floats = np.asarray(column)
        # Java has only one NaN.
        return np.where(np.isnan(floats), np.float32("nan"), floats).view(np.int32).astype(np.int64)
    if pa.types.is_float64(arrow):
        doubles = np.asarray(column)
        return np.where(np.isnan(doubles), np.float64("nan"), doubles).view(np.int64)
    if not pa.types.is_timestamp(arrow):
        number = column if pa.types.is_integer(arrow) else column.view(pa.int32())
        return np.asarray(number).astype(np.int64)
    ticks = np.asarray(column.view(pa.int64()))
    if arrow.unit == "s":
        return ticks * _MILLIS_PER_SECOND
    return ticks // _NANOS_PER_MICRO if arrow.unit == "ns" else ticks.copy()


def _wang(key: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Compute Thomas Wang's hash in place. Sums of shifted keys are computed as products, in one pass over the keys."""
    shifted = np.empty_like(key)
    key *= _FIRST_FACTOR
    key -= 1  # ``~key + (key << 21)``
    for bits, factor in _STEPS:
        np.right_shift(key, bits, out=shifted)
        key ^= shifted
        key *= factor
    return key
