"""The protocol for all access to files. Paths are absolute text with ``/``; errors are ``OSError``.

A store may fail at any call, before or after the effect. Only ``create`` is atomic against other processes: every
commit relies on it (docs/adr). Listing may lag on some stores, so correctness never depends on ``list``.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import pyarrow as pa


class UnexpectedKind(OSError):
    """A pipe, a socket, a device or a link that leads nowhere, where a file or a directory is expected."""


class FileTooLarge(OSError):
    """The file has more bytes than are read at once; it was not read. ``size`` and ``limit`` are bytes."""

    def __init__(self, path: str, size: int, limit: int) -> None:
        super().__init__(errno.EFBIG, f"the file has {size} bytes, and at most {limit} are read", path)
        self.size = size
        self.limit = limit

    def __reduce__(self) -> tuple[object, ...]:
        return (FileTooLarge, (self.filename, self.size, self.limit))


@dataclass(frozen=True, slots=True)
class FileStatus:
    """The status of a path. ``size`` is in bytes, ``modified_ms`` in milliseconds since 1970; both are 0 for
    directories. ``accessed_ms`` and ``owner`` are known for files of HDFS; they do not count when two are compared.

    A symbolic link has the values of its target, and ``is_link``. ``is_special`` is true for anything that is neither
    a regular file nor a directory: a pipe, a socket, a device, a link whose target does not exist.
    """

    name: str
    size: int
    modified_ms: int
    is_directory: bool
    is_link: bool = False
    is_special: bool = False
    accessed_ms: int | None = field(default=None, compare=False)
    owner: str | None = field(default=None, compare=False)

    @property
    def is_broken_link(self) -> bool:
        """Whether the path is a symbolic link without a readable target."""
        return self.is_link and self.is_special


class FileIO(Protocol):
    """A few operations, each with one meaning."""

    def read(self, path: str) -> bytes:
        """The whole file, unless it is larger than ``read_limit``.

        Raises:
            FileNotFoundError: the file does not exist.
            FileTooLarge: it is larger than the limit; nothing was read.
            UnexpectedKind: it is a pipe, a socket, a device or a link that leads nowhere.
        """
        ...

    def open_input(self, path: str) -> pa.NativeFile:
        """A seekable file for columnar readers, of any size; the caller closes it. Raises the errors of ``read``."""
        ...

    def create(self, path: str, data: bytes) -> None:
        """Write a file that must not exist: of all callers in all processes, exactly one succeeds.

        The bytes are durable, and complete for every reader that sees the file. Raises ``FileExistsError``.
        """
        ...

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace or create a file; a reader sees the old or the new bytes, never a mixture (hints, consumers)."""
        ...

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a new file for writing, with a name that nobody else uses; ``close`` makes it durable.

        Raises ``FileExistsError``, at the latest when it is closed. If writing fails, the caller deletes the path.
        """
        ...

    def status(self, path: str) -> FileStatus | None:
        """Return the status of a path; ``None`` if nothing exists there."""
        ...

    def list_hidden(self, directory: str) -> list[FileStatus]:
        """Return the children that ``list`` omits: unfinished files of ended processes, and files that others hide."""
        ...

    def list(self, directory: str) -> list[FileStatus]:
        """Return the children of a directory except hidden ones, sorted by name; empty if the directory does not exist.

        Raises:
            UnexpectedKind: the path contains a link without a target, so its content is unknown.
        """
        ...

    def delete(self, path: str) -> None:
        """Delete a file or a symbolic link, never its target; do nothing if it does not exist."""
        ...

    def delete_tree(self, directory: str) -> None:
        """Delete a directory and its contents; do nothing if it does not exist.

        A link is removed and never followed, even if ``directory`` itself is one.
        """
        ...

    def delete_empty_directory(self, directory: str) -> bool:
        """Delete a directory if it is empty and not a link. Return whether it was deleted."""
        ...

    def rename_directory(self, source: str, target: str) -> None:
        """Move a directory, or the link to one. Raises ``FileExistsError`` if the target exists."""
        ...

    def make_directory(self, directory: str) -> None:
        """Create a directory and its parents; do nothing if it exists."""
        ...


@runtime_checkable
class ScratchFiles(Protocol):
    """A store that can write files without making them durable, for files that are deleted with their job."""

    def open_scratch(self, path: str) -> pa.NativeFile:
        """Like ``open_output``, but the file may be lost if the machine stops."""
        ...


@runtime_checkable
class RemoteStore(Protocol):
    """A store that other machines reach: its files have URIs. Tables in it have all their files in it."""

    def uri(self, path: str) -> str:
        """Return the URI of a path, such as ``s3://bucket/warehouse``."""
        ...


@runtime_checkable
class ObjectStore(RemoteStore, Protocol):
    """A store of names without directories, of which these operations are not one step.

    ``rename_directory`` copies every file. A directory without a file exists only if ``make_directory`` marked it, and
    can have the name of a file. ``delete_empty_directory`` does nothing.
    """

    is_object_store: Literal[True]

    def has_file(self, path: str) -> bool:
        """Return whether the file exists, by one request; ``status`` needs two if it does not."""
        ...

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete files by few requests, in any order; do nothing for those that do not exist."""
        ...


@runtime_checkable
class DeepListing(Protocol):
    """A store that lists all files below a directory by few requests."""

    def list_files(self, directory: str) -> Iterable[tuple[str, FileStatus]]:
        """Return all files below a directory by path, with hidden ones, in any order; none if it does not exist."""
        ...


@runtime_checkable
class Prefetching(Protocol):
    """An input of ``open_input`` whose reads wait for a store."""

    def prefetch(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Fetch ranges of bytes at once that will be read next: their starts, and their ends, which are not included.

        They are kept until the next call.
        """
        ...
