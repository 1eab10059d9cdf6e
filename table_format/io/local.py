"""Files of this machine. ``create`` is a hard link, the one POSIX call that refuses an existing name atomically.

What an operation promises to be durable is durable when it returns: the bytes by ``fsync`` of the file, the name by
``fsync`` of its directory. A rename is never used to publish, because it replaces an existing file (Java
``LocalFileIO`` can lose a commit this way). If the file system has no hard links, ``create`` fails with an error.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa

from table_format.io.file_io import FileStatus, FileTooLarge, UnexpectedKind
from table_format.io.file_limits import read_limit
from table_format.io.paths import base_name, checked_path, is_hidden, parent, sibling, temporary_name
from table_format.limits import MIB
from table_format.runtime import Ids, SystemIds

if TYPE_CHECKING:
    from pyarrow._stubs_typing import SupportPyBuffer

_T = TypeVar("_T")

_NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.EMLINK})
_LEADS_NOWHERE: Final = frozenset({errno.ENOENT, errno.ELOOP, errno.ENOTDIR})
_ATTEMPTS: Final = 8
"""How often a directory may disappear between its creation and its use before this is an error."""

_BYTES_OF_A_REQUEST: Final = 8 * MIB
"""An open file asks the system to begin writing to disk each time it has grown by this much."""


@dataclass(frozen=True, slots=True)
class LocalFileIO:
    """FileIO on a local file system; holds no open files and can be sent to other processes."""

    ids: Ids = field(default_factory=SystemIds)

    def read(self, path: str) -> bytes:
        """The whole file; see ``FileIO.read``.

        Raises:
            FileNotFoundError: the file does not exist.
            FileTooLarge: it is larger than ``read_limit``; nothing was read.
            UnexpectedKind: it is not a file.
        """
        handle, size = _open_file(path)
        try:
            limit = read_limit(path)
            if size > limit:
                raise FileTooLarge(path, size, limit)
            return _read_all(handle, path, size, limit)
        finally:
            os.close(handle)

    def read_parts(self, path: str, take: Callable[[int, Callable[[int, int], bytes]], _T]) -> _T:
        """Call ``take`` with the size of a file and a function that reads bytes by offset and length; return its
        result.

        Raises as ``read``, but for files of any size.
        """
        handle, size = _open_file(path)
        try:
            return take(size, lambda start, length: os.pread(handle, length, start))
        finally:
            os.close(handle)

    def open_input(self, path: str) -> pa.NativeFile:
        """A seekable file for columnar readers, which the caller closes. Raises as ``read``, but of any size."""
        os.close(_open_file(path)[0])
        return pa.OSFile(path, "rb")

    def create(self, path: str, data: bytes) -> None:
        """Write a file that must not exist, durably, through a temporary file. Raises ``FileExistsError``."""
        temporary = self._temporary(path)
        try:
            with _naming(path):
                _write_new(temporary, data)
                _link(temporary, path)
        finally:  # after an interrupt as well; the published name is another one
            Path(temporary).unlink(missing_ok=True)
        _sync_directory(parent(path))

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace or create a file; a reader sees the old or the new bytes."""
        temporary = self._temporary(path)
        try:
            with _naming(path):
                _write_new(temporary, data)
            # No sync of the directory: after a power cut the old bytes are as good as the new.
            Path(temporary).replace(path)
        finally:
            Path(temporary).unlink(missing_ok=True)

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a new file for writing; ``close`` makes its bytes and its name durable. Raises ``FileExistsError``."""
        os.close(_in_directory_of(path, lambda: _open_new(checked_path(path))))
        return _DurableFile(path, "wb")

    def open_scratch(self, path: str) -> pa.NativeFile:
        """Open a new file that need not survive a stop of the machine. Raises ``FileExistsError``."""
        os.close(_in_directory_of(path, lambda: _open_new(checked_path(path))))
        return pa.OSFile(path, "wb")

    def status(self, path: str) -> FileStatus | None:
        """Return the status of a path; ``None`` if nothing exists there."""
        try:
            own = os.lstat(checked_path(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _status(path, base_name(path), own)

    def list_hidden(self, directory: str) -> list[FileStatus]:
        """Return the children of a directory that ``list`` omits, sorted by name."""
        return _children(directory, is_hidden)

    def list(self, directory: str) -> list[FileStatus]:
        """Return the children of a directory except hidden ones, sorted by name; empty if the directory does not
        exist.
        """
        return _children(directory, lambda name: not is_hidden(name))

    def delete(self, path: str) -> None:
        """Delete a file or a symbolic link, never its target; do nothing if it does not exist."""
        Path(checked_path(path)).unlink(missing_ok=True)

    def delete_tree(self, directory: str) -> None:
        """Delete a directory and its contents without following links; do nothing if it does not exist."""
        if Path(checked_path(directory)).is_symlink():
            self.delete(directory)
            return
        for _ in range(_ATTEMPTS):
            # Others may delete below us, which makes rmtree stop in the middle.
            with suppress(FileNotFoundError):
                shutil.rmtree(directory)
            if not Path(directory).exists():
                return
        raise OSError(errno.EBUSY, "the directory is being written to", directory)

    def delete_empty_directory(self, directory: str) -> bool:
        """Delete a directory if it is empty and not a link. Return whether it was deleted."""
        try:
            Path(checked_path(directory)).rmdir()
        except FileNotFoundError:
            return False
        except NotADirectoryError:
            if Path(directory).is_symlink():
                return False
            raise
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise
        return True

    def rename_directory(self, source: str, target: str) -> None:
        """Move a directory, or the link to one. Raises ``FileExistsError`` if the target exists."""
        if not Path(checked_path(source)).is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such directory", source)
        if Path(source).is_symlink():
            _move_link(source, checked_path(target))
            return
        # POSIX replaces an empty directory; creating the target first refuses an existing one.
        _in_directory_of(target, lambda: Path(checked_path(target)).mkdir())
        try:
            Path(source).rename(target)
        except BaseException as error:  # an interrupt must not leave the name taken by an empty directory
            with suppress(OSError):
                if Path(source).exists():
                    Path(target).rmdir()
            if isinstance(error, OSError) and error.errno == errno.ENOTEMPTY:
                raise FileExistsError(errno.EEXIST, "the target exists", target) from error
            raise
        _sync_directory(parent(source))
        _sync_directory(parent(target))

    def make_directory(self, directory: str) -> None:
        """Create a directory and its parents; do nothing if it exists."""
        path = Path(checked_path(directory))
        for _ in range(_ATTEMPTS):
            _make_directories(str(path))
            if path.is_dir():
                return
        raise _no_directory(directory)

    def _temporary(self, path: str) -> str:
        return sibling(checked_path(path), temporary_name(base_name(path), self.ids.uuid()))


class _DurableFile(pa.OSFile):
    """An output file whose ``close`` returns when the bytes and the name are on disk.

    The system is asked to write the bytes to disk while more of them are computed, so that ``close`` waits less.
    """

    def __init__(self, path: str, _mode: str) -> None:
        self._path = path
        self._requested = 0

    def write(self, data: bytes | SupportPyBuffer) -> int:
        with _naming(self._path):
            written = super().write(data)
        end = self.tell()
        if end - self._requested >= _BYTES_OF_A_REQUEST:
            _start_to_sync(self.fileno(), self._requested, end - self._requested)
            self._requested = end
        return written

    def close(self) -> None:
        if self.closed:
            return
        with _naming(self._path):
            super().close()
            _sync(self._path, os.O_RDONLY)
        _sync_directory(parent(self._path))


def _open_file(path: str) -> tuple[int, int]:
    """Open a regular file and return its size. Other kinds are refused: opening a pipe would wait for its writer."""
    try:
        handle = os.open(checked_path(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in _LEADS_NOWHERE:
            _refuse_broken_links(path)
        if error.errno == errno.ENXIO:
            raise UnexpectedKind(errno.EINVAL, "expected a file, found a socket or a device", path) from error
        raise
    try:
        found = os.fstat(handle)
        mode = found.st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "expected a file, found a directory", path)
        if not stat.S_ISREG(mode):
            raise UnexpectedKind(errno.EINVAL, f"expected a file, found {_kind(mode)}", path)
    except OSError:
        os.close(handle)
        raise
    return handle, found.st_size


def _read_all(handle: int, path: str, size: int, limit: int) -> bytes:
    parts = []
    read = 0
    while part := os.read(handle, max(size - read, 0) + 1):
        parts.append(part)
        read += len(part)
        if read > limit:
            raise FileTooLarge(path, read, limit)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def _refuse_broken_links(path: str) -> None:
    """Raise if the path is or contains a link without a target, which differs from a missing file."""
    while path != "/" and not Path(path).exists():
        if Path(path).is_symlink():
            raise UnexpectedKind(errno.ELOOP, f"the symbolic link to '{Path(path).readlink()}' leads nowhere", path)
        path = parent(path)


def _move_link(source: str, target: str) -> None:
    # Creating the link refuses an existing target. A crash before the old name is removed leaves both names.
    text = os.readlink(source)  # noqa: PTH115 - Path would change its text
    if not text.startswith("/") and parent(source) != parent(target):
        text = os.path.join(parent(source), text)  # noqa: PTH118 - '..' stays as it is
    _in_directory_of(target, lambda: Path(target).symlink_to(text))
    Path(source).unlink()
    _sync_directory(parent(target))
    _sync_directory(parent(source))


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Name the file in errors of calls that only know an open file, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), path) from error


def _open_new(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)


def _write_new(path: str, data: bytes) -> None:
    """Write these bytes to a new file, durably; a failure may leave a part of it."""
    with os.fdopen(_in_directory_of(path, lambda: _open_new(path)), "wb", buffering=0) as file:
        _write_all(file.fileno(), data)
        os.fsync(file.fileno())


def _in_directory_of(path: str, action: Callable[[], _T]) -> _T:
    for _ in range(_ATTEMPTS):
        try:
            return action()
        except FileNotFoundError:
            _make_directories(parent(path))
    raise _no_directory(parent(path))


def _no_directory(path: str) -> FileNotFoundError:
    message = "the file system refuses to create the directory, or another process deleted it each time"
    return FileNotFoundError(errno.ENOENT, message, path)


def _make_directories(directory: str) -> None:
    path = Path(directory)
    if path.is_dir():
        return
    _make_directories(parent(directory))
    try:
        path.mkdir()
    except FileNotFoundError:
        return  # somebody deleted the parent; the caller tries again
    except FileExistsError:
        _refuse_broken_links(directory)
        # Another process may have deleted it in the meantime, or created it again.
        with suppress(FileNotFoundError):
            if not stat.S_ISDIR(path.stat().st_mode):
                raise NotADirectoryError(errno.ENOTDIR, "a file has the name of a directory", directory) from None
    _sync_directory(parent(directory))


def _link(temporary: str, path: str) -> None:
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        message = (
            "the file system has no hard links, so no file can be created atomically; keep the warehouse elsewhere"
        )
        raise OSError(error.errno, message, path) from error


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _children(directory: str, is_wanted: Callable[[str], bool]) -> list[FileStatus]:
    found: list[FileStatus] = []
    try:
        with os.scandir(checked_path(directory)) as entries:
            for entry in entries:
                if is_wanted(entry.name):
                    # Another process may delete the file during the check; then it does not exist.
                    with suppress(FileNotFoundError):
                        found.append(_status(entry.path, entry.name, entry.stat(follow_symlinks=False)))
    except FileNotFoundError:
        _refuse_broken_links(directory)
        return []
    except OSError as error:
        if error.errno in _LEADS_NOWHERE:
            _refuse_broken_links(directory)
        raise
    return sorted(found, key=lambda status: status.name)


def _start_to_sync(handle: int, offset: int, length: int) -> None:
    """Ask the system to begin writing these bytes to disk. It is advice: nothing waits, and errors show in ``fsync``.

    The advice says that the pages are no longer needed. Linux writes those that are not on disk yet, and keeps them.
    """
    if hasattr(os, "posix_fadvise"):  # macOS has no such call
        with suppress(OSError):
            os.posix_fadvise(handle, offset, length, os.POSIX_FADV_DONTNEED)


def _sync(path: str, flags: int) -> None:
    handle = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_directory(directory: str) -> None:
    # The directory was deleted in the meantime together with the file, so its name need not be durable.
    with suppress(FileNotFoundError), _naming(directory):
        _sync(directory, os.O_RDONLY | os.O_DIRECTORY)


def _status(path: str, name: str, own: os.stat_result) -> FileStatus:
    found, is_link = own, stat.S_ISLNK(own.st_mode)
    if is_link:
        try:
            found = Path(path).stat()
        except OSError as error:
            if error.errno not in _LEADS_NOWHERE:
                raise
    if stat.S_ISDIR(found.st_mode):
        return FileStatus(name, 0, 0, is_directory=True, is_link=is_link)
    is_special = not stat.S_ISREG(found.st_mode)
    changed_ms = found.st_mtime_ns // 1_000_000
    return FileStatus(name, 0 if is_special else found.st_size, changed_ms, False, is_link, is_special)
