"""Errors of reading a data file: what is wrong with its bytes names the file, what the store said stays what it was.

Arrow's readers lose the type and the number of an error on the way: what is thrown through the ORC library comes out as
text. Two things bring it back. Errors of Arrow's own files state their number in the text; of files that are objects of
Python the error itself is kept aside (``ErrorCapture``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import pyarrow as pa

from table_format.errors import BadEncoding, CorruptionError, TableFormatError
from table_format.model.arrow_calls import PythonFile

_T = TypeVar("_T")

_NUMBER: Final = re.compile(r"\[errno (\d+)\]", re.IGNORECASE)
"""How Arrow ends the text of an error of the operating system."""


@contextmanager
def decoding(path: str, format_name: str) -> Iterator[None]:
    """Make of every error that comes from the bytes of a file one that names it.

    Raises:
        BadEncoding: in place of what Arrow, or code that goes by what the bytes say, raised.
    """
    try:
        yield
    except (TableFormatError, pa.ArrowMemoryError):
        raise
    except (pa.ArrowException, ValueError, KeyError, IndexError, OverflowError) as error:
        raise BadEncoding(path, f"not a sound {format_name} file: {error}") from error
    except OSError as error:
        # Arrow reports a broken file as an OSError without number; one with a number is the store's.
        if error.errno is not None:
            raise
        stated = _NUMBER.search(str(error))
        if stated is not None:
            raise OSError(int(stated[1]), os.strerror(int(stated[1])), path) from error
        raise BadEncoding(path, f"not a sound {format_name} file: {error}") from error


class ErrorCapture:
    """A file object that passes reads on to a source, and keeps the error of the first one that failed."""

    def __init__(self, source: pa.NativeFile) -> None:
        self._source = source
        self.failure: BaseException | None = None
        self.closed = False

    def read(self, size: int) -> bytes:
        """So many bytes, fewer at the end."""
        data: bytes = self._captured(lambda: self._source.read(size))
        return data

    def seek(self, position: int, whence: int = 0) -> int:
        """Go to a position; the new position."""
        new_position: int = self._captured(lambda: self._source.seek(position, whence))
        return new_position

    def tell(self) -> int:
        """The position."""
        position: int = self._captured(self._source.tell)
        return position

    def close(self) -> None:
        """The owner of the source closes it."""
        self.closed = True

    def _captured(self, read: Callable[[], _T]) -> _T:
        try:
            return read()
        except BaseException as error:  # whatever it is, Arrow would make text of it
            self.failure = self.failure or error
            raise


@contextmanager
def raising_read_errors(source: pa.NativeFile) -> Iterator[pa.NativeFile]:
    """The source for a reader: an error of the store is raised in place of the corruption that it looks like."""
    if isinstance(source, pa.OSFile | pa.BufferReader):
        yield source
        return
    capture = ErrorCapture(source)
    try:
        yield PythonFile(capture, mode="r")
    except CorruptionError as error:
        if capture.failure is not None:
            raise capture.failure from error
        raise
