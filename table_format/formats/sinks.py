"""Sinks that connect Arrow's writers with the store."""

from __future__ import annotations

import io

import pyarrow as pa


class CountingSink:
    """Forwards bytes to a sink and counts them. The owner of that sink closes it, which makes the file durable."""

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self._size = 0

    def write(self, data: bytes) -> None:
        """Write bytes. Raises ``OSError``."""
        self._sink.write(data)
        self._size += len(data)

    def tell(self) -> int:
        """Return the bytes written so far."""
        return self._size


class EncodedBytes(io.BytesIO):
    """The sink of Arrow's writers: a buffer in memory, which neither fails nor can be interrupted.

    Arrow's ORC writer throws in a destructor if its sink fails, which crashes the process, and every Arrow writer
    writes a footer when it is garbage-collected. Writers therefore do not write to the sink of a file. They fill this
    buffer, and its owner moves the bytes (``moved_to``) between two calls of the writer, where an error is an ordinary
    exception. If the bytes are never moved, the buffer is discarded together with its writer, and nothing is written.

    Every method that a writer calls is implemented in C, so no signal handler runs in it. ``close`` does nothing,
    because a writer closes its sink, and the bytes are needed afterwards.
    """

    close = dict  # type: ignore[assignment]  # a callable without effect that is implemented in C

    def __init__(self) -> None:
        super().__init__()
        self._moved = 0

    @property
    def total(self) -> int:
        """The number of bytes written so far, moved or not."""
        return self._moved + self.tell()

    def moved_to(self, sink: pa.NativeFile) -> None:
        """Write the buffered bytes to the sink of the file, and empty the buffer. Raises ``OSError``."""
        data = self.getvalue()
        if data:
            sink.write(data)
            self._moved += len(data)
            self.seek(0)
            self.truncate()

    def exchange(self, data: bytes) -> None:
        """Replace the buffered bytes by other bytes."""
        self.seek(0)
        self.truncate()
        self.write(data)
