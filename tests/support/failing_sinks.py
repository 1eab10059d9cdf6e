"""A store whose sinks fail: at the n-th byte that is written to any of them, or when they are closed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from table_format.io.memory import MemoryFileIO


@dataclass
class Fault:
    """What happens after ``room`` more bytes, or at the first close where ``at_close``; ``None`` is no fault.

    ``kind`` is the number of an ``OSError``, or the type of another exception.
    """

    kind: int | type[BaseException]
    room: int | None = None
    at_close: bool = False
    happened: int = 0

    def error(self, path: str) -> BaseException:
        self.happened += 1
        return OSError(self.kind, os.strerror(self.kind), path) if isinstance(self.kind, int) else self.kind()


class FailingSinks(MemoryFileIO):
    """Files in memory; ``fault`` is what its sinks suffer from, and ``written`` counts their bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.fault: Fault | None = None
        self.written = 0

    def open_output(self, path: str) -> pa.NativeFile:
        return pa.PythonFile(_Sink(self, super().open_output(path), path), mode="w")


class _Sink:
    def __init__(self, store: FailingSinks, sink: pa.NativeFile, path: str) -> None:
        self._store = store
        self._sink = sink
        self._path = path
        self.closed = False

    def write(self, data: Any) -> int:
        fault = self._store.fault
        if fault is not None and fault.room is not None:
            if len(data) > fault.room:
                self._sink.write(bytes(data)[: fault.room])
                fault.room = 0
                raise fault.error(self._path)
            fault.room -= len(data)
        self._sink.write(bytes(data))
        self._store.written += len(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self._sink.close()
        if self._store.fault is not None and self._store.fault.at_close:
            raise self._store.fault.error(self._path)
