"""Thrift's compact protocol as plain trees: just enough to change single facts of a Parquet footer.

A struct is a list of ``Field``; what is not understood is carried along unchanged, so a footer that is decoded and
encoded again says the same. Parquet format, ``parquet.thrift``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
I32: Final = _I32
I64: Final = _I64
BINARY: Final = _BINARY
LIST: Final = _LIST
STRUCT: Final = _STRUCT
_MAX_DEPTH: Final = 32
_LONG_FORM: Final = 15

Value: TypeAlias = "int | bytes | Items | Struct"


@dataclass(slots=True)
class Items:
    """A list or set with the type of its elements."""

    kind: int
    element: int
    items: list[Value]


@dataclass(slots=True)
class Field:
    """A field that is set: its id, the kind of its value as Thrift numbers it, and the value."""

    id: int
    kind: int
    value: Value


@dataclass(slots=True)
class Struct:
    """The fields of a struct that are set, in the order of their ids."""

    fields: list[Field]

    def find(self, field_id: int) -> Field | None:
        """The field of that id, if it is set."""
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
        """The structs in a list field; none when it is not set."""
        field = self.find(field_id)
        if field is None or not isinstance(field.value, Items):
            return []
        return [item for item in field.value.items if isinstance(item, Struct)]

    def struct(self, field_id: int) -> Struct | None:
        """The struct in a field, if it is set."""
        field = self.find(field_id)
        return field.value if field is not None and isinstance(field.value, Struct) else None

    def texts(self, field_id: int) -> list[str]:
        """The texts in a list field."""
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
        return _Decoder(data).struct(0)
    except IndexError as error:
        message = "a thrift struct ends in the middle"
        raise ValueError(message) from error


def encode_struct(struct: Struct) -> bytes:
    """Encode a struct.

    >>> encode_struct(decode_struct(bytes.fromhex("15021806736368656d6100"))).hex()
    '15021806736368656d6100'
    """
    out = bytearray()
    _encode_struct(out, struct)
    return bytes(out)


class _Decoder:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                message = "a thrift number is too long"
                raise ValueError(message)

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def take(self, length: int) -> bytes:
        if length > len(self.data) - self.at:
            raise IndexError
        self.at += length
        return self.data[self.at - length : self.at]

    def struct(self, depth: int) -> Struct:
        fields: list[Field] = []
        last = 0
        while (header := self.byte()) != 0:
            delta, kind = header >> 4, header & 0x0F
            last = last + delta if delta else self.zigzag()
            # The value of a boolean field is its type.
            value = kind == _TRUE if kind in (_TRUE, _FALSE) else self.value(kind, depth)
            fields.append(Field(last, kind, value))
        return Struct(fields)

    def value(self, kind: int, depth: int) -> Value:
        if depth > _MAX_DEPTH:
            message = "thrift structs are nested too deeply"
            raise ValueError(message)
        if kind in (_TRUE, _FALSE, _BYTE):
            return self.byte()
        if kind in (_I16, _I32, _I64):
            return self.zigzag()
        if kind == _DOUBLE:
            return self.take(8)
        if kind == _BINARY:
            return self.take(self.varint())
        if kind in (_LIST, _SET):
            header = self.byte()
            size = header >> 4
            if size == _LONG_FORM:
                size = self.varint()
            if size > len(self.data):
                raise IndexError
            element = header & 0x0F
            return Items(kind, element, [self.value(element, depth + 1) for _ in range(size)])
        if kind == _STRUCT:
            return self.struct(depth + 1)
        message = f"thrift type {kind} does not occur in Parquet footers"
        raise ValueError(message)


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
