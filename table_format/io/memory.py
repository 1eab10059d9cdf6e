"""Files in memory that behave like files on disk, for tests and simulations.

Every change is one step under a lock, bytes are visible while they are written (as on disk), names are sorted, and the
time is that of the given clock. Nothing is read from or written to the machine.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from table_format.io.file_io import FileStatus, FileTooLarge
from table_format.io.file_limits import read_limit
from table_format.io.paths import base_name, checked_path, is_hidden, parent
from table_format.model.arrow_calls import PythonFile
from table_format.runtime import Clock, SystemClock


@dataclass(slots=True)
class _File:
    data: bytes | bytearray
    modified_ms: int


class MemoryFileIO:
    """FileIO on a dictionary; for the threads of one process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.RLock()
        self._files: dict[str, _File] = {}
        # Children by directory, so that listing does not visit every file of the store.
        self._directories: dict[str, set[str]] = {"/": set()}

    def read(self, path: str) -> bytes:
        """The whole file.

        Raises:
            FileNotFoundError: the file does not exist.
            FileTooLarge: it is larger than ``read_limit``; nothing was read.
        """
        with self._lock:
            data = self._file(path).data
            if len(data) > (limit := read_limit(path)):
                raise FileTooLarge(path, len(data), limit)
            return bytes(data)

    def open_input(self, path: str) -> pa.NativeFile:
        """A seekable file for columnar readers, which the caller closes. Raises as ``read``, but of any size."""
        with self._lock:
            return pa.BufferReader(bytes(self._file(path).data))

    def create(self, path: str, data: bytes) -> None:
        """Write a file that must not exist. Raises ``FileExistsError``."""
        with self._lock:
            self._add(path, _File(bytes(data), self._clock.now_ms()))

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace or create a file; a reader sees the old or the new bytes."""
        with self._lock:
            self._refuse_directory(path)
            if path in self._files:
                self._files[path] = _File(bytes(data), self._clock.now_ms())
            else:
                self.create(path, data)

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a new file for writing. Raises ``FileExistsError``."""
        file = _File(bytearray(), self._clock.now_ms())
        with self._lock:
            self._add(path, file)
        return PythonFile(_Sink(file), mode="w")

    def status(self, path: str) -> FileStatus | None:
        """Return the status of a path; ``None`` if nothing exists there."""
        with self._lock:
            return self._status(checked_path(path))

    def list_hidden(self, directory: str) -> list[FileStatus]:
        """Return the children of a directory that ``list`` omits, sorted by name."""
        return [*self._children(directory, is_hidden)]

    def list(self, directory: str) -> list[FileStatus]:
        """Return the children of a directory except hidden ones, sorted by name; empty if the directory does not
        exist.
        """
        return [*self._children(directory, lambda name: not is_hidden(name))]

    def delete(self, path: str) -> None:
        """Delete a file; do nothing if it does not exist."""
        with self._lock:
            self._refuse_directory(checked_path(path))
            if self._files.pop(path, None):
                self._directories[parent(path)].discard(base_name(path))

    def delete_tree(self, directory: str) -> None:
        """Delete a directory and its contents; do nothing if it does not exist."""
        with self._lock:
            if checked_path(directory) in self._files:
                raise NotADirectoryError(errno.ENOTDIR, "not a directory", directory)
            for name in sorted(self._directories.get(directory, ())):
                child = _join(directory, name)
                if child in self._files:
                    self.delete(child)
                else:
                    self.delete_tree(child)
            self.delete_empty_directory(directory)

    def delete_empty_directory(self, directory: str) -> bool:
        """Delete a directory if it is empty. Return whether it was deleted."""
        with self._lock:
            if checked_path(directory) in self._files:
                raise NotADirectoryError(errno.ENOTDIR, "not a directory", directory)
            if directory == "/" or self._directories.get(directory, {""}):
                return False
            del self._directories[directory]
            self._directories[parent(directory)].discard(base_name(directory))
            return True

    def rename_directory(self, source: str, target: str) -> None:
        """Move a directory. Raises ``FileExistsError`` if the target exists."""
        with self._lock:
            if checked_path(source) not in self._directories:
                raise FileNotFoundError(errno.ENOENT, "no such directory", source)
            if self._status(checked_path(target)):
                raise FileExistsError(errno.EEXIST, "the target exists", target)
            if f"{target}/".startswith(f"{source}/"):
                raise OSError(errno.EINVAL, "a directory cannot be moved below itself", target)
            self.make_directory(parent(target))
            self._move(source, target)

    def make_directory(self, directory: str) -> None:
        """Create a directory and its parents; do nothing if it exists."""
        with self._lock:
            if checked_path(directory) in self._files:
                raise NotADirectoryError(errno.ENOTDIR, "a file has the name of a directory", directory)
            if directory not in self._directories:
                self.make_directory(parent(directory))
                self._directories[directory] = set()
                self._directories[parent(directory)].add(base_name(directory))

    def _children(self, directory: str, is_wanted: Callable[[str], bool]) -> Sequence[FileStatus]:
        with self._lock:
            if checked_path(directory) in self._files:
                raise NotADirectoryError(errno.ENOTDIR, "not a directory", directory)
            names = sorted(filter(is_wanted, self._directories.get(directory, ())))
            found = [self._status(_join(directory, name)) for name in names]
            return [status for status in found if status is not None]

    def _move(self, source: str, target: str) -> None:
        self.make_directory(target)
        for name in sorted(self._directories[source]):
            child = _join(source, name)
            if child in self._files:
                self._add(_join(target, name), self._files[child])
                self.delete(child)
            else:
                self._move(child, _join(target, name))
        self.delete_empty_directory(source)

    def _add(self, path: str, file: _File) -> None:
        if checked_path(path) in self._files or path in self._directories:
            raise FileExistsError(errno.EEXIST, "the file exists", path)
        self.make_directory(parent(path))
        self._files[path] = file
        self._directories[parent(path)].add(base_name(path))

    def _file(self, path: str) -> _File:
        self._refuse_directory(checked_path(path))
        try:
            return self._files[path]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, "no such file", path) from None

    def _refuse_directory(self, path: str) -> None:
        if path in self._directories:
            raise IsADirectoryError(errno.EISDIR, "a directory, not a file", path)

    def _status(self, path: str) -> FileStatus | None:
        if path in self._directories:
            return FileStatus(base_name(path), 0, 0, is_directory=True)
        file = self._files.get(path)
        return None if file is None else FileStatus(base_name(path), len(file.data), file.modified_ms, False)


class _Sink:
    """The file object of ``open_output``: written bytes are visible immediately, as on disk."""

    def __init__(self, file: _File) -> None:
        self._data = bytearray()
        self._file = file
        file.data = self._data
        self.closed = False

    def write(self, data: bytes) -> int:
        self._data += data
        return len(data)

    def tell(self) -> int:
        return len(self._data)

    def flush(self) -> None:
        """Do nothing, because nothing is buffered."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._file.data = bytes(self._data)


def _join(directory: str, name: str) -> str:
    return f"/{name}" if directory == "/" else f"{directory}/{name}"
