"""The bytes of one index, which can be read in parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from table_format.errors import BadEncoding, Truncated

FIRST_READ: Final = 16_384


@dataclass(frozen=True, slots=True)
class Payload:
    """An index of ``length`` bytes, read by position; ``path`` is only for messages.

    ``first_read`` is the number of bytes to read first if the length of a head is unknown.
    """

    length: int
    fetch: Callable[[int, int], bytes]
    path: str
    first_read: int = FIRST_READ

    @classmethod
    def of(cls, data: bytes, *, path: str) -> Payload:
        """Return a payload of bytes in memory."""
        return cls(len(data), lambda start, length: data[start : start + length], path)

    def read(self, start: int, length: int) -> bytes:
        """Return exactly ``length`` bytes from ``start``.

        >>> Payload.of(b"abcd", path="f").read(1, 2)
        b'bc'

        Raises:
            BadEncoding: the range is not within the index.
            Truncated: the file has fewer bytes than stated.
        """
        if start < 0 or length < 0 or start + length > self.length:
            message = f"{length} bytes from byte {start} on go beyond its {self.length} bytes"
            raise self.damaged(message)
        data = self.fetch(start, length)
        if len(data) != length:
            raise Truncated(self.path, expected_bytes=length, found_bytes=len(data))
        return data

    def damaged(self, message: str) -> BadEncoding:
        """Return the error for a damaged index."""
        return BadEncoding(self.path, f"file index: {message}")
