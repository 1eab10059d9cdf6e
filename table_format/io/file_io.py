"""The protocol through which every byte passes. Paths are absolute text with ``/``; errors are ``OSError``.

A store may fail at any call, before or after the effect. Only ``create`` is atomic against other processes: it is the
commit point of everything (docs/adr). Listing may lag on some stores, so correctness never rests on ``list``.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

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
    directories.

    A symbolic link has the facts of its target, and ``is_link``. ``is_special`` is true of anything that is neither a
    regular file nor a directory: a pipe, a socket, a device, a link whose target does not exist.
    """

    name: str
    size: int
    modified_ms: int
    is_directory: bool
    is_link: bool = False
    is_special: bool = False

    @property
    def is_broken_link(self) -> bool:
        """Whether the path is a symbolic link without a readable target."""
        return self.is_link and self.is_special


class FileIO(Protocol):
    """Few verbs, each with one meaning."""

    def read(self, path: str) -> bytes:
        """The whole file, unless it is larger than ``read_limit``.

        Raises:
            FileNotFoundError: there is none.
            FileTooLarge: it is larger than that; nothing was read.
            UnexpectedKind: it is a pipe, a socket, a device or a link that leads nowhere.
        """
        ...

    def open_input(self, path: str) -> pa.NativeFile:
        """A seekable file for columnar readers; the caller closes it. Raises as ``read``, but of any size."""
        ...

    def create(self, path: str, data: bytes) -> None:
        """Write a file that must not exist: of all callers of all processes exactly one wins.

        The bytes are durable, and complete for every reader that sees the name. Raises ``FileExistsError``.
        """
        ...

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace or make a file; a reader sees the old or the new bytes, never a mixture (hints, consumers)."""
        ...

    def open_output(self, path: str) -> pa.NativeFile:
        """A sink for a new file whose name nobody else uses; ``close`` makes it durable.

        Raises ``FileExistsError``. If writing fails the caller deletes the path.
        """
        ...

    def status(self, path: str) -> FileStatus | None:
        """Return the status of a path; ``None`` if nothing exists there."""
        ...

    def list_hidden(self, directory: str) -> list[FileStatus]:
        """The children that ``list`` leaves out: what was being written when a process ended, and what others hide."""
        ...

    def list(self, directory: str) -> list[FileStatus]:
        """Return the children of a directory except hidden ones, sorted by name; empty if the directory does not exist.

        Raises:
            UnexpectedKind: the path leads through a link that leads nowhere, so what lies there is not known.
        """
        ...

    def delete(self, path: str) -> None:
        """Delete a file or a symbolic link, never its target; do nothing if it does not exist."""
        ...

    def delete_tree(self, directory: str) -> None:
        """Delete a directory and its contents; do nothing if it does not exist.

        A link is removed wherever it is met, at ``directory`` itself too, and never followed.
        """
        ...

    def delete_empty_directory(self, directory: str) -> bool:
        """Delete a directory if it is empty and no link; whether it was deleted."""
        ...

    def rename_directory(self, source: str, target: str) -> None:
        """Move a directory, or the link to one. Raises ``FileExistsError`` when the target exists."""
        ...

    def make_directory(self, directory: str) -> None:
        """Make a directory and its parents; nothing happens when it exists."""
        ...


@runtime_checkable
class ScratchFiles(Protocol):
    """A store that can do without the durability of files which end with the job that makes them."""

    def open_scratch(self, path: str) -> pa.NativeFile:
        """As ``open_output``, but what was written may be gone when the machine stops."""
        ...
