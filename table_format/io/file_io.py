"""The protocol through which every byte passes. Paths are absolute text with ``/``; errors are ``OSError``.

A store may fail at any call, before or after the effect. Only ``create`` is atomic against other processes: it is the
commit point of everything (docs/adr). Listing may lag on some stores, so correctness never rests on ``list``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class FileStatus:
    """One child of a directory. ``size`` is bytes, ``modified_ms`` epoch milliseconds; both 0 for directories."""

    name: str
    size: int
    modified_ms: int
    is_directory: bool


class FileIO(Protocol):
    """Few verbs, each with one meaning."""

    def read(self, path: str) -> bytes:
        """The whole file. Raises ``FileNotFoundError``."""
        ...

    def open_input(self, path: str) -> pa.NativeFile:
        """A seekable file for columnar readers; the caller closes it. Raises ``FileNotFoundError``."""
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
        """What lies at the path, or ``None``."""
        ...

    def list_hidden(self, directory: str) -> list[FileStatus]:
        """The children that ``list`` leaves out: what was being written when a process ended, and what others hide."""
        ...

    def list(self, directory: str) -> list[FileStatus]:
        """The children of a directory but hidden ones, sorted by name; empty when there is no such directory."""
        ...

    def delete(self, path: str) -> None:
        """Delete a file; nothing happens when there is none."""
        ...

    def delete_tree(self, directory: str) -> None:
        """Delete a directory and all below it; nothing happens when there is none."""
        ...

    def delete_empty_directory(self, directory: str) -> bool:
        """Delete a directory if it is empty; whether it was deleted."""
        ...

    def rename_directory(self, source: str, target: str) -> None:
        """Move a directory. Raises ``FileExistsError`` when the target exists."""
        ...

    def make_directory(self, directory: str) -> None:
        """Make a directory and its parents; nothing happens when it exists."""
        ...
