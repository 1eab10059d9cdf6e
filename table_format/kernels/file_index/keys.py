"""Converts the values of a column to the keys of indexes: 64-bit integers, or the UTF-8 bytes of text.

Keys have the order of the values in Java. Timestamps are milliseconds up to TIMESTAMP(3) and microseconds beyond, a
DECIMAL is its unscaled value, and FLOAT and DOUBLE are integers in the order of ``Float.compare``: -0.0 before 0.0, and
one NaN after all numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.aggregates.buffers import array_of_numbers, decimal_words, numbers, validity
from table_format.kernels.file_index.text_order import text_order
from table_format.model.arrow_calls import frombuffer
from table_format.model.ticks import decimal_of
from table_format.model.types import (
    AnyTimestampType,
    BigIntType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatingType,
    FloatType,
    InternalValue,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TextType,
    TimestampType,
    TimeType,
    TinyIntType,
)

Key: TypeAlias = int | bytes
Ints: TypeAlias = npt.NDArray[np.int64]

_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_WIDTHS: Final[dict[type[DataType], int]] = {
    BooleanType: 1,
    TinyIntType: 1,
    SmallIntType: 2,
    IntType: 4,
    DateType: 4,
    TimeType: 4,
    FloatType: 4,
    BigIntType: 8,
    DoubleType: 8,
    DecimalType: 8,
    TimestampType: 8,
    LocalZonedTimestampType: 8,
}
_MILLIS_PER_SECOND: Final = 1000
NANOS_PER_MILLI: Final = 1_000_000
NANOS_PER_MICRO: Final = 1000
MAX_MILLI_PRECISION: Final = 3
"""Timestamps with up to this precision have milliseconds as keys, others microseconds."""
_FEW_TEXTS: Final = 1000
"""For up to this many texts, sorting by all bytes is as fast."""
_FLOAT_BITS: Final = 0x7FFF_FFFF
_DOUBLE_BITS: Final = 0x7FFF_FFFF_FFFF_FFFF


@dataclass(frozen=True, slots=True)
class KeyFormat:
    """The stored form of keys: big-endian in ``width`` bytes; text (no width) is preceded by its length."""

    width: int | None
    is_float: bool = False

    @property
    def is_text(self) -> bool:
        """Whether keys are bytes instead of integers."""
        return self.width is None

    def size(self, key: Key) -> int:
        """Return the stored size of a key in bytes."""
        return _INT.size + len(key) if isinstance(key, bytes) else self.width or 0

    def encoded(self, key: Key) -> bytes:
        """Return the stored form of a key.

        >>> KeyFormat(4).encoded(-3).hex(), KeyFormat(None).encoded(b"ab").hex()
        ('fffffffd', '000000026162')
        """
        if isinstance(key, bytes):
            return _INT.pack(len(key)) + key
        return self.stored_bits(np.array([key])).tobytes()

    def entries(self, keys: pa.Array, *numbers_behind: Ints) -> tuple[bytes, Ints]:
        """Return the stored form of keys, each followed by some 32-bit numbers, and the end of each.

        >>> KeyFormat(2).entries(pa.array([5]), np.array([258]))
        (b'\\x00\\x05\\x00\\x00\\x01\\x02', array([6]))
        """
        behind = np.stack(numbers_behind, axis=1).astype(">i4").view(np.uint8)
        if self.width is None:
            return self.text_encoded(keys, behind)
        words = self.stored_bits(numbers(keys, np.int64)).reshape(-1, 1).view(np.uint8)
        found = np.concatenate([words, behind], axis=1)
        return found.tobytes(), np.arange(1, len(keys) + 1) * found.shape[1]

    def text_encoded(self, keys: pa.Array, behind: npt.NDArray[np.uint8] | None = None) -> tuple[bytes, Ints]:
        """Return the stored form of texts and the end of each; the bytes in ``behind`` follow each text.

        >>> KeyFormat(None).text_encoded(pa.array([b"ab", b""]))
        (b'\\x00\\x00\\x00\\x02ab\\x00\\x00\\x00\\x00', array([ 6, 10]))
        """
        if not len(keys):
            return b"", np.empty(0, np.int64)
        behind = np.empty((len(keys), 0), np.uint8) if behind is None else behind
        _, offset_buffer, data_buffer = keys.buffers()
        offsets = frombuffer(offset_buffer, np.int32, len(keys) + 1, keys.offset * 4).astype(np.int64)
        lengths = np.diff(offsets)
        heads = lengths.astype(">i4").view(np.uint8).reshape(-1, _INT.size)
        texts = np.empty(0, np.uint8)
        if offsets[-1] > offsets[0]:
            texts = frombuffer(data_buffer, np.uint8, int(offsets[-1] - offsets[0]), int(offsets[0]))
        ends = np.cumsum(lengths + (_INT.size + behind.shape[1]))
        if (lengths == lengths[0]).all():
            return np.concatenate([heads, texts.reshape(len(keys), -1), behind], axis=1).tobytes(), ends
        encoded = np.empty(int(ends[-1]), np.uint8)
        is_text = np.ones(len(encoded), np.bool_)
        starts = ends - lengths - (_INT.size + behind.shape[1])
        for first, part in ((starts, heads), (ends - behind.shape[1], behind)):
            places = first[:, None] + np.arange(part.shape[1])
            is_text[places] = False
            encoded[places] = part
        encoded[is_text] = texts
        return encoded.tobytes(), ends

    def decoded(self, data: bytes, at: int) -> tuple[Key, int]:
        """Return the key stored at ``at``, and its end.

        Raises:
            ValueError: the key is truncated.
        """
        if self.width is None:
            start = at + _INT.size
            end = start + _INT.unpack(_exactly(data, at, _INT.size))[0]
            return _exactly(data, start, end - start), end
        return int(self.from_stored(_exactly(data, at, self.width))[0]), at + self.width

    def stored_length(self, key: Key) -> int:
        """The bytes that a key takes.

        >>> KeyFormat(4).stored_length(7), KeyFormat(None).stored_length(b"abc")
        (4, 7)
        """
        return _INT.size + len(key) if isinstance(key, bytes) else self.width or 0

    def from_stored(self, data: bytes) -> Ints:
        """Decode keys of fixed width that are stored in sequence."""
        words = np.frombuffer(data, f">i{self.width}").astype(np.int64)
        return _ordered_bits(words, 8 * (self.width or 0)) if self.is_float else words

    def stored_bits(self, keys: Ints) -> npt.NDArray[np.signedinteger]:
        """Return keys of fixed width in stored form, big-endian."""
        words = _ordered_bits(keys, 8 * (self.width or 0)) if self.is_float else keys
        return words.astype(f">i{self.width}")


def key_format(data_type: DataType) -> KeyFormat | None:
    """Return the stored form of the keys of a type; ``None`` for types without keys."""
    if isinstance(data_type, TextType):
        return KeyFormat(None)
    width = _WIDTHS.get(type(data_type))
    return None if width is None else KeyFormat(width, isinstance(data_type, FloatType | DoubleType))


def keys_of(column: pa.Array, data_type: DataType) -> pa.Array:
    """Return the keys of a column, with nulls, as an array of ``int64`` or ``binary``.

    >>> keys_of(pa.array([2.0, None, -0.0], pa.float64()), DoubleType()).to_pylist()
    [4611686018427387904, None, -1]
    """
    if isinstance(data_type, TextType):
        return column.view(pa.binary())
    return array_of_numbers(_integers(column, data_type), validity(column), pa.int64())


def have_keys(column: pa.Array, data_type: DataType) -> bool:
    """Return whether each value has a key: a DECIMAL of more than 18 digits may not.

    >>> have_keys(pa.array([2**63], pa.decimal128(20, 0)), DecimalType(20, 0))
    False
    """
    if not isinstance(data_type, DecimalType):
        return True
    low, high = decimal_words(column)
    is_long = low.view(np.int64) >> np.int64(63) == high
    return bool(is_long[validity(column)].all())


def float_key(value: float, *, is_single: bool) -> int:
    """Return the key of a value that FLOAT (``is_single``) or DOUBLE can hold.

    >>> float_key(0.0, is_single=True), float_key(-0.0, is_single=True)
    (0, -1)
    """
    if value != value:
        value = float("nan")
    bits = _INT.unpack(struct.pack(">f", value))[0] if is_single else _LONG.unpack(struct.pack(">d", value))[0]
    return int(bits if bits >= 0 else bits ^ (_FLOAT_BITS if is_single else _DOUBLE_BITS))


def value_of_key(key: Key, data_type: DataType) -> InternalValue:
    """Return the internal value of a key; for a timestamp of higher precision, the start of the microsecond.

    >>> from table_format.model.types import VarCharType
    >>> value_of_key(-105, DecimalType(5, 2)), value_of_key(7, TimestampType(3)), value_of_key(b"a", VarCharType())
    (Decimal('-1.05'), 7000000, 'a')
    """
    if isinstance(key, bytes):
        return key.decode()
    match data_type:
        case BooleanType():
            return bool(key)
        case FloatType() | DoubleType():
            width = 4 if isinstance(data_type, FloatType) else 8
            return float(float_keys_as_values(np.array([key], np.int64), width)[0])
        case DecimalType(scale=scale):
            return decimal_of(key, scale)
        case TimestampType() | LocalZonedTimestampType():
            return key * (NANOS_PER_MILLI if data_type.precision <= MAX_MILLI_PRECISION else NANOS_PER_MICRO)
        case _:
            return key


def float_keys_as_values(keys: Ints, width: int) -> npt.NDArray[np.floating]:
    """Convert keys to floating-point numbers."""
    words = _ordered_bits(keys, 8 * width)
    return words.astype(np.int32).view(np.float32) if width == 4 else words.view(np.float64)


def _integers(column: pa.Array, data_type: DataType) -> Ints:
    match data_type:
        case BooleanType():
            return numbers(column.cast(pa.int8()), np.int8).astype(np.int64)
        case FloatingType():
            words = numbers(column, np.dtype(f"f{column.type.bit_width // 8}"))
            canonical = np.where(np.isnan(words), words.dtype.type("nan"), words)
            return _ordered_bits(canonical.view(f"i{words.itemsize}").astype(np.int64), 8 * words.itemsize)
        case DecimalType():
            return decimal_words(column)[0].view(np.int64)
        case AnyTimestampType():
            ticks = numbers(column, np.int64)
            if column.type.unit == "s":
                return ticks * _MILLIS_PER_SECOND
            return ticks // NANOS_PER_MICRO if column.type.unit == "ns" else ticks
        case _:
            return numbers(column, np.dtype(f"i{column.type.bit_width // 8}")).astype(np.int64)


def _ordered_bits(words: Ints, bits: int) -> Ints:
    """Convert IEEE numbers to ordered integers, and back: all bits of negative ones except the sign are inverted."""
    return words ^ ((words >> np.int64(63)) & np.int64(_FLOAT_BITS if bits == 32 else _DOUBLE_BITS))


def ascend(keys: Sequence[Key]) -> bool:
    """Return whether each of these keys, all integers or all bytes, is greater than the previous one."""
    return all(low < high for low, high in pairwise(keys))  # type: ignore[operator]  # one type


def sort_order(keys: pa.Array) -> Ints:
    """Return the positions of non-null keys in ascending order."""
    if len(keys) > _FEW_TEXTS and keys.type == pa.binary():
        return text_order(keys)
    found: Ints = pc.array_sort_indices(keys).to_numpy().astype(np.int64)
    return found


def _exactly(data: bytes, at: int, length: int) -> bytes:
    if length < 0 or at + length > len(data):
        message = f"{length} bytes from byte {at} on go beyond its {len(data)} bytes"
        raise ValueError(message)
    return data[at : at + length]
