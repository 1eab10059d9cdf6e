"""Columns as the 4-byte words their values would be in binary rows (format chapter 05, section 1).

A block of a column becomes one of three shapes: a slot that holds the value (``SlotWords``), a slot that points to a
variable part of fixed width (``PointerWords``), or text and bytes of any length (``BytesWords``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.errors import InvalidData
from table_format.model.arrow_types import timestamp_unit
from table_format.model.types import (
    NESTED,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DecimalType,
    DoubleType,
    LocalZonedTimestampType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

UInt32s: TypeAlias = npt.NDArray[np.uint32]
Words: TypeAlias = UInt32s | int
"""One word of every row of a block; an ``int`` when all rows have the same."""

Nulls: TypeAlias = npt.NDArray[np.bool_] | None
"""Where a column is null; ``None`` when nowhere."""

_MAX_COMPACT_PRECISION: Final = 18
_MAX_COMPACT_TIMESTAMP: Final = 3
_NARROW: Final = {TinyIntType: np.uint8, SmallIntType: np.uint16}
_PER_MILLI: Final = {"us": 1_000, "ns": 1_000_000}
_BYTE_BOUNDS: Final = tuple(1 << (8 * k - 1) for k in range(1, 9))
"""Magnitudes from which on a two's complement integer takes a byte more."""


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
    """Text and bytes: ``chunks`` pieces of 8 bytes in the variable part, none when the value lies in the slot."""

    nulls: Nulls
    lengths: npt.NDArray[np.int64]
    chunks: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    data: npt.NDArray[np.uint8]
    """The bytes of all values, with 8 more at the end."""

    def loads(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
        """The 8 bytes at each position."""
        view = np.ndarray((len(self.data) - 7,), dtype="<u8", buffer=self.data, strides=(1,))
        return view[positions]


ColumnWords: TypeAlias = SlotWords | PointerWords | BytesWords


def column_words(t: DataType, column: pa.Array) -> ColumnWords:
    """The words of a column, or of a slice of one.

    Raises:
        InvalidData: the column is not an array of ``arrow_type(t)``, or the type is nested and has no hash.
    """
    if isinstance(t, NESTED):
        message = f"{t} cannot be a bucket key: nested values have no bucket hash"
        raise InvalidData(message)
    nulls = np.asarray(column.is_null()) if column.null_count else None
    match t:
        case CharType() | VarCharType() | BinaryType() | VarBinaryType():
            return _bytes_words(column, nulls)
        case DecimalType(precision=precision):
            pairs = _values(column, np.dtype("<u8"), 2).reshape(-1, 2)
            if precision > _MAX_COMPACT_PRECISION:
                return _long_decimal(pairs[:, 1], pairs[:, 0], nulls)
            return _wide(np.ascontiguousarray(pairs[:, 0]), nulls)
        case TimestampType(precision=precision) | LocalZonedTimestampType(precision=precision):
            return _timestamp(_values(column, np.dtype("<i8")), precision, nulls)
        case BigIntType() | DoubleType():
            return _wide(_values(column, np.dtype("<u8")), nulls)
        case BooleanType():
            return SlotWords(nulls, _zero_nulls(np.asarray(column.cast(pa.uint8()).fill_null(0)), nulls), 0)
    narrow = _NARROW.get(type(t), np.uint32)
    return SlotWords(nulls, _zero_nulls(_values(column, np.dtype(narrow)), nulls), 0)
