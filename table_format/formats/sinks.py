"""Sinks that Arrow's writers write to as to a Python file."""

from __future__ import annotations

import pyarrow as pa


class CountingSink:
    """Passes bytes on and counts them. The sink behind it stays open: its owner closes it, which makes it durable."""

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self._size = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Write bytes; how many they were."""
        self._sink.write(data)
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        """The bytes written so far."""
        return self._size

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """The owner of the sink closes it."""
        self.closed = True
