"""Files in an object store: S3, Google Cloud Storage, Azure Blob Storage, and stores that speak their protocols.

Two libraries share the work. ``obstore`` makes the requests that need an exact answer: ``create`` is a conditional
write, which the store refuses if the name exists. ``pyarrow.fs`` reads columns without Python code, and knows the
empty objects by which Hadoop marks directories.

An object store has names and no directories. A directory exists while a name begins with it, or while it is marked. It
can have the name of a file, and moving it copies every file below it.
"""

from __future__ import annotations

import errno
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

import pyarrow as pa
from pyarrow import fs

from table_format.extras import require
from table_format.io.file_io import FileStatus, FileTooLarge
from table_format.io.file_limits import read_limit
from table_format.io.paths import (
    base_name,
    checked_path,
    is_hidden,
    sibling,
    temporary_name,
)
from table_format.model.arrow_calls import PythonFile
from table_format.runtime import Ids, SystemIds

_T = TypeVar("_T")
_Listing: TypeAlias = list[FileStatus]

UPLOAD_BYTES: Final = 8 << 20
"""A file up to this size is written by one request, a larger one in parts of this size."""

_CLAIM: Final = ".moving"
"""The file by which the first of several callers gets the name of a directory."""


class Clients(Protocol):
    """How a kind of store is reached. Instances are hashable and are sent to other processes."""

    def objects(self, bucket: str, *, repeats: bool) -> Any:  # noqa: ANN401 - a store of the optional obstore
        """Return the ``obstore`` store of a bucket. With ``repeats``, it repeats requests that got no answer."""
        ...

    def file_system(self) -> fs.FileSystem:
        """Return the same store for pyarrow, whose paths begin with the bucket."""
        ...


@dataclass(frozen=True, slots=True)
class ObjectStoreFileIO:
    """``FileIO`` on an object store. The first part of a path is the bucket: ``/bucket/warehouse/...``.

    It holds no connection and can be sent to other processes; the keys of the store are sent with it.
    """

    clients: Clients
    ids: Ids = field(default_factory=SystemIds)

    is_object_store: Literal[True] = field(default=True, init=False)

    def read(self, path: str) -> bytes:
        """The whole file, by one request; see ``FileIO.read``."""
        with self._errors_of(path):
            found = require("obstore").get(self._objects(path), _key(path))
            size = found.meta["size"]
            if size > (limit := read_limit(path)):
                raise FileTooLarge(path, size, limit)
            return bytes(found.bytes())

    def open_input(self, path: str) -> pa.NativeFile:
        """A seekable file for columnar readers, which the caller closes. Raises as ``read``, but of any size."""
        with self._errors_of(path):
            return self._arrow().open_input_file(_in_arrow(path))

    def create(self, path: str, data: bytes) -> None:
        """Write a file that must not exist, by one conditional request. Raises ``FileExistsError``.

        The request is not repeated here: if its answer is lost, the caller looks who created the file.
        """
        self._check_conditions(checked_path(path))
        self._create(path, data)

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace or create a file; a reader sees the old or the new bytes."""
        with self._errors_of(path):
            require("obstore").put(self._objects(path), _key(path), data, use_multipart=False)

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a new file for writing, which exists once it is closed. Raises ``FileExistsError``.

        A small file is one request. An output that is not closed leaves nothing behind that a listing shows.
        """
        with self._errors_of(path):
            if self._head(path) is not None:
                raise FileExistsError(errno.EEXIST, "the file exists", path)
            writer = require("obstore").open_writer(self._objects(path), _key(path), buffer_size=UPLOAD_BYTES)
        return PythonFile(_Upload(writer, lambda: self._errors_of(path)), mode="w")

    def status(self, path: str) -> FileStatus | None:
        """Return the status of a path; ``None`` if nothing exists there."""
        with self._errors_of(path):
            if _key(path) and (found := self._head(path)) is not None:
                return found
            info = self._arrow().get_file_info(_in_arrow(path))
        return _status(info) if info.type is fs.FileType.Directory else None

    def list_hidden(self, directory: str) -> list[FileStatus]:
        """Return the children of a directory that ``list`` omits, sorted by name."""
        return self._children(directory, is_hidden)

    def list(self, directory: str) -> list[FileStatus]:
        """Return the children of a directory except hidden ones, sorted by name; empty if it does not exist."""
        return self._children(directory, lambda name: not is_hidden(name))

    def delete(self, path: str) -> None:
        """Delete a file; do nothing if it does not exist."""
        with self._errors_of(path), suppress(FileNotFoundError):
            require("obstore").delete(self._objects(path), _key(path))

    def delete_tree(self, directory: str) -> None:
        """Delete everything whose name begins with the directory; do nothing if there is nothing."""
        with self._errors_of(directory):
            self._delete_marked(directory)

    def delete_empty_directory(self, directory: str) -> bool:
        """Delete the mark of a directory without files. Return whether there was one."""
        with self._errors_of(directory):
            found = self._arrow().get_file_info(fs.FileSelector(_in_arrow(directory), allow_not_found=True))
            if found or self._arrow().get_file_info(_in_arrow(directory)).type is not fs.FileType.Directory:
                return False
            self._delete_marked(directory)
        return True

    def rename_directory(self, source: str, target: str) -> None:
        """Copy the files of a directory in descending order of their names, then delete them.

        Raises ``FileExistsError`` if the target exists; of several callers with one target, one succeeds. After an
        interruption, files are left in both directories. What others write below the source meanwhile is lost: only
        directories of one writer are moved.
        """
        with self._errors_of(source):
            files = sorted(self._files_below(source), reverse=True)
            if not files and self.status(source) is None:
                raise FileNotFoundError(errno.ENOENT, "no such directory", source)
            if f"{checked_path(target)}/".startswith(f"{source}/"):
                raise OSError(errno.EINVAL, "a directory cannot be moved below itself", target)
            if self.status(target) is not None:
                raise FileExistsError(errno.EEXIST, "the target exists", target)
            claim = f"{target}/{_CLAIM}"
            self.create(claim, b"")
            for path in files:
                self._arrow().copy_file(_in_arrow(path), _in_arrow(target + path.removeprefix(source)))
            self.delete_tree(source)
            self.delete(claim)

    def make_directory(self, directory: str) -> None:
        """Mark a directory and its parents as existing."""
        with self._errors_of(directory):
            self._arrow().create_dir(_in_arrow(directory), recursive=True)

    # --- requests ---------------------------------------------------------------------------------------------------

    def _objects(self, path: str, *, repeats: bool = True) -> Any:  # noqa: ANN401 - a store of the optional obstore
        bucket = checked_path(path).split("/", 2)[1]
        return _opened(
            ("objects", self.clients, bucket, repeats), lambda: self.clients.objects(bucket, repeats=repeats)
        )

    def _arrow(self) -> fs.FileSystem:
        return _opened(("arrow", self.clients), self.clients.file_system)

    def _head(self, path: str) -> FileStatus | None:
        try:
            found = require("obstore").head(self._objects(path), _key(path))
        except FileNotFoundError:
            return None
        modified_ms = int(found["last_modified"].timestamp() * 1000)
        return FileStatus(base_name(path), found["size"], modified_ms, is_directory=False)

    def _create(self, path: str, data: bytes) -> None:
        with self._errors_of(path):
            require("obstore").put(
                self._objects(path, repeats=False), _key(path), data, mode="create", use_multipart=False
            )

    def _check_conditions(self, path: str) -> None:
        """Refuse a store that ignores conditions: two writers could publish the same snapshot."""
        _opened(("conditions", self.clients, path.split("/", 2)[1]), lambda: self._try_conditions(path))

    def _try_conditions(self, path: str) -> bool:
        probe = sibling(path, temporary_name("conditional-write", self.ids.uuid()))
        self._create(probe, b"1")
        try:
            self._create(probe, b"2")
        except FileExistsError:
            return True
        finally:
            with suppress(OSError):
                self.delete(probe)
        message = (
            "the store ignores the condition of a write (If-None-Match), so two writers could replace each other's "
            "snapshots; use a store that supports conditional writes"
        )
        raise OSError(errno.EOPNOTSUPP, message, path)

    def _children(self, directory: str, is_wanted: Callable[[str], bool]) -> _Listing:
        with self._errors_of(directory):
            selector = fs.FileSelector(_in_arrow(directory), allow_not_found=True)
            found = [_status(info) for info in self._arrow().get_file_info(selector) if is_wanted(info.base_name)]
        return sorted(found, key=lambda status: status.name)

    def _files_below(self, directory: str) -> Iterator[str]:
        selector = fs.FileSelector(_in_arrow(directory), allow_not_found=True, recursive=True)
        return (f"/{info.path}" for info in self._arrow().get_file_info(selector) if info.type is fs.FileType.File)

    def _delete_marked(self, directory: str) -> None:
        # Another process may have deleted it in the meantime.
        with suppress(FileNotFoundError):
            self._arrow().delete_dir(_in_arrow(directory))

    @contextmanager
    def _errors_of(self, path: str) -> Iterator[None]:
        """Turn the errors of the two libraries into ``OSError`` with the path."""
        checked_path(path)
        try:
            yield
        except OSError as error:
            if error.filename is not None:
                raise
            raise _error_of(path, error) from error
        except Exception as error:
            if type(error).__module__.partition(".")[0] != "obstore":
                raise
            raise _error_of(path, error) from error


@dataclass(slots=True)
class _Upload:
    """The file object of ``open_output``."""

    writer: Any
    errors: Callable[[], AbstractContextManager[None]]
    written: int = 0
    closed: bool = False

    def write(self, data: bytes) -> int:
        with self.errors():
            self.writer.write(memoryview(data).cast("B"))
        self.written += len(data)
        return len(data)

    def tell(self) -> int:
        return self.written

    def flush(self) -> None:
        """Do nothing: the file does not exist before it is closed."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with self.errors():
                self.writer.close()


# --- connections of this process ------------------------------------------------------------------------------------

_OPENED: Final[dict[tuple[object, ...], Any]] = {}
_LOCKS: Final = [threading.RLock()]


def _opened(key: tuple[object, ...], open_it: Callable[[], _T]) -> _T:
    """Return what this process has opened under a key. A fork opens its own: connections cannot be shared."""
    own = (os.getpid(), *key)
    if own not in _OPENED:
        with _LOCKS[0]:
            if own not in _OPENED:
                _OPENED[own] = open_it()
    found: _T = _OPENED[own]
    return found


def _renew_lock() -> None:
    # Another thread of the parent may have held it, and does not exist here.
    _LOCKS[0] = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


# --- names and errors -----------------------------------------------------------------------------------------------


def _key(path: str) -> str:
    """Return the name of an object in its bucket; empty for the bucket itself.

    >>> _key("/bucket/w/shop.db"), _key("/bucket")
    ('w/shop.db', '')
    """
    return path[1:].partition("/")[2]


def _in_arrow(path: str) -> str:
    return path[1:]


def _status(info: fs.FileInfo) -> FileStatus:
    if info.type is fs.FileType.Directory:
        return FileStatus(info.base_name, 0, 0, is_directory=True)
    return FileStatus(info.base_name, info.size or 0, (info.mtime_ns or 0) // 1_000_000, is_directory=False)


_ERRNO: Final[Mapping[str, int]] = {
    "AlreadyExistsError": errno.EEXIST,
    "FileNotFoundError": errno.ENOENT,
    "NotFoundError": errno.ENOENT,
    "PermissionDeniedError": errno.EACCES,
    "UnauthenticatedError": errno.EACCES,
    "NotSupportedError": errno.EOPNOTSUPP,
}
"""By the class of the error; the error of an answer that did not come is ``EIO``."""
_REFUSED: Final = re.compile("access_?denied|invalid_?access_?key_?id|signature_?does_?not_?match", re.IGNORECASE)
_CODE: Final = re.compile(r"<Code>(\w+)</Code>")


def _error_of(path: str, error: Exception) -> OSError:
    """Return the error as ``OSError``, whose subclass follows from its number.

    Only the first line and the code of the answer are kept: the rest repeats the request.
    """
    text = str(error)
    code = _CODE.search(text)
    number = _ERRNO.get(type(error).__name__, errno.EIO)
    if _REFUSED.search(text):
        number = errno.EACCES
    line = text.partition("\n")[0].partition(": <")[0]
    return OSError(number, f"{line} ({code[1]})" if code else line, path)
