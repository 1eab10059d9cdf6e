"""Sinks between Arrow's writers and the store."""

from __future__ import annotations

import io

import pyarrow as pa


class CountingSink:
    """Passes bytes on and counts them. The sink behind it stays open: its owner closes it, which makes it durable."""

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self._size = 0

    def write(self, data: bytes) -> None:
        """Write bytes. Raises ``OSError``."""
        self._sink.write(data)
        self._size += len(data)

    def tell(self) -> int:
        """The bytes written so far."""
        return self._size


class EncodedBytes(io.BytesIO):
    """The sink of Arrow's writers: memory, which neither fails nor can be interrupted.

    Arrow's ORC writer throws in a destructor when its sink fails, which ends the process, and each writer of Arrow
    writes a footer when it is collected as garbage. So no writer gets the sink of a file: it fills this buffer, and the
    owner moves the bytes on (``moved_to``) between two calls of the writer, where an error is an ordinary one. A buffer
    that nobody moves any more is forgotten with its writer, and nothing is written.

    Every method a writer calls is written in C: the handler of a signal does not run in it. ``close`` does nothing,
    because a writer closes its sink, and the bytes are wanted afterwards.
    """

    close = dict  # type: ignore[assignment]  # a callable without effect that is written in C

    def __init__(self) -> None:
        super().__init__()
        self._moved = 0

    @property
    def total(self) -> int:
        """The bytes written so far, moved on or not."""
        return self._moved + self.tell()

    def moved_to(self, sink: pa.NativeFile) -> None:
        """Write what has come in to the sink of the file, and forget it. Raises ``OSError``."""
        data = self.getvalue()
        if data:
            sink.write(data)
            self._moved += len(data)
            self.seek(0)
            self.truncate()

    def exchange(self, data: bytes) -> None:
        """Put other bytes in place of those that have come in and were not moved."""
        self.seek(0)
        self.truncate()
        self.write(data)
