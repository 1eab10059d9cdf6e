"""A file that is read by requests for ranges: few requests, several at once, for columns that are known beforehand."""

from __future__ import annotations

import bisect
import io
from collections.abc import Callable, Sequence
from typing import Final, Literal, Protocol

import pyarrow as pa

from table_format.limits import MIB

TAIL_BYTES: Final = 512 * 1024
"""What is read when a file is opened: its footer, and all of a small file."""

_FIRST_AHEAD: Final = 256 * 1024
_MOST_AHEAD: Final = 8 * MIB
"""The bytes that are read ahead, which double as long as reads follow each other."""

Range = tuple[int, int]
"""The first byte and the first byte after it."""
Fetch = Callable[[Sequence[Range]], Sequence[bytes]]


class RemoteFile:
    """A file object over a function that fetches ranges of an object of ``size`` bytes, of which ``tail`` is known."""

    def __init__(self, fetch: Fetch, size: int, tail: bytes) -> None:
        self._fetch = fetch
        self._size = size
        self._tail_start = size - len(tail)
        self._tail = tail
        self._starts: list[int] = []
        self._parts: list[bytes] = []
        self._position = 0
        self._ahead = _FIRST_AHEAD
        self._followed = -1
        self.closed = False

    def prefetch(self, ranges: Sequence[Range]) -> None:
        """Fetch these ranges at once and keep them, instead of those that were kept before."""
        # A damaged footer can name bytes beyond the end.
        wanted = sorted({(start, min(end, self._size)) for start, end in ranges if start < min(end, self._tail_start)})
        self._starts = [start for start, _ in wanted]
        self._parts = [bytes(part) for part in self._fetch(wanted)] if wanted else []

    def read(self, count: int = -1) -> bytes:
        """Return the next bytes, fewer at the end of the file."""
        end = self._size if count < 0 else min(self._position + count, self._size)
        data = self._bytes(self._position, end)
        self._position += len(data)
        return data

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position, and return it."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + position
        return self._position

    def tell(self) -> int:
        """Return the current position."""
        return self._position

    def close(self) -> None:
        """Forget what was fetched."""
        self._parts, self._starts, self.closed = [], [], True

    def _bytes(self, start: int, end: int) -> bytes:
        if start >= end:
            return b""
        if start >= self._tail_start:
            return self._tail[start - self._tail_start : end - self._tail_start]
        number = bisect.bisect_right(self._starts, start) - 1
        if number >= 0:
            at, part = self._starts[number], self._parts[number]
            if end <= at + len(part):
                return part[start - at : end - at]
        return self._read_ahead(start, end)

    def _read_ahead(self, start: int, end: int) -> bytes:
        """Fetch a range and what follows it."""
        self._ahead = min(2 * self._ahead, _MOST_AHEAD) if start == self._followed else _FIRST_AHEAD
        until = min(max(end, start + self._ahead), self._size)
        self._followed = until
        part = bytes(self._fetch([(start, until)])[0])
        self._starts, self._parts = [start], [part]
        return part[: end - start]


class _File(Protocol):
    def prefetch(self, ranges: Sequence[Range]) -> None: ...
    def read(self, count: int) -> bytes: ...
    def seek(self, position: int, whence: int = ...) -> int: ...
    def tell(self) -> int: ...
    def close(self) -> None: ...


class RemoteInput(pa.PythonFile):
    """A ``RemoteFile``, or an object like it, for readers of Arrow."""

    def __init__(self, file: _File, _mode: Literal["r"]) -> None:
        self._file = file

    def prefetch(self, ranges: Sequence[Range]) -> None:
        """Fetch ranges at once that will be read next; see ``Prefetching``."""
        self._file.prefetch(ranges)
