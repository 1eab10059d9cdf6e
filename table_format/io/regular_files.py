"""The only way in which the library reads files: never more than the recorded size, and only regular files.

An ``OSError`` about the file itself becomes an error of the library here. A missing file is left to the caller, who
knows what it means.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from table_format.errors import BadEncoding, LimitExceeded, MissingFile, Truncated
from table_format.io.file_io import FileIO, FileStatus, FileTooLarge, ObjectStore, UnexpectedKind
from table_format.io.file_limits import size_limit


def read_file(io: FileIO, path: str, *, size: int | None = None) -> bytes:
    """Read the whole file; ``size`` is its size in bytes by the metadata, if it is known.

    Raises:
        FileNotFoundError: the file does not exist.
        Truncated: it has another size than recorded; a large file is not read.
        LimitExceeded: it is larger than a valid file of its name can be; nothing was read.
        BadEncoding: the path is a directory, a pipe or something else that is not a file.
    """
    try:
        data = io.read(path)
    except (UnexpectedKind, IsADirectoryError) as error:
        raise _special(path, error) from error
    except FileTooLarge as error:
        data = _read_large(io, path, error.size, announced=size)
    if size is not None:
        _check_size(path, len(data), size)
    return data


@contextmanager
def opened_file(io: FileIO, path: str, *, size: int | None = None) -> Iterator[pa.NativeFile]:
    """A file that metadata names, to be read in pieces; closed at the end.

    Raises:
        MissingFile: the file does not exist.
        Truncated: it has another size than recorded.
        BadEncoding: the path is a directory, a pipe or something else that is not a file.
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
    """Return whether the file exists.

    Raises:
        BadEncoding: the path is a directory, a pipe or something else that is not a file.
    """
    # This is asked several times per commit, and Python before 3.12 is slow to see that a store is not one.
    if hasattr(io, "is_object_store") and isinstance(io, ObjectStore):
        return io.has_file(path)
    found = io.status(path)
    if found is None:
        return False
    if found.is_directory or found.is_special:
        raise BadEncoding(path, f"expected a file, found {_what(found)}; move it out of the table")
    return True


@contextmanager
def refusing_special_files(path: str) -> Iterator[None]:
    """Report what is in the place of a file of the table."""
    try:
        yield
    except (UnexpectedKind, IsADirectoryError) as error:
        raise _special(path, error) from error


def _special(path: str, error: OSError) -> BadEncoding:
    return BadEncoding(path, f"{error.strerror}; move it out of the table")


def _read_large(io: FileIO, path: str, size: int, *, announced: int | None) -> bytes:
    if announced is not None:
        _check_size(path, size, announced)
    if size > (limit := size_limit(path)):
        message = f"the file has {size} bytes; at most {limit} are read"
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
