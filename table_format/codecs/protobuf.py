"""The wire format of Protocol Buffers, as far as it takes to read messages by the numbers of their fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

Value: TypeAlias = int | bytes

_LONGEST_VARINT: Final = 10


@dataclass(frozen=True, slots=True)
class Message:
    """The fields of a message, in their order; those of fixed width are bytes.

    >>> message = Message.of(bytes.fromhex("0805120568656c6c6f"))
    >>> message.number(1), message.data(2)
    (5, b'hello')
    """

    fields: tuple[tuple[int, Value], ...]

    @classmethod
    def of(cls, data: bytes) -> Message:
        """Read a message.

        Raises:
            ValueError: these bytes are no message.
        """
        return cls(tuple(_fields(data)))

    def has(self, field: int) -> bool:
        """Whether the field is there."""
        return any(number == field for number, _ in self.fields)

    def all(self, field: int) -> tuple[Message, ...]:
        """The messages of a field that may be there several times."""
        return tuple(Message.of(value) for number, value in self.fields if number == field and isinstance(value, bytes))

    def one(self, field: int) -> Message:
        """The message of a field, an empty one if it is not there."""
        return (*self.all(field), Message(()))[0]

    def data(self, field: int) -> bytes:
        """The bytes or the text of a field, none if it is not there."""
        found = [value for number, value in self.fields if number == field and isinstance(value, bytes)]
        return found[-1] if found else b""

    def number(self, field: int) -> int:
        """The number of a field, 0 if it is not there. Negative ones are those of two's complement."""
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
    """A number of variable length, and the position behind it."""
    value = 0
    for place, byte in enumerate(data[position : position + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, position + place + 1
    message = f"the number at byte {position} has no end"
    raise ValueError(message)
