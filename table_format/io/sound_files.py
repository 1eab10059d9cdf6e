"""The only way in which the library reads files: never more than the recorded size, and only regular files.

What a store reports as an ``OSError`` about the file itself becomes an error of the library here; that there is no such
file is left to the caller, who knows what that means.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from table_format.errors import BadEncoding, LimitExceeded, MissingFile, Truncated
from table_format.io.file_io import FileIO, FileStatus, FileTooLarge, UnexpectedKind
from table_format.io.file_limits import size_limit


def read_file(io: FileIO, path: str, *, size: int | None = None) -> bytes:
    """The whole file; ``size`` is how many bytes it has according to the metadata, if that is known.

    Raises:
        FileNotFoundError: there is none.
        Truncated: it has another size than announced; if it is a large one, nothing was read.
        LimitExceeded: it is larger than any sound file of its name; nothing was read.
        BadEncoding: a directory, a pipe or something else that is no file has its name.
    """
    try:
        with refusing_special_files(path):
            data = io.read(path)
    except FileTooLarge as error:
        data = _read_large(io, path, error.size, announced=size)
    if size is not None:
        _check_size(path, len(data), size)
    return data


@contextmanager
def opened_file(io: FileIO, path: str, *, size: int | None = None) -> Iterator[pa.NativeFile]:
    """A file that metadata names, to be read in pieces; closed at the end.

    Raises:
        MissingFile: there is none.
        Truncated: it has another size than announced.
        BadEncoding: a directory, a pipe or something else that is no file has its name.
    """
    try:
        with refusing_special_files(path):
            source = io.open_input(path)
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    with source:
        if size is not None:
            _check_size(path, source.size(), size)
        yield source


def file_exists(io: FileIO, path: str) -> bool:
    """Whether there is a file of that name.

    Raises:
        BadEncoding: a directory, a pipe or something else that is no file has it.
    """
    found = io.status(path)
    if found is None:
        return False
    if found.is_directory or found.is_special:
        raise BadEncoding(path, f"expected a file, found {_what(found)}; move it out of the table")
    return True


@contextmanager
def refusing_special_files(path: str) -> Iterator[None]:
    """Name what cannot be a file of the table as what it is."""
    try:
        yield
    except (UnexpectedKind, IsADirectoryError) as error:
        raise BadEncoding(path, f"{error.strerror}; move it out of the table") from error


def _read_large(io: FileIO, path: str, size: int, *, announced: int | None) -> bytes:
    if announced is not None:
        _check_size(path, size, announced)
    if size > (limit := size_limit(path)):
        message = f"the file has {size} bytes; at most {limit} are read of such a file"
        raise LimitExceeded(path, message)
    with io.open_input(path) as source:
        data: bytes = source.read(size)
    return data


def _check_size(path: str, found: int, announced: int) -> None:
    if found != announced:
        raise Truncated(path, expected_bytes=announced, found_bytes=found)


def _what(found: FileStatus) -> str:
    if found.is_directory:
        return "a directory"
    return "a symbolic link that leads nowhere" if found.is_link else "a pipe, a socket or a device"
