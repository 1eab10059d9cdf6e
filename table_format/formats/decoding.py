"""Errors of reading a data file: errors about its bytes name the file, and errors of the store are passed through.

Arrow's readers lose the type and the number of an error: an error that passes through the ORC library arrives as text.
Both are recovered in two ways. Errors of Arrow's own files contain their number in the text. For files that are Python
objects, ``ErrorCapture`` keeps the error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar, cast

import pyarrow as pa

from table_format.errors import BadEncoding, CorruptionError, TableFormatError
from table_format.io.file_io import Prefetching
from table_format.io.remote_file import RemoteInput
from table_format.model.arrow_calls import PythonFile

_T = TypeVar("_T")

_NUMBER: Final = re.compile(r"\[errno (\d+)\]", re.IGNORECASE)
"""The end of the text of an operating system error in Arrow."""


@contextmanager
def decoding(path: str, format_name: str) -> Iterator[None]:
    """Convert every error about the bytes of a file to one that names the file.

    Raises:
        BadEncoding: instead of the error that Arrow, or our code that interprets the bytes, raised.
    """
    try:
        yield
    except (TableFormatError, pa.ArrowMemoryError):
        raise
    except (pa.ArrowException, ValueError, KeyError, IndexError, OverflowError) as error:
        raise BadEncoding(path, f"not a valid {format_name} file: {error}") from error
    except OSError as error:
        # Arrow reports a broken file as an OSError without a number. An error with a number comes from the store.
        if error.errno is not None:
            raise
        stated = _NUMBER.search(str(error))
        if stated is not None:
            raise OSError(int(stated[1]), os.strerror(int(stated[1])), path) from error
        raise BadEncoding(path, f"not a valid {format_name} file: {error}") from error


class ErrorCapture:
    """A file object that forwards reads to a source, and keeps the error of the first read that failed."""

    def __init__(self, source: pa.NativeFile) -> None:
        self._source = source
        self.failure: BaseException | None = None
        self.closed = False

    def read(self, size: int) -> bytes:
        """Read ``size`` bytes, or fewer at the end of the source."""
        data: bytes = self._captured(lambda: self._source.read(size))
        return data

    def seek(self, position: int, whence: int = 0) -> int:
        """Move to a position, and return it."""
        new_position: int = self._captured(lambda: self._source.seek(position, whence))
        return new_position

    def tell(self) -> int:
        """Return the current position."""
        position: int = self._captured(self._source.tell)
        return position

    def prefetch(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Fetch ranges of bytes at once, from a source that can; see ``Prefetching``."""
        self._captured(lambda: cast("Prefetching", self._source).prefetch(ranges))

    def close(self) -> None:
        """Do nothing: the owner of the source closes it."""
        self.closed = True

    def _captured(self, read: Callable[[], _T]) -> _T:
        try:
            return read()
        except BaseException as error:  # Arrow would convert any error to text
            self.failure = self.failure or error
            raise


@contextmanager
def raising_read_errors(source: pa.NativeFile) -> Iterator[pa.NativeFile]:
    """Yield the source for a reader. If the store fails, raise its error instead of the corruption Arrow reports."""
    if isinstance(source, pa.OSFile | pa.BufferReader):
        yield source
        return
    capture = ErrorCapture(source)
    try:
        yield RemoteInput(capture, "r") if isinstance(source, Prefetching) else PythonFile(capture, mode="r")
    except CorruptionError as error:
        if capture.failure is not None:
            raise capture.failure from error
        raise
