"""Converts columns to the 4-byte words of their values in binary rows (format chapter 05, section 1).

A block of a column has one of three shapes: a slot with the value (``SlotWords``), a slot that points to a variable
part of fixed width (``PointerWords``), or text and bytes of any length (``BytesWords``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.errors import InvalidData
from table_format.model.arrow_calls import frombuffer
from table_format.model.arrow_types import arrow_type, timestamp_unit
from table_format.model.types import (
    NESTED,
    AnyTimestampType,
    BigIntType,
    BooleanType,
    BytesType,
    DataType,
    DecimalType,
    DoubleType,
    SmallIntType,
    TextType,
    TinyIntType,
)

UInt32s: TypeAlias = npt.NDArray[np.uint32]
UInt64s: TypeAlias = npt.NDArray[np.uint64]
Words: TypeAlias = UInt32s | int
"""One word of every row of a block; an ``int`` if all rows have the same word."""

Nulls: TypeAlias = npt.NDArray[np.bool_] | None
"""A mask of nulls; ``None`` if there are none."""

_Item = TypeVar("_Item", bound=np.generic)

INLINE_BYTES: Final = 7
"""Text and bytes up to this length are stored in the slot."""

_MAX_COMPACT_PRECISION: Final = 18
_MAX_COMPACT_TIMESTAMP: Final = 3
_NARROW: Final[dict[type[DataType], type[np.unsignedinteger[Any]]]] = {TinyIntType: np.uint8, SmallIntType: np.uint16}
_PER_MILLI: Final = {"us": 1_000, "ns": 1_000_000}
_BYTE_BOUNDS: Final = tuple(1 << (8 * k - 1) for k in range(1, 9))
"""The magnitudes at which a two's complement integer needs another byte."""


@dataclass(frozen=True, slots=True)
class SlotWords:
    """Values of at most 8 bytes: the two words of the slot."""

    nulls: Nulls
    low: Words
    high: Words


@dataclass(frozen=True, slots=True)
class PointerWords:
    """Values with a variable part of fixed width: the first word of the slot, the second being the offset."""

    nulls: Nulls
    head: Words
    variable: tuple[Words, ...]


@dataclass(frozen=True, slots=True)
class BytesWords:
    """Text and bytes: ``chunks`` pieces of 8 bytes in the variable part, none if the value is in the slot."""

    nulls: Nulls
    min_chunks: int
    max_chunks: int
    lengths: npt.NDArray[np.int64]
    chunks: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    data: UInt64s
    """The bytes of all values, padded with at least 8 zeros."""

    def take(self, rows: npt.NDArray[np.int64]) -> BytesWords:
        """Return the same column with its rows in this order; only for the variable part."""
        return replace(self, lengths=self.lengths[rows], chunks=self.chunks[rows], starts=self.starts[rows])

    def loads(self, positions: npt.NDArray[np.int64]) -> UInt64s:
        """Return the 8 bytes at each position, from two aligned words, which is faster than one unaligned word."""
        index = positions >> 3
        shift = ((positions & 7) << 3).view(np.uint64)
        lower, upper = self.data[index], self.data[index + 1]
        # Two shifts to the left, because a shift by 64 is undefined.
        words: UInt64s = (lower >> shift) | (upper << np.uint64(1) << (np.uint64(63) - shift))
        return words


ColumnWords: TypeAlias = SlotWords | PointerWords | BytesWords


def column_words(t: DataType, column: pa.Array) -> ColumnWords:
    """Return the words of a column, or of a slice of one.

    Raises:
        InvalidData: the column is not an array of ``arrow_type(t)``, or the type is nested.
    """
    if isinstance(t, NESTED):
        message = f"{t} cannot be a bucket key: nested values have no bucket hash"
        raise InvalidData(message)
    if column.type != arrow_type(t):
        message = f"expected an Arrow array of {arrow_type(t)} for {t}, found {column.type}"
        raise InvalidData(message)
    nulls = np.asarray(column.is_null()) if column.null_count else None
    match t:
        case TextType() | BytesType():
            return _bytes_words(column, nulls)
        case DecimalType(precision=precision):
            pairs = _values(column, np.dtype("<u8"), 2).reshape(-1, 2)
            if precision > _MAX_COMPACT_PRECISION:
                return _long_decimal(pairs[:, 1], pairs[:, 0], nulls)
            return _wide(np.ascontiguousarray(pairs[:, 0]), nulls)
        case AnyTimestampType(precision=precision):
            return _timestamp(_values(column, np.dtype("<i8")), precision, nulls)
        case BigIntType() | DoubleType():
            return _wide(_values(column, np.dtype("<u8")), nulls)
        case BooleanType():
            return SlotWords(nulls, np.asarray(column.cast(pa.uint8()).fill_null(0)).astype(np.uint32), 0)
    narrow = _NARROW.get(type(t), np.uint32)
    return SlotWords(nulls, _without_nulls(_values(column, np.dtype(narrow)).astype(np.uint32), nulls), 0)


def _values(column: pa.Array, dtype: np.dtype[Any], width: int = 1) -> npt.NDArray[Any]:
    """Return the values of a fixed-width array without a copy, ``width`` items each; undefined at nulls."""
    start, count = column.offset * width, len(column) * width
    return frombuffer(column.buffers()[1], dtype, count, start * dtype.itemsize)


def _without_nulls(values: npt.NDArray[_Item], nulls: Nulls) -> npt.NDArray[_Item]:
    """Return the values, with zero for null."""
    return values if nulls is None else np.where(nulls, values.dtype.type(0), values)


def _wide(values: UInt64s, nulls: Nulls) -> SlotWords:
    low, high = _halves(_without_nulls(values, nulls))
    return SlotWords(nulls, low, high)


def _halves(values: UInt64s) -> tuple[UInt32s, UInt32s]:
    pairs = values.view(np.uint32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _timestamp(values: npt.NDArray[np.int64], precision: int, nulls: Nulls) -> SlotWords | PointerWords:
    unit = timestamp_unit(precision)
    values = _without_nulls(values, nulls)
    if precision <= _MAX_COMPACT_TIMESTAMP:
        millis = values * 1000 if unit == "s" else values
        return _wide(millis.view(np.uint64), nulls)
    per_milli = _PER_MILLI[unit]
    millis = values // per_milli
    rest = (values - millis * per_milli) * (_PER_MILLI["ns"] // per_milli)
    return PointerWords(nulls, rest.astype(np.uint32), _halves(millis.view(np.uint64)))


def _long_decimal(high: UInt64s, low: UInt64s, nulls: Nulls) -> PointerWords:
    """Return the shortest two's complement form, big-endian, left-aligned in 16 bytes; its length is the head."""
    high, low = _without_nulls(high, nulls), _without_nulls(low, nulls)
    lengths = _minimal_bytes(high, low)
    # Shift left until the first significant byte is the first byte.
    shift = ((16 - lengths) * 8).astype(np.uint64)
    wide = shift >= 64
    within = shift & 63
    carried = low >> 1 >> (63 - within)
    top = np.where(wide, low << within, high << within | carried)
    bottom = np.where(wide, np.uint64(0), low << within)
    words = (*_halves(top.byteswap()), *_halves(bottom.byteswap()))
    return PointerWords(nulls, _without_nulls(lengths.astype(np.uint32), nulls), words)


def _minimal_bytes(high: UInt64s, low: UInt64s) -> npt.NDArray[np.int64]:
    sign = (high.view(np.int64) >> 63).view(np.uint64)
    high, low = high ^ sign, low ^ sign
    in_low, in_high = np.ones(len(low), np.int64), np.full(len(low), 9, np.int64)
    for bound in _BYTE_BOUNDS:
        in_low += low >= bound
        in_high += high >= bound
    return np.where(high == 0, in_low, in_high)


def _bytes_words(column: pa.Array, nulls: Nulls) -> BytesWords:
    _, offset_buffer, data_buffer = column.buffers()
    offsets = frombuffer(offset_buffer, np.int32, len(column) + 1, column.offset * 4).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    data = np.zeros((last - first) // 8 + 2, np.uint64)
    if last > first:
        data.view(np.uint8)[: last - first] = frombuffer(data_buffer, np.uint8, last - first, first)
    lengths = _without_nulls(np.diff(offsets), nulls)
    chunks = np.where(lengths > INLINE_BYTES, (lengths + 7) >> 3, 0)
    return BytesWords(
        nulls, int(chunks.min(initial=0)), int(chunks.max(initial=0)), lengths, chunks, offsets[:-1] - first, data
    )
