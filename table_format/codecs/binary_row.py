"""The binary rows that encode partitions, keys and statistics (format chapter 05; Java ``BinaryRow``).

A row consists of a null bitmap with the row kind in its first byte, one slot of 8 bytes for each column, and a variable
part for values that do not fit into slots, each padded to 8 bytes; everything is little-endian. The serialised form is
preceded by the big-endian arity. The format compares and hashes these bytes, so every unused byte is zero.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, DecimalException
from typing import Final

from table_format.counted import counted
from table_format.errors import BadEncoding, InvalidData
from table_format.model.types import (
    AnyTimestampType,
    BigIntType,
    BooleanType,
    BytesType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    InternalValue,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TextType,
    TimestampType,
    TimeType,
    TinyIntType,
)

_FORMATS: Final[dict[type[DataType], struct.Struct]] = {
    BooleanType: struct.Struct("<?7x"),
    TinyIntType: struct.Struct("<b7x"),
    SmallIntType: struct.Struct("<h6x"),
    IntType: struct.Struct("<i4x"),
    DateType: struct.Struct("<i4x"),
    TimeType: struct.Struct("<i4x"),
    BigIntType: struct.Struct("<q"),
    FloatType: struct.Struct("<f4x"),
    DoubleType: struct.Struct("<d"),
}
_LONG: Final = struct.Struct("<q")
_POINTER: Final = struct.Struct("<II")
"""The length (or nanoseconds) and offset of a variable part."""

_INLINE_BYTES: Final = 7
_DECIMAL_BYTES: Final = 16
_MAX_COMPACT_PRECISION: Final = 18
_MAX_COMPACT_TIMESTAMP: Final = 3
_NANOS_PER_MILLI: Final = 1_000_000
_EXACT: Final = Context(prec=100)


def bitmap_bytes(arity: int) -> int:
    """Return the size of the row kind and null bits in bytes: whole words of 8 bytes.

    >>> [bitmap_bytes(n) for n in (0, 56, 57, 120, 121)]
    [8, 8, 16, 16, 24]
    """
    return (arity + 8 + 63) // 64 * 8


def encode_row(types: Sequence[DataType], values: Sequence[InternalValue]) -> bytes:
    """Encode a row as Java projections do; partitions, keys and bucket keys are compared and hashed in this form.

    >>> from table_format.model.types import IntType, VarCharType
    >>> encode_row([IntType(), VarCharType()], [1, "hello world"]).hex(" ", 8)
    '0000000000000000 0100000000000000 0b00000018000000 68656c6c6f20776f 726c640000000000'

    Raises:
        InvalidData: a value does not fit its type; the only value of nested types is null.
    """
    if len(types) != len(values):
        message = f"expected {counted(len(types), 'value')}, found {len(values)}"
        raise InvalidData(message)
    bitmap = bytearray(bitmap_bytes(len(types)))
    fixed_end = len(bitmap) + 8 * len(types)
    slots = [bytes(bitmap)]
    variable = bytearray()
    for i, (t, value) in enumerate(zip(types, values, strict=True)):
        if value is None:
            bitmap[(i + 8) >> 3] |= 1 << (i & 7)
        try:
            slots.append(_slot(t, value, fixed_end, variable))
        except (struct.error, TypeError, ValueError, OverflowError, DecimalException) as e:
            message = f"value {value!r} at position {i} does not fit {t}: {e}"
            raise InvalidData(message) from e
    slots[0] = bytes(bitmap)
    return b"".join(slots) + variable


def serialize_row(types: Sequence[DataType], values: Sequence[InternalValue]) -> bytes:
    """Encode a row preceded by its arity, as manifests store it (Java ``SerializationUtils.serializeBinaryRow``)."""
    return len(types).to_bytes(4, "big") + encode_row(types, values)


def deserialize_row(
    types: Sequence[DataType], data: bytes, *, path: str = "", columns: Sequence[int] | None = None
) -> tuple[InternalValue, ...]:
    """Return the values of a serialised row, or only those of the columns at some positions.

    A nested value is always ``None``, because only nulls are stored.

    >>> from table_format.model.types import IntType, VarCharType
    >>> deserialize_row([IntType(), VarCharType()], serialize_row([IntType(), VarCharType()], [None, "abc"]))
    (None, 'abc')

    Raises:
        BadEncoding: the bytes are not a row of these types; ``path`` is the file that contains them.
    """
    arity = int.from_bytes(data[:4], "big")
    if len(data) < 4 or arity != len(types):
        message = f"expected a binary row of {counted(len(types), 'column')}, found {arity} in {len(data)} bytes"
        raise BadEncoding(path, message)
    row = data[4:]
    start = bitmap_bytes(arity)
    if len(row) < start + 8 * arity:
        message = f"expected a binary row of at least {start + 8 * arity} bytes, found {len(row)}"
        raise BadEncoding(path, message)
    try:
        return tuple(
            None if row[(i + 8) >> 3] & 1 << (i & 7) else _value(types[i], row, start + 8 * i)
            for i in (range(arity) if columns is None else columns)
        )
    except (ValueError, DecimalException) as e:
        message = f"a binary row contains a value that is invalid for its type: {e}"
        raise BadEncoding(path, message) from e


def whole_number_reader(types: Sequence[DataType]) -> Callable[[bytes], tuple[int, ...] | None] | None:
    """Return a fast reader of serialised rows of integers and dates, or ``None`` if a column has another type.

    The reader returns ``None`` for a row with nulls or an invalid row; ``deserialize_row`` reads or refuses these.

    >>> from table_format.model.types import IntType
    >>> read = whole_number_reader([IntType()])
    >>> read(serialize_row([IntType()], [7])), read(serialize_row([IntType()], [None])), read(b"")
    ((7,), None, None)
    """
    if not types or not all(isinstance(t, IntegerType | DateType) for t in types):
        return None
    head = len(types).to_bytes(4, "big") + bytes(bitmap_bytes(len(types)))
    slots = struct.Struct("<" + "".join(_FORMATS[type(t)].format.removeprefix("<") for t in types))
    size = len(head) + slots.size

    def read(data: bytes) -> tuple[int, ...] | None:
        return slots.unpack_from(data, len(head)) if len(data) >= size and data.startswith(head) else None

    return read


def _slot(t: DataType, value: InternalValue, fixed_end: int, variable: bytearray) -> bytes:
    if value is None:
        return _null_slot(t, fixed_end, variable)
    plain = _FORMATS.get(type(t))
    if plain is not None:
        return plain.pack(value)
    match t, value:
        case (TextType(), str()):
            return _bytes_slot(value.encode(), fixed_end, variable)
        case (BytesType(), bytes()):
            return _bytes_slot(value, fixed_end, variable)
        case DecimalType(), Decimal():
            return _decimal_slot(t, value, fixed_end, variable)
        case (AnyTimestampType(), int()):
            return _timestamp_slot(t.precision, value, fixed_end, variable)
    message = f"{type(value).__name__} is not a value of the type, or the type has no values in metadata"
    raise TypeError(message)


def _null_slot(t: DataType, fixed_end: int, variable: bytearray) -> bytes:
    # Java reserves the variable part of types that it may update in place; hashes cover it (format chapter 05,
    # section 1).
    match t:
        case DecimalType(precision=p) if p > _MAX_COMPACT_PRECISION:
            return _append(0, bytes(_DECIMAL_BYTES), fixed_end, variable)
        case TimestampType(precision=p) | LocalZonedTimestampType(precision=p) if p > _MAX_COMPACT_TIMESTAMP:
            return _append(0, bytes(8), fixed_end, variable)
    return bytes(8)


def _bytes_slot(value: bytes, fixed_end: int, variable: bytearray) -> bytes:
    length = len(value)
    if length <= _INLINE_BYTES:
        return value.ljust(_INLINE_BYTES, b"\0") + bytes((0x80 | length,))
    return _append(length, value + bytes(-length % 8), fixed_end, variable)


def _decimal_slot(t: DecimalType, value: Decimal, fixed_end: int, variable: bytearray) -> bytes:
    unscaled = unscaled_value(t, value)
    if t.precision <= _MAX_COMPACT_PRECISION:
        return _LONG.pack(unscaled)
    length = minimal_bytes(unscaled)
    big_endian = unscaled.to_bytes(length, "big", signed=True)
    return _append(length, big_endian.ljust(_DECIMAL_BYTES, b"\0"), fixed_end, variable)


def _timestamp_slot(precision: int, nanos: int, fixed_end: int, variable: bytearray) -> bytes:
    millis, rest = divmod(nanos, _NANOS_PER_MILLI)
    if precision <= _MAX_COMPACT_TIMESTAMP:
        return _LONG.pack(millis)
    return _append(rest, _LONG.pack(millis), fixed_end, variable)


def _append(head: int, piece: bytes, fixed_end: int, variable: bytearray) -> bytes:
    slot = _POINTER.pack(head, fixed_end + len(variable))
    variable += piece
    return slot


def unscaled_value(t: DecimalType, value: Decimal) -> int:
    """Return the integer ``value * 10**scale``.

    Raises:
        ValueError: the value has more digits than the type allows.
    """
    scaled = value.scaleb(t.scale, _EXACT)
    unscaled = int(scaled)
    if unscaled != scaled or abs(unscaled) >= 10**t.precision:
        message = "too many digits"
        raise ValueError(message)
    return unscaled


def minimal_bytes(value: int) -> int:
    """Return the size of the shortest two's complement form in bytes, as in Java's ``BigInteger.toByteArray``.

    >>> [minimal_bytes(v) for v in (0, 127, 128, -128, -129)]
    [1, 1, 2, 1, 2]
    """
    return (value if value >= 0 else ~value).bit_length() // 8 + 1


def _value(t: DataType, row: bytes, at: int) -> InternalValue:
    plain = _FORMATS.get(type(t))
    if plain is not None:
        value: InternalValue = plain.unpack_from(row, at)[0]
        return value
    match t:
        case TextType():
            return _bytes_value(row, at).decode()
        case BytesType():
            return _bytes_value(row, at)
        case DecimalType():
            return _decimal_value(t, row, at)
        case TimestampType(precision=p) | LocalZonedTimestampType(precision=p):
            return _timestamp_value(p, row, at)
    return None


def _bytes_value(row: bytes, at: int) -> bytes:
    inline = row[at + _INLINE_BYTES]
    if inline & 0x80:
        length = inline & 0x7F
        if length > _INLINE_BYTES:
            message = f"{length} bytes inside a slot"
            raise ValueError(message)
        return row[at : at + length]
    length, offset = _POINTER.unpack_from(row, at)
    return _piece(row, offset, length)


def _decimal_value(t: DecimalType, row: bytes, at: int) -> Decimal:
    if t.precision <= _MAX_COMPACT_PRECISION:
        unscaled = _LONG.unpack_from(row, at)[0]
    else:
        length, offset = _POINTER.unpack_from(row, at)
        if length > _DECIMAL_BYTES:
            message = f"a decimal of {length} bytes"
            raise ValueError(message)
        unscaled = int.from_bytes(_piece(row, offset, length), "big", signed=True)
    return Decimal(unscaled).scaleb(-t.scale, _EXACT)


def _timestamp_value(precision: int, row: bytes, at: int) -> int:
    if precision <= _MAX_COMPACT_TIMESTAMP:
        millis: int = _LONG.unpack_from(row, at)[0]
        return millis * _NANOS_PER_MILLI
    rest, offset = _POINTER.unpack_from(row, at)
    millis = _LONG.unpack(_piece(row, offset, 8))[0]
    return millis * _NANOS_PER_MILLI + int(rest)


def _piece(row: bytes, offset: int, length: int) -> bytes:
    piece = row[offset : offset + length]
    if len(piece) != length:
        message = f"{length} bytes at offset {offset} of a row of {len(row)}"
        raise ValueError(message)
    return piece
