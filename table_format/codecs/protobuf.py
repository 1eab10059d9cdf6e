"""Decodes the wire format of Protocol Buffers, as far as needed to read messages by field number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

Value: TypeAlias = int | bytes

_LONGEST_VARINT: Final = 10


@dataclass(frozen=True, slots=True)
class Message:
    """The fields of a message, in order; values of fixed width are bytes.

    >>> message = Message.of(bytes.fromhex("0805120568656c6c6f"))
    >>> message.number(1), message.data(2)
    (5, b'hello')
    """

    fields: tuple[tuple[int, Value], ...]

    @classmethod
    def of(cls, data: bytes) -> Message:
        """Decode a message.

        Raises:
            ValueError: the bytes are not a message.
        """
        return cls(tuple(_fields(data)))

    def has(self, field: int) -> bool:
        """Return whether the field is present."""
        return any(number == field for number, _ in self.fields)

    def all(self, field: int) -> tuple[Message, ...]:
        """Return the messages of a repeated field."""
        return tuple(Message.of(value) for number, value in self.fields if number == field and isinstance(value, bytes))

    def one(self, field: int) -> Message:
        """Return the message of a field, or an empty one if it is absent."""
        return (*self.all(field), Message(()))[0]

    def data(self, field: int) -> bytes:
        """Return the bytes of a binary or text field, or empty bytes if it is absent."""
        found = [value for number, value in self.fields if number == field and isinstance(value, bytes)]
        return found[-1] if found else b""

    def number(self, field: int) -> int:
        """Return the number of a field, or 0 if it is absent. Negative numbers are in two's complement."""
        found = [value for number, value in self.fields if number == field and isinstance(value, int)]
        value = found[-1] if found else 0
        return value - (1 << 64) if value >= 1 << 63 else value


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        match key & 7:
            case 0:
                value, position = _varint(data, position)
                yield key >> 3, value
                continue
            case 1:
                length = 8
            case 5:
                length = 4
            case 2:
                length, position = _varint(data, position)
            case kind:
                message = f"the field at byte {position} has the unknown wire type {kind}"
                raise ValueError(message)
        if position + length > len(data):
            message = f"a field of {length} bytes begins at byte {position} of {len(data)}"
            raise ValueError(message)
        yield key >> 3, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number of variable length, and the position after it."""
    value = 0
    for place, byte in enumerate(data[position : position + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, position + place + 1
    message = f"the number at byte {position} has no end"
    raise ValueError(message)
