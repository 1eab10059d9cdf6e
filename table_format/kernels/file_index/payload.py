"""The bytes of one index, of which a reader takes the parts that it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from table_format.errors import BadEncoding, Truncated

FIRST_READ: Final = 16_384


@dataclass(frozen=True, slots=True)
class Payload:
    """``length`` bytes, read by their start in the index; ``path`` is for messages only.

    So many bytes are read first of a head that does not say how long it is.
    """

    length: int
    fetch: Callable[[int, int], bytes]
    path: str
    first_read: int = FIRST_READ

    @classmethod
    def of(cls, data: bytes, *, path: str) -> Payload:
        """Bytes that are there already."""
        return cls(len(data), lambda start, length: data[start : start + length], path)

    def read(self, start: int, length: int) -> bytes:
        """Exactly these bytes.

        >>> Payload.of(b"abcd", path="f").read(1, 2)
        b'bc'

        Raises:
            BadEncoding: they are not all within the index.
            Truncated: they are said to be there, and are not.
        """
        if start < 0 or length < 0 or start + length > self.length:
            message = f"{length} bytes at {start} are not within its {self.length} bytes"
            raise self.damaged(message)
        data = self.fetch(start, length)
        if len(data) != length:
            raise Truncated(self.path, expected_bytes=length, found_bytes=len(data))
        return data

    def damaged(self, message: str) -> BadEncoding:
        """The error for an index that is not sound."""
        return BadEncoding(self.path, f"file index: {message}")
