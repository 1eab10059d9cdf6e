"""A store whose n-th read fails: of a whole file, the opening of one, or a read from one that is open."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from table_format.io.memory import MemoryFileIO


class FailingReads(MemoryFileIO):
    """Files in memory. The read number ``fails_at``, counted from 0, raises what ``error`` makes of its path."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.fails_at: int | None = None
        self.error: Callable[[str], BaseException] = OSError
        self.failed: str | None = None

    def begin(self, fails_at: int | None, error: Callable[[str], BaseException] = OSError) -> None:
        """Count from 0 again."""
        self.reads, self.fails_at, self.error, self.failed = 0, fails_at, error, None

    def read(self, path: str) -> bytes:
        self.count(path)
        return super().read(path)

    def open_input(self, path: str) -> pa.NativeFile:
        self.count(path)
        return pa.PythonFile(_Source(self, path, pa.BufferReader(MemoryFileIO.read(self, path))), mode="r")

    def count(self, path: str) -> None:
        number, self.reads = self.reads, self.reads + 1
        if number == self.fails_at:
            self.failed = path
            raise self.error(path)


class _Source:
    def __init__(self, store: FailingReads, path: str, data: pa.BufferReader) -> None:
        self._store = store
        self._path = path
        self._data = data
        self.closed = False

    def read(self, size: int) -> bytes:
        self._store.count(self._path)
        return self._data.read(size)

    def seek(self, position: int, whence: int = 0) -> int:
        return self._data.seek(position, whence)

    def tell(self) -> int:
        return self._data.tell()

    def close(self) -> None:
        self.closed = True
