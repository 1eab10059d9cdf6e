"""Decodes and encodes Thrift's compact protocol, as far as changes of Parquet footers need it.

A struct is a list of ``Field``. Unknown fields are kept unchanged, so a footer that is decoded and encoded again has
the same content. Parquet format, ``parquet.thrift``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
I32: Final = _I32
I64: Final = _I64
BINARY: Final = _BINARY
LIST: Final = _LIST
STRUCT: Final = _STRUCT
_BOOLEANS: Final = (_TRUE, _FALSE)
_SINGLE_BYTES: Final = (_TRUE, _FALSE, _BYTE)
_NUMBERS: Final = (_I16, _I32, _I64)
_LISTS: Final = (_LIST, _SET)
_DOUBLE_BYTES: Final = 8
_MAX_DEPTH: Final = 32
_LONG_FORM: Final = 15
_SHORT_ID: Final = 0x10
"""The first header of a field that states the difference from the previous id."""

Value: TypeAlias = "int | bytes | Items | Struct"
Reader: TypeAlias = Callable[[bytes, int, int], int]
"""Reads the value of a field, given the bytes, where it starts, and its type. Returns where it ends."""


@dataclass(slots=True)
class Items:
    """A list or set, with the type of its elements."""

    kind: int
    element: int
    items: list[Value]


@dataclass(slots=True)
class Field:
    """A field that is set: its id, the Thrift number of its type, and its value."""

    id: int
    kind: int
    value: Value


@dataclass(slots=True)
class Struct:
    """The fields of a struct that are set, in the order of their ids."""

    fields: list[Field]

    def find(self, field_id: int) -> Field | None:
        """Return the field with this id, or ``None`` if it is not set."""
        return next((f for f in self.fields if f.id == field_id), None)

    def remove(self, field_id: int) -> None:
        """Unset a field."""
        self.fields = [f for f in self.fields if f.id != field_id]

    def put_i32(self, field_id: int, value: int) -> None:
        """Set a field to a 32-bit number."""
        self.remove(field_id)
        self.fields.append(Field(field_id, _I32, value))
        self.fields.sort(key=lambda f: f.id)

    def structs(self, field_id: int) -> list[Struct]:
        """Return the structs in a list field, which are none if it is not set."""
        field = self.find(field_id)
        if field is None or not isinstance(field.value, Items):
            return []
        return [item for item in field.value.items if isinstance(item, Struct)]

    def struct(self, field_id: int) -> Struct | None:
        """Return the struct in a field, or ``None`` if it is not set."""
        field = self.find(field_id)
        return field.value if field is not None and isinstance(field.value, Struct) else None

    def texts(self, field_id: int) -> list[str]:
        """Return the texts in a list field."""
        field = self.find(field_id)
        if field is None or not isinstance(field.value, Items):
            return []
        return [item.decode() for item in field.value.items if isinstance(item, bytes)]


def decode_struct(data: bytes) -> Struct:
    """Decode the struct at the start of ``data``.

    Raises:
        ValueError: the bytes are not a struct.
    """
    try:
        return ThriftCursor(data).struct()
    except IndexError as error:
        message = "a thrift struct is truncated"
        raise ValueError(message) from error


def encode_struct(struct: Struct) -> bytes:
    """Encode a struct.

    >>> encode_struct(decode_struct(bytes.fromhex("15021806736368656d6100"))).hex()
    '15021806736368656d6100'
    """
    out = bytearray()
    _encode_struct(out, struct)
    return bytes(out)


class ThriftCursor:
    """A read position in bytes of the compact protocol; each method moves it past what it reads.

    Raises:
        IndexError: the bytes are truncated.
        ValueError: the bytes are not valid in this protocol.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        """Return the next byte."""
        value = self.data[self.at]
        self.at += 1
        return value

    def varint(self) -> int:
        """Read an unsigned number."""
        value, self.at = _varint(self.data, self.at)
        return value

    def zigzag(self) -> int:
        """Read a signed number."""
        return _signed(self.varint())

    def take(self, length: int) -> bytes:
        """Read ``length`` bytes."""
        if length > len(self.data) - self.at:
            raise IndexError
        self.at += length
        return self.data[self.at - length : self.at]

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield the ids and types of the fields of a struct; the caller reads or skips each value in between."""
        last = 0
        while (header := self.byte()) != 0:
            delta = header >> 4
            last = last + delta if delta else self.zigzag()
            yield last, header & 0x0F

    def list_header(self) -> tuple[int, int]:
        """Return the number of elements of a list or set, and their type."""
        size, element, self.at = list_header(self.data, self.at)
        return size, element

    def struct(self, depth: int = 0) -> Struct:
        """Read a struct as a tree."""
        # The value of a boolean field is its type.
        return Struct(
            [
                Field(field_id, kind, kind == _TRUE if kind in _BOOLEANS else self._value(kind, depth))
                for field_id, kind in self.fields()
            ]
        )

    def _value(self, kind: int, depth: int) -> Value:
        _check_depth(depth)
        if kind in _SINGLE_BYTES:
            return self.byte()
        if kind in _NUMBERS:
            return self.zigzag()
        if kind == _DOUBLE:
            return self.take(_DOUBLE_BYTES)
        if kind == _BINARY:
            return self.take(self.varint())
        if kind in _LISTS:
            size, element = self.list_header()
            return Items(kind, element, [self._value(element, depth + 1) for _ in range(size)])
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise _unknown_type(kind)


def visit(data: bytes, at: int, readers: Mapping[int, Reader]) -> int:
    """Read some fields of the struct at ``at``, skip the others, and return the end of the struct.

    ``readers`` has a function for each id of interest.

    Raises:
        IndexError: the bytes are truncated.
        ValueError: the bytes are not valid in this protocol, or a reader raises it.

    >>> seen = []
    >>> visit(bytes.fromhex("15021806736368656d6100"), 0, {2: lambda data, at, kind: seen.append(kind) or at + 7})
    11
    >>> seen == [BINARY]
    True
    """
    last = 0
    while (header := data[at]) != 0:
        at += 1
        if header >= _SHORT_ID:
            last += header >> 4
        else:
            number, at = _varint(data, at)
            last = _signed(number)
        kind = header & 0x0F
        if last in readers:
            at = readers[last](data, at, kind)
        elif kind in _NUMBERS:
            while data[at] >= 0x80:
                at += 1
            at += 1
        else:
            at = end_of_value(data, at, kind)
    return at + 1


def end_of_value(data: bytes, at: int, kind: int, depth: int = 0) -> int:
    """Return the end of the value of a field at ``at``.

    The end may be behind the end of ``data`` if the bytes are truncated; then nothing can be read from there. A footer
    has thousands of values. Therefore structs and lists handle numbers and short texts without a call.

    Raises:
        IndexError: the bytes are truncated.
        ValueError: the bytes are not valid in this protocol.
    """
    if kind == _STRUCT:
        return _end_of_struct(data, at, depth)
    if kind in _LISTS:
        return _end_of_list(data, at, depth)
    if kind in _NUMBERS:
        while data[at] >= 0x80:
            at += 1
        return at + 1
    if kind == _BINARY:
        length, at = _varint(data, at)
        return at + length
    if kind in _BOOLEANS:
        return at  # the value is the type
    if kind == _BYTE:
        return at + 1
    if kind == _DOUBLE:
        return at + _DOUBLE_BYTES
    raise _unknown_type(kind)


def number_at(data: bytes, at: int) -> int:
    """Return the signed number at ``at``.

    Raises:
        IndexError: the bytes are truncated.
        ValueError: the number has more than 64 bits.
    """
    return _signed(_varint(data, at)[0])


def list_header(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the number of elements of a list or set, their type, and where the first of them starts.

    Raises:
        IndexError: the bytes are truncated.
    """
    header = data[at]
    size, at = _varint(data, at + 1) if header >> 4 == _LONG_FORM else (header >> 4, at + 1)
    if size > len(data):
        raise IndexError
    return size, header & 0x0F, at


def _end_of_struct(data: bytes, at: int, depth: int) -> int:
    _check_depth(depth)
    while (header := data[at]) != 0:
        at += 1
        if header < _SHORT_ID:
            _, at = _varint(data, at)  # the id itself, not the difference from the previous id
        kind = header & 0x0F
        if kind in _NUMBERS:
            while data[at] >= 0x80:
                at += 1
            at += 1
        elif kind == _BINARY and data[at] < 0x80:
            at += 1 + data[at]
        elif kind not in _BOOLEANS:
            at = end_of_value(data, at, kind, depth + 1)
    return at + 1


def _end_of_list(data: bytes, at: int, depth: int) -> int:
    _check_depth(depth)
    size, kind, at = list_header(data, at)
    if kind in _NUMBERS:
        for _ in range(size):
            while data[at] >= 0x80:
                at += 1
            at += 1
        return at
    if kind in _BOOLEANS:
        return at + size
    for _ in range(size):
        at = end_of_value(data, at, kind, depth + 1)
    return at


def _signed(number: int) -> int:
    """Undo ``_zigzag``."""
    return (number >> 1) ^ -(number & 1)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return an unsigned number, and where it ends."""
    value = shift = 0
    while (byte := data[at]) >= 0x80:
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if shift > 63:
            message = "a thrift number is too long"
            raise ValueError(message)
    return value | byte << shift, at + 1


def _check_depth(depth: int) -> None:
    if depth > _MAX_DEPTH:
        message = "thrift structs are nested too deeply"
        raise ValueError(message)


def _unknown_type(kind: int) -> ValueError:
    return ValueError(f"thrift type {kind} does not occur in Parquet footers")


def _encode_struct(out: bytearray, struct: Struct) -> None:
    last = 0
    for field in struct.fields:
        delta = field.id - last
        if 0 < delta <= 15:
            out.append(delta << 4 | field.kind)
        else:
            out.append(field.kind)
            _encode_varint(out, _zigzag(field.id))
        last = field.id
        if field.kind not in (_TRUE, _FALSE):
            _encode_value(out, field.kind, field.value)
    out.append(0)


def _encode_value(out: bytearray, kind: int, value: Value) -> None:
    if isinstance(value, Struct):
        _encode_struct(out, value)
    elif isinstance(value, Items):
        size = len(value.items)
        out.append(min(size, _LONG_FORM) << 4 | value.element)
        if size >= _LONG_FORM:
            _encode_varint(out, size)
        for item in value.items:
            _encode_value(out, value.element, item)
    elif isinstance(value, bytes):
        if kind == _BINARY:
            _encode_varint(out, len(value))
        out += value
    elif kind in (_TRUE, _FALSE, _BYTE):
        out.append(value)
    else:
        _encode_varint(out, _zigzag(value))


def _zigzag(value: int) -> int:
    return (value << 1) ^ (value >> 63)


def _encode_varint(out: bytearray, value: int) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
