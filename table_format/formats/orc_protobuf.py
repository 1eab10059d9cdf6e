"""Decodes and encodes Protocol Buffers, as far as the tail of an ORC file needs them.

A message is a list of numbered fields. Unknown fields are kept and written back unchanged, so that single fields of a
footer can be changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES: Final = {_FIXED64: 8, _FIXED32: 4}
_MAX_VARINT_BYTES: Final = 10


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its fields in file order. A value is a number, or the bytes of any other type."""

    fields: tuple[tuple[int, int, int | bytes], ...]

    def number(self, field: int, default: int = 0) -> int:
        """Return the last value of a numeric field.

        >>> decode_message(b"\\x08\\x96\\x01").number(1)
        150
        """
        value = default
        for identifier, _, found in self.fields:
            if identifier == field and isinstance(found, int):
                value = found
        return value

    def messages(self, field: int) -> list[Message]:
        """Return the values of a repeated field of messages."""
        return [decode_message(raw) for raw in self.raw(field)]

    def raw(self, field: int) -> list[bytes]:
        """Return the values of a repeated field of bytes, texts or messages."""
        return [found for identifier, _, found in self.fields if identifier == field and isinstance(found, bytes)]

    def numbers(self, field: int) -> list[int]:
        """Return the values of a repeated numeric field, packed or not."""
        values: list[int] = []
        for identifier, _, found in self.fields:
            if identifier == field:
                values += _unpacked(found) if isinstance(found, bytes) else [found]
        return values

    def without(self, *fields: int) -> Message:
        """Return the message without some of its fields."""
        return Message(tuple(entry for entry in self.fields if entry[0] not in fields))

    def with_number(self, field: int, value: int) -> Message:
        """Return the message with the value of a numeric field replaced."""
        return Message((*self.without(field).fields, (field, _VARINT, value)))

    def with_raw(self, field: int, values: list[bytes]) -> Message:
        """Return the message with the values of a field of bytes, texts or messages replaced."""
        return Message((*self.without(field).fields, *((field, _BYTES, value) for value in values)))


def decode_message(data: bytes) -> Message:
    """Decode a message to its fields.

    Raises:
        ValueError: the bytes are not a message.
    """
    fields: list[tuple[int, int, int | bytes]] = []
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            fields.append((tag >> 3, wire, value))
            continue
        if wire == _BYTES:
            size, at = _varint(data, at)
        elif wire in _FIXED_SIZES:
            size = _FIXED_SIZES[wire]
        else:
            message = f"a field of wire type {wire}"
            raise ValueError(message)
        if size > len(data) - at:
            message = f"a field of {size} bytes, but only {len(data) - at} bytes are left"
            raise ValueError(message)
        fields.append((tag >> 3, wire, data[at : at + size]))
        at += size
    return Message(tuple(fields))


def encode_message(message: Message) -> bytes:
    """Encode a message.

    >>> encode_message(decode_message(b"\\x08\\x96\\x01\\x12\\x01a")) == b"\\x08\\x96\\x01\\x12\\x01a"
    True
    """
    return b"".join(_encoded(message))


def _encoded(message: Message) -> Iterator[bytes]:
    for field, wire, value in message.fields:
        yield _encode_varint(field << 3 | wire)
        if isinstance(value, int):
            yield _encode_varint(value)
        else:
            if wire == _BYTES:
                yield _encode_varint(len(value))
            yield value


def _unpacked(data: bytes) -> list[int]:
    values = []
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return values


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 7 * _MAX_VARINT_BYTES, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
    message = "a number that does not end"
    raise ValueError(message)


def _encode_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
