"""Encodes columns as order-preserving unsigned integers, packed into as few 64-bit words as possible.

Rows are ordered like their words, most significant word first. The order is that of
``CodeGenUtils.newRecordComparator`` (format chapter 06, section 5): numbers numerically, strings and binaries by
unsigned bytes, null before any value in both directions. Java compares FLOAT and DOUBLE with the primitive operators,
for which -0.0 equals 0.0 and NaN equals everything, so they do not define an order. Here, -0.0 equals 0.0, and NaN
equals itself and comes after every number. Integers are stored relative to the smallest value, and strings without
their common prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidData
from table_format.kernels.compiled import Int64Array, UInt64Array
from table_format.model.arrow_calls import frombuffer

_MAX_TAIL_BYTES: Final = 64
"""Strings that differ in more bytes than this are encoded as ranks instead of words."""

_LAST_BYTES: Final = np.array([0, *((2**64 - 2 ** (64 - 8 * n)) for n in range(1, 9))], dtype=np.uint64)
"""Masks for the first n bytes of a big-endian word."""

WordColumns: TypeAlias = tuple[UInt64Array, ...]


@dataclass(frozen=True, slots=True)
class SortColumn:
    """One column of a sort key: its pieces, which are read as one column, and its direction.

    ``is_sorted`` states that every piece is ascending and without nulls.
    """

    pieces: tuple[pa.Array, ...]
    descending: bool = False
    is_sorted: bool = False


@dataclass(frozen=True, slots=True)
class _Field:
    """Unsigned values below ``2 ** bits`` (1 to 64 bits)."""

    bits: int
    values: UInt64Array


def encode(columns: Sequence[SortColumn]) -> WordColumns:
    """Return the words of all rows; without any word if all rows are equal.

    >>> encode([SortColumn((pa.array([107, 109]), pa.array([108]))), SortColumn((pa.array([5, 5]), pa.array([4])))])
    (array([1, 5, 2], dtype=uint64),)
    """
    return _pack([field for column in columns for field in _fields(column)])


def integers(array: pa.Array) -> Int64Array | None:
    """Return a column as signed integers of the same order, without a copy if possible; ``None`` beyond 64 bits.

    Entries at nulls are undefined.

    >>> integers(pa.array([1.5, -0.0, 0.0, float("nan"), -1.0]))[1:3].tolist()
    [0, 0]
    """
    kind = array.type
    if pa.types.is_decimal128(kind):
        if kind.precision > 18:
            return None
        return np.ascontiguousarray(_decimal_words(array)[:, 0])
    if pa.types.is_boolean(kind):
        return _fixed(array.cast(pa.int8()), np.dtype(np.int8)).astype(np.int64)
    if pa.types.is_floating(kind):
        return _float_order(array)
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        values = _fixed(array, np.dtype(f"i{kind.bit_width // 8}"))
        return values.astype(np.int64, copy=False)
    return None


def bytes_of(array: pa.Array) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.uint8]]:
    """Return the offsets (one more than rows) and the bytes of a string or binary column."""
    if not is_bytes(array.type):
        message = f"a column of type {array.type} cannot be a sort key"
        raise InvalidData(message)
    large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    dtype = np.dtype(np.int64 if large else np.int32)
    _, offsets, data = array.buffers()
    if offsets is None or len(array) == 0:
        return np.zeros(len(array) + 1, dtype=dtype), np.empty(0, dtype=np.uint8)
    ends = frombuffer(offsets, dtype=dtype, count=array.offset + len(array) + 1)[array.offset :]
    return ends, frombuffer(data if data is not None else b"", dtype=np.uint8)


def is_bytes(kind: pa.DataType) -> bool:
    """Return whether values of the type are compared as unsigned bytes."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_large_binary(kind)
    )


def wide_decimal_item(array: pa.Array, row: int) -> int:
    """Return the unscaled value of one row of a decimal column."""
    low, high = _decimal_words(array)[row]
    return (int(high) << 64) + (int(low) & (2**64 - 1))


def _fixed(array: pa.Array, dtype: np.dtype[np.generic]) -> npt.NDArray[np.int64]:
    data = array.buffers()[1]
    if data is None or len(array) == 0:
        return np.empty(0, dtype=dtype)
    return frombuffer(data, dtype=dtype, count=array.offset + len(array))[array.offset :]


def _decimal_words(array: pa.Array) -> Int64Array:
    data = array.buffers()[1]
    if data is None or len(array) == 0:
        return np.empty((0, 2), dtype=np.int64)
    words: Int64Array = frombuffer(data, dtype=np.int64, count=2 * (array.offset + len(array)))
    return words.reshape(-1, 2)[array.offset :]


def _float_order(array: pa.Array) -> Int64Array:
    width = array.type.bit_width
    with np.errstate(invalid="ignore"):  # a signaling NaN
        values = _fixed(array, np.dtype(f"f{width // 8}")) + 0  # the sum converts -0.0 to 0.0
    values[np.isnan(values)] = np.nan
    bits = values.view(f"i{width // 8}")
    # Negative numbers have the sign bit and are in descending order: flip their other bits.
    ordered = np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)
    return ordered.astype(np.int64, copy=False)


def _fields(column: SortColumn) -> list[_Field]:
    pieces = column.pieces
    valid = _validity(pieces)
    kind = pieces[0].type
    if pa.types.is_decimal128(kind) and kind.precision > 18:
        words = np.concatenate([_decimal_words(p) for p in pieces])
        parts = [words[:, 1], words[:, 0].view(np.uint64)]
        fields = [f for part in parts for f in _frame(_without_nulls(part, valid))]
    elif is_bytes(kind):
        fields = _byte_fields(column, valid)
    else:
        views = [v for v in map(integers, pieces) if v is not None]
        if len(views) != len(pieces):
            message = f"a column of type {kind} cannot be a sort key"
            raise InvalidData(message)
        fields = _frame(_without_nulls(np.concatenate(views), valid))
    if column.descending:
        fields = [_Field(f.bits, np.uint64(2**f.bits - 1) - f.values) for f in fields]
    if valid is None:
        return fields
    present = valid.astype(np.uint64)
    return [_Field(1, present), *(_Field(f.bits, f.values * present) for f in fields)]


def _validity(pieces: Sequence[pa.Array]) -> npt.NDArray[np.bool_] | None:
    if not any(p.null_count for p in pieces):
        return None
    return np.concatenate([p.is_valid().to_numpy(zero_copy_only=False) for p in pieces])


def _without_nulls(values: npt.NDArray[np.int64], valid: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.int64]:
    if valid is None:
        return values
    return np.where(valid, values, values[valid].min() if valid.any() else values.dtype.type(0))


def _frame(values: npt.NDArray[np.int64]) -> list[_Field]:
    """Return the values relative to their minimum, or no field if all are equal."""
    if values.size == 0:
        return []
    low, high = int(values.min()), int(values.max())
    if low == high:
        return []
    relative = values.view(np.uint64) - np.uint64(low % 2**64)
    return [_Field((high - low).bit_length(), relative)]


def _byte_fields(column: SortColumn, valid: npt.NDArray[np.bool_] | None) -> list[_Field]:
    prefix = _shared_prefix(column)
    if prefix is None:
        return []
    starts, lengths, data = byte_ranges(column.pieces)
    if valid is not None:
        lengths = np.where(valid, lengths, len(prefix))
    longest = int(lengths.max())
    if longest - len(prefix) > _MAX_TAIL_BYTES:
        return _rank_fields(column.pieces)
    fields = []
    for at in range(len(prefix), longest, 8):
        width = min(8, longest - at)
        word = words_at(starts, lengths, data, at)
        fields.append(_Field(8 * width, word >> np.uint64(64 - 8 * width) if width < 8 else word))
    # With zero padding, "a" and "a\0" are equal; the length distinguishes them.
    return fields + _frame(lengths)


def _shared_prefix(column: SortColumn) -> bytes | None:
    """Return the common prefix of all values; ``None`` without values."""
    ends = [_ends(piece, is_sorted=column.is_sorted) for piece in column.pieces if piece.null_count < len(piece)]
    if not ends:
        return None
    first, last = min(low for low, _ in ends), max(high for _, high in ends)
    count = 0
    while count < min(len(first), len(last)) and first[count] == last[count]:
        count += 1
    return first[:count]


def _ends(piece: pa.Array, *, is_sorted: bool) -> tuple[bytes, bytes]:
    if is_sorted:
        low, high = piece[0].as_py(), piece[-1].as_py()
    else:
        found = pc.min_max(piece)
        low, high = found["min"].as_py(), found["max"].as_py()
    return (low.encode(), high.encode()) if isinstance(low, str) else (low, high)


def byte_ranges(pieces: Sequence[pa.Array]) -> tuple[Int64Array, Int64Array, npt.NDArray[np.uint8]]:
    """Return the start and length of every value in one buffer, which has eight spare bytes at its end."""
    starts, lengths, data = [], [], []
    base = 0
    for piece in pieces:
        offsets, content = bytes_of(piece)
        first, last = int(offsets[0]), int(offsets[-1])
        starts.append(offsets[:-1].astype(np.int64) + (base - first))
        lengths.append(np.diff(offsets).astype(np.int64))
        data.append(content[first:last])
        base += last - first
    data.append(np.zeros(8, dtype=np.uint8))
    return np.concatenate(starts), np.concatenate(lengths), np.concatenate(data)


def words_at(starts: Int64Array, lengths: Int64Array, data: npt.NDArray[np.uint8], at: int) -> UInt64Array:
    """Return eight bytes of every value from position ``at``, big-endian, padded with zeros."""
    unaligned = np.ndarray((data.size - 7,), dtype=">u8", buffer=data, strides=(1,))
    if int(lengths.min()) >= at + 8:
        return unaligned[starts + at].astype(np.uint64)
    remaining = np.clip(lengths - at, 0, 8)
    words = unaligned[np.where(remaining > 0, starts + at, 0)].astype(np.uint64)
    return words & _LAST_BYTES[remaining]


def _rank_fields(pieces: Sequence[pa.Array]) -> list[_Field]:
    column = pa.chunked_array([piece.cast(pa.large_binary()) for piece in pieces])
    ranks = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
    return _frame(ranks.to_numpy().astype(np.int64))


def _pack(fields: Sequence[_Field]) -> WordColumns:
    words: list[UInt64Array] = []
    room = 0
    for field in fields:
        if field.bits <= room:
            words[-1] = (words[-1] << np.uint64(field.bits)) | field.values
            room -= field.bits
        else:
            words.append(field.values)
            room = 64 - field.bits
    return tuple(words)
