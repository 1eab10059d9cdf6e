"""Files in an object store: S3, Azure Blob Storage, Google Cloud Storage, OSS, and stores that speak their protocols.

Two libraries share the work. ``obstore`` reads and writes files. Its conditional write is ``create``: the store refuses
it if the name exists. ``pyarrow.fs`` lists directories, and knows the empty objects by which Hadoop marks them; for
Google Cloud Storage and OSS, ``MarkedDirectories`` takes its place.

An object store has names and no directories. A directory exists while a name begins with it, or while it is marked. It
can have the name of a file, and moving it copies every file below it.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa
from pyarrow import fs

from table_format.extras import require
from table_format.io.connections import kept
from table_format.io.file_io import FileStatus, FileTooLarge
from table_format.io.file_limits import read_limit
from table_format.io.paths import (
    checked_path,
    is_hidden,
    sibling,
    temporary_name,
)
from table_format.io.remote_file import TAIL_BYTES, Range, RemoteFile, RemoteInput
from table_format.io.store_errors import error_of
from table_format.io.threads import side_by_side
from table_format.io.upload import Upload
from table_format.model.arrow_calls import PythonFile
from table_format.runtime import Ids, SystemIds
from table_format.shown_paths import shown_paths

_Listing: TypeAlias = list[FileStatus]

UPLOAD_BYTES: Final = 8 << 20
"""A file up to this size is written by one request, a larger one in parts of this size."""

_WRITER: Final = "writer"
"""The name of the metadata of an object that says which call has created it."""

_ATTEMPTS: Final = 3
"""How often a file is created if the store says that it exists, and then does not have it."""

_AT_ONCE: Final = 10
"""How many files are deleted at the same time if the store deletes one with each request, as in ``obstore``."""

_CLAIM: Final = ".moving"
"""The first of several callers that move a directory to one name creates this file there."""


class Directories(Protocol):
    """What ``ObjectStoreFileIO`` uses of ``pyarrow.fs.FileSystem``."""

    def get_file_info(self, wanted: Any, /) -> Any:  # noqa: ANN401 - as in pyarrow
        """Return the ``FileInfo`` of a path, or those that a ``FileSelector`` chooses."""
        ...

    def create_dir(self, path: str, /, *, recursive: bool = ...) -> None:
        """Mark a directory and its parents as existing."""
        ...

    def delete_dir(self, path: str, /) -> None:
        """Delete the marks of a directory and of those below it, and perhaps files that are there."""
        ...

    def copy_file(self, source: str, target: str, /) -> None:
        """Copy a file."""
        ...


class Clients(Protocol):
    """How a kind of store is reached. Instances are hashable and are sent to other processes."""

    @property
    def scheme(self) -> str:
        """The scheme of the URIs of the store."""
        ...

    def objects(self, bucket: str) -> Any:  # noqa: ANN401 - a store of the optional obstore
        """Return the ``obstore`` store of a bucket, which repeats requests that got no answer."""
        ...

    def file_system(self) -> Directories:
        """Return the directories of the same store, whose paths begin with the bucket."""
        ...


@runtime_checkable
class ConditionalClients(Clients, Protocol):
    """Clients of a store whose condition of a write ``obstore`` does not know."""

    def creating(self, bucket: str) -> Any:  # noqa: ANN401 - a store of the optional obstore
        """Return the ``obstore`` store of a bucket that refuses every write to a name that exists."""
        ...


@dataclass(frozen=True, slots=True)
class ObjectStoreFileIO:
    """``FileIO`` on an object store. The first part of a path is the bucket: ``/bucket/warehouse/...``.

    It holds no connection and can be sent to other processes; the keys of the store are sent with it.
    """

    clients: Clients
    ids: Ids = field(default_factory=SystemIds)

    is_object_store: Literal[True] = field(default=True, init=False)

    def uri(self, path: str) -> str:
        """Return the URI of a path, such as ``s3://bucket/warehouse``."""
        return f"{self.clients.scheme}:/{path}"

    def read(self, path: str) -> bytes:
        """The whole file, by one request; see ``FileIO.read``."""
        with self.errors_of(path):
            found = require("obstore").get(self._objects(path), _key(path))
            size = found.meta["size"]
            if size > (limit := read_limit(path)):
                raise FileTooLarge(path, size, limit)
            return bytes(found.bytes())

    def open_input(self, path: str) -> pa.NativeFile:
        """A seekable file for columnar readers, which the caller closes. Raises as ``read``, but of any size."""
        with self.errors_of(path):
            size, tail = self._tail(path)
        if size == len(tail):
            return pa.BufferReader(tail)

        def fetch(ranges: Sequence[Range]) -> Sequence[bytes]:
            starts, ends = [start for start, _ in ranges], [end for _, end in ranges]
            with self.errors_of(path):
                found: Sequence[bytes] = require("obstore").get_ranges(
                    self._objects(path), _key(path), starts=starts, ends=ends
                )
            return found

        return RemoteInput(RemoteFile(fetch, size, tail), "r")

    def create(self, path: str, data: bytes) -> None:
        """Write a file that must not exist, by a conditional request. Raises ``FileExistsError``.

        A request without an answer is repeated. The file carries the mark of its writer, which shows whether the
        lost request created it.
        """
        self._check_conditions(checked_path(path))
        self._create(path, data)

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace or create a file; a reader sees the old or the new bytes."""
        with self.errors_of(path):
            require("obstore").put(self._objects(path), _key(path), data, use_multipart=False)

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a new file for writing, which exists once it is closed.

        A small file is one request. An output that is not closed leaves nothing behind that a listing shows. Raises
        ``FileExistsError``, for a small file when it is closed.
        """
        return PythonFile(_PartialUpload(self, checked_path(path)), mode="w")

    def status(self, path: str) -> FileStatus | None:
        """Return the status of a path; ``None`` if nothing exists there."""
        with self.errors_of(path):
            info = self._arrow().get_file_info(_in_arrow(path))
        return None if info.type is fs.FileType.NotFound else _status(info)

    def has_file(self, path: str) -> bool:
        """Return whether the file exists, by one request; a directory is not a file."""
        try:
            with self.errors_of(path):
                require("obstore").head(self._objects(path), _key(path))
        except FileNotFoundError:
            return False
        return True

    def list_hidden(self, directory: str) -> list[FileStatus]:
        """Return the children of a directory that ``list`` omits, sorted by name."""
        return self._children(directory, is_hidden)

    def list(self, directory: str) -> list[FileStatus]:
        """Return the children of a directory except hidden ones, sorted by name; empty if it does not exist."""
        return self._children(directory, lambda name: not is_hidden(name))

    def list_files(self, directory: str) -> Iterator[tuple[str, FileStatus]]:
        """Return all files below a directory by path, with hidden ones, in any order; none if it does not exist."""
        with self.errors_of(directory):
            selector = fs.FileSelector(_in_arrow(directory), allow_not_found=True, recursive=True)
            found = self._arrow().get_file_info(selector)
        return ((f"/{info.path}", _status(info)) for info in found if info.type is fs.FileType.File)

    def delete(self, path: str) -> None:
        """Delete a file; do nothing if it does not exist."""
        with suppress(FileNotFoundError), self.errors_of(path):
            require("obstore").delete(self._objects(path), _key(path))

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete files in any order; do nothing for those that do not exist.

        One request deletes many of them, if the store has such a request.
        """
        by_bucket: dict[str, list[str]] = {}
        for path in paths:
            by_bucket.setdefault(checked_path(path).split("/", 2)[1], []).append(path)
        for found in by_bucket.values():
            try:
                with self.errors_of(found[0]):
                    require("obstore").delete(self._objects(found[0]), [_key(path) for path in found])
            except FileNotFoundError:
                # A store that deletes one file with each request stops at the first that does not exist.
                side_by_side(self.delete, found, _AT_ONCE)

    def delete_tree(self, directory: str) -> None:
        """Delete everything whose name begins with the directory; do nothing if there is nothing.

        What others write below the directory meanwhile may be deleted as well.
        """
        failure: OSError | None = None
        left = -1
        while True:
            found = [path for path, _ in self.list_files(directory)]
            if failure is not None and len(found) >= left:
                raise failure
            left = len(found)
            try:
                self.delete_files(found)
                self._delete_marked(directory)
            except OSError as error:
                # Another process deletes the same files, or a mark was deleted before what is below it.
                failure = error
            else:
                return

    def delete_empty_directory(self, directory: str) -> bool:
        """Do nothing and return false: a mark can only be deleted together with what others write below it meanwhile.

        Without a mark, a directory exists as long as it has files.
        """
        checked_path(directory)
        return False

    def rename_directory(self, source: str, target: str) -> None:
        """Copy the files of a directory in descending order of their names, then delete them.

        Raises ``FileExistsError`` if the target exists; of several callers with one target, one succeeds. After an
        interruption, files are left in both directories. What others write below the source meanwhile is lost: only
        directories of one writer are moved.
        """
        with self.errors_of(source):
            files = sorted((path for path, _ in self.list_files(source)), reverse=True)
            if not files and self.status(source) is None:
                raise FileNotFoundError(errno.ENOENT, "no such directory", source)
            if f"{checked_path(target)}/".startswith(f"{source}/"):
                raise OSError(errno.EINVAL, "a directory cannot be moved below itself", target)
            if self.status(target) is not None:
                raise FileExistsError(errno.EEXIST, "the target exists", target)
            claim = f"{target}/{_CLAIM}"
            self.create(claim, b"")
            if any(path != claim for path, _ in self.list_files(target)):
                # Another caller has moved its directory here since the target was looked for.
                self.delete(claim)
                raise FileExistsError(errno.EEXIST, "the target exists", target)
            for path in files:
                self._arrow().copy_file(_in_arrow(path), _in_arrow(target + path.removeprefix(source)))
            self.delete_tree(source)
            self.delete(claim)

    def make_directory(self, directory: str) -> None:
        """Mark a directory and its parents as existing."""
        with self.errors_of(directory):
            self._arrow().create_dir(_in_arrow(directory), recursive=True)

    # --- requests ---------------------------------------------------------------------------------------------------

    def _objects(self, path: str) -> Any:  # noqa: ANN401 - a store of the optional obstore
        return kept_objects(self.clients, checked_path(path).split("/", 2)[1])

    def _arrow(self) -> Directories:
        return kept(("arrow", self.clients), self.clients.file_system)

    def _tail(self, path: str) -> tuple[int, bytes]:
        """Return the size of a file and its last bytes, by one request."""
        obstore, store, key = require("obstore"), self._objects(path), _key(path)
        try:
            found = obstore.get(store, key, options={"range": {"suffix": TAIL_BYTES}})
            return found.meta["size"], bytes(found.bytes())
        except obstore.exceptions.BaseError:
            # The range of an empty file is refused, and Azure refuses a range that is counted from the end.
            size: int = obstore.head(store, key)["size"]
            start = max(size - TAIL_BYTES, 0)
            return size, bytes(obstore.get_range(store, key, start=start, end=size)) if size else b""

    def open_parts(self, path: str) -> Any:  # noqa: ANN401 - a writer of the optional obstore
        """Open the upload of a new file in parts."""
        with self.errors_of(path):
            if self.has_file(path):
                raise FileExistsError(errno.EEXIST, "the file exists", path)
            return require("obstore").open_writer(self._objects(path), _key(path), buffer_size=UPLOAD_BYTES)

    def _creating(self, path: str) -> tuple[Any, Literal["create", "overwrite"]]:
        """Return the store and the mode of a write that is refused if the file exists."""
        if not isinstance(self.clients, ConditionalClients):
            return self._objects(path), "create"
        bucket, creating = checked_path(path).split("/", 2)[1], self.clients.creating
        return kept(("creating", self.clients, bucket), lambda: creating(bucket)), "overwrite"

    def _create(self, path: str, data: bytes) -> None:
        obstore, key, writer = require("obstore"), _key(path), self.ids.uuid()
        store, mode = self._creating(path)
        for attempt in range(_ATTEMPTS):
            with self.errors_of(path):
                try:
                    obstore.put(store, key, data, mode=mode, attributes={_WRITER: writer}, use_multipart=False)
                except obstore.exceptions.AlreadyExistsError:
                    found = self._writer_of(path)
                    if found is None and attempt + 1 < _ATTEMPTS:
                        continue  # it was deleted meanwhile, or requests for one name got in the way of each other
                    if found != writer:
                        raise
            return

    def _writer_of(self, path: str) -> str | None:
        """Return the mark of the writer of a file, which is empty for another program; ``None`` without a file."""
        try:
            found = require("obstore").get(self._objects(path), _key(path))
        except FileNotFoundError:
            return None
        return str(found.attributes.get(_WRITER, ""))

    def _check_conditions(self, path: str) -> None:
        """Refuse a store that ignores conditions: two writers could publish the same snapshot."""
        kept(("conditions", self.clients, path.split("/", 2)[1]), lambda: self._try_conditions(path))

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
            "the store ignores the condition of a write (the name must be free), so two writers could replace each "
            "other's snapshots; use a store that supports conditional writes (OSS: a bucket that never kept versions)"
        )
        raise OSError(errno.EOPNOTSUPP, message, self._shown(path))

    def _children(self, directory: str, is_wanted: Callable[[str], bool]) -> _Listing:
        with self.errors_of(directory):
            selector = fs.FileSelector(_in_arrow(directory), allow_not_found=True)
            found = [_status(info) for info in self._arrow().get_file_info(selector) if is_wanted(info.base_name)]
        return sorted(found, key=lambda status: status.name)

    def _delete_marked(self, directory: str) -> None:
        # Another process may have deleted it in the meantime.
        with self.errors_of(directory), suppress(FileNotFoundError):
            self._arrow().delete_dir(_in_arrow(directory))

    @contextmanager
    def errors_of(self, path: str) -> Iterator[None]:
        """Turn the errors of the two libraries into ``OSError`` with the path."""
        checked_path(path)
        try:
            yield
        except OSError as error:
            if isinstance(error.filename, str):
                error.filename = self._shown(error.filename)
                raise
            raise error_of(path, error, self._shown(path)) from error
        except Exception as error:
            if type(error).__module__.partition(".")[0] != "obstore":
                raise
            raise error_of(path, error, self._shown(path)) from error

    def _shown(self, path: str) -> str:
        shown = shown_paths(path)
        return self.uri(path) if shown.startswith("/") else shown


def kept_objects(clients: Clients, bucket: str) -> Any:  # noqa: ANN401 - a store of the optional obstore
    """Return the store of a bucket, which a process opens once."""
    return kept(("objects", clients, bucket), lambda: clients.objects(bucket))


class _PartialUpload(Upload):
    """Sends a file in parts once there is much of it."""

    def __init__(self, store: ObjectStoreFileIO, path: str) -> None:
        super().__init__()
        self._store = store
        self._path = path
        self._held = bytearray()
        self._parts: Any = None

    def _take(self, data: memoryview) -> None:
        self._held += data
        if len(self._held) > UPLOAD_BYTES:
            self._send()

    def _finish(self) -> None:
        if self._parts is None:
            self._store.create(self._path, bytes(self._held))
            return
        self._send()
        with self._store.errors_of(self._path):
            self._parts.close()

    def _send(self) -> None:
        if self._parts is None:
            self._parts = self._store.open_parts(self._path)
        with self._store.errors_of(self._path):
            self._parts.write(bytes(self._held))
        self._held.clear()


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
