"""HDFS through WebHDFS: ``webhdfs://namenode:9870/path``, or ``hdfs://namenode:8020/path`` with an option.

HDFS has no conditional write, but its namenode renames in one step and refuses a name that exists. A new file is
written under a temporary name, and then renamed: it is complete for every reader that sees it. If the answer to the
rename is lost, the temporary name shows whether the file has moved, because no other process moves it.
"""

from __future__ import annotations

import errno
import getpass
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Any, Final, TypeAlias

import pyarrow as pa

from table_format.errors import InvalidOption
from table_format.extras import require
from table_format.io.file_io import FileStatus, FileTooLarge, UnexpectedKind
from table_format.io.file_limits import read_limit
from table_format.io.paths import base_name, checked_path, is_hidden, parent, sibling, temporary_name
from table_format.io.remote_file import TAIL_BYTES, Range, RemoteFile, RemoteInput
from table_format.io.threads import side_by_side
from table_format.io.upload import Upload
from table_format.io.webhdfs import Status, WebHdfs
from table_format.limits import MIB
from table_format.model.arrow_calls import PythonFile
from table_format.options.catalog import WAREHOUSE
from table_format.options.hdfs import HTTP_ADDRESS, HdfsOptions
from table_format.runtime import Ids, SystemIds
from table_format.shown_paths import shown_paths

_Listing: TypeAlias = list[FileStatus]

_NATIVE: Final = "hdfs"
_DEFAULT_PORT: Final = 9870
_IN_MEMORY_BYTES: Final = 8 * MIB
"""A larger file that is being written is kept on the local disk."""
_THREADS: Final = 8
"""How many ranges of a file are read at the same time."""


@dataclass(frozen=True, slots=True)
class HdfsFileIO:
    """``FileIO`` on HDFS. The first part of a path is the authority of the URI: ``/namenode:9870/warehouse/...``."""

    scheme: str
    cluster: WebHdfs
    ids: Ids = field(default_factory=SystemIds)

    def uri(self, path: str) -> str:
        """Return the URI of a path, such as ``webhdfs://namenode:9870/warehouse``."""
        return f"{self.scheme}:/{path}"

    def read(self, path: str) -> bytes:
        """The whole file; see ``FileIO.read``."""
        data = self.cluster.read(path, 0, (limit := read_limit(path)) + 1)
        if len(data) > limit:
            raise FileTooLarge(path, self._file(path)["length"], limit)
        return data

    def open_input(self, path: str) -> pa.NativeFile:
        """A seekable file for columnar readers, which the caller closes. Raises as ``read``, but of any size."""
        size = self._file(path)["length"]
        start = max(size - TAIL_BYTES, 0)
        tail = self.cluster.read(path, start, size - start) if size else b""
        if start == 0:
            return pa.BufferReader(tail)

        def fetch(ranges: Sequence[Range]) -> Sequence[bytes]:
            return side_by_side(lambda part: self.cluster.read(path, part[0], part[1] - part[0]), ranges, _THREADS)

        return RemoteInput(RemoteFile(fetch, size, tail), "r")

    def create(self, path: str, data: bytes) -> None:
        """Write a file that must not exist: a temporary file, which is renamed. Raises ``FileExistsError``."""
        self.publish(path, data, replaces=False)

    def overwrite(self, path: str, data: bytes) -> None:
        """Replace or create a file by a rename that replaces; a reader sees the old or the new bytes."""
        self.publish(path, data, replaces=True)

    def open_output(self, path: str) -> pa.NativeFile:
        """Open a new file for writing, which exists once it is closed. Raises ``FileExistsError`` when it is closed.

        Until then, its bytes are in memory, or on the local disk if there are many.
        """
        return PythonFile(_WholeUpload(self, checked_path(path)), mode="w")

    def status(self, path: str) -> FileStatus | None:
        """Return the status of a path; ``None`` if nothing exists there."""
        found = self._found(path)
        return None if found is None else _status(base_name(path), found)

    def list_hidden(self, directory: str) -> list[FileStatus]:
        """Return the children of a directory that ``list`` omits, sorted by name."""
        return self._children(directory, is_hidden)

    def list(self, directory: str) -> list[FileStatus]:
        """Return the children of a directory except hidden ones, sorted by name; empty if it does not exist."""
        return self._children(directory, lambda name: not is_hidden(name))

    def delete(self, path: str) -> None:
        """Delete a file; do nothing if it does not exist."""
        # The request deletes an empty directory as well.
        if (found := self._found(path)) is not None:
            if found["type"] == "DIRECTORY":
                raise IsADirectoryError(errno.EISDIR, "expected a file, found a directory", shown_paths(path))
            self.cluster.ask("DELETE", path, "DELETE", recursive="false")

    def delete_tree(self, directory: str) -> None:
        """Delete a directory and its contents, in one step; do nothing if it does not exist."""
        found = self._found(directory)
        if found is not None and found["type"] == "FILE":
            raise NotADirectoryError(errno.ENOTDIR, "expected a directory, found a file", shown_paths(directory))
        if found is not None:
            self.cluster.ask("DELETE", directory, "DELETE", recursive="true")

    def delete_empty_directory(self, directory: str) -> bool:
        """Delete a directory if it is empty. Return whether it was deleted."""
        found = self._found(directory)
        if found is None:
            return False
        if found["type"] == "FILE":
            raise NotADirectoryError(errno.ENOTDIR, "expected a directory, found a file", shown_paths(directory))
        try:
            is_deleted = self.cluster.ask("DELETE", directory, "DELETE", recursive="false")["boolean"]
        except OSError as error:
            if error.errno == errno.ENOTEMPTY:
                return False
            raise
        # The answer to the request that deleted it may have been lost.
        return bool(is_deleted) or self._found(directory) is None

    def rename_directory(self, source: str, target: str) -> None:
        """Move a directory, in one step. Raises ``FileExistsError`` if the target exists."""
        found = self._found(source)
        if found is None or found["type"] != "DIRECTORY":
            raise FileNotFoundError(errno.ENOENT, "no such directory", shown_paths(source))
        if f"{checked_path(target)}/".startswith(f"{source}/"):
            raise OSError(errno.EINVAL, "a directory cannot be moved below itself", shown_paths(target))
        self.make_directory(parent(target))

        def has_moved() -> bool:
            there = self._found(target)
            return there is not None and there["fileId"] == found["fileId"]

        self._rename(source, target, has_moved, replaces=False)

    def make_directory(self, directory: str) -> None:
        """Create a directory and its parents; do nothing if it exists."""
        try:
            self.cluster.ask("PUT", directory, "MKDIRS")
        except FileExistsError as error:
            raise NotADirectoryError(
                errno.ENOTDIR, "a file has the name of a directory", shown_paths(directory)
            ) from error

    # --- parts ------------------------------------------------------------------------------------------------------

    def publish(self, path: str, body: bytes | IO[bytes], *, replaces: bool) -> None:
        """Write a file under a temporary name, then rename it."""
        temporary = self.cluster.repeated(path, partial(self._write_temporary, checked_path(path), body))
        try:
            self._rename(temporary, path, lambda: self._found(temporary) is None, replaces=replaces)
        except BaseException as error:
            # After it, a rename that is still on its way finds nothing to move.
            self._discard(temporary)
            if isinstance(error, OSError) and error.errno == errno.EIO:
                self._refuse_directory(path, error, replaces=replaces)
            raise

    def _refuse_directory(self, path: str, error: OSError, *, replaces: bool) -> None:
        """Say what is in the way of a file, for which HDFS has no exception of its own."""
        found = self._found(path)
        if found is not None and found["type"] == "DIRECTORY":
            if replaces:
                raise IsADirectoryError(
                    errno.EISDIR, "expected a file, found a directory", shown_paths(path)
                ) from error
            raise FileExistsError(errno.EEXIST, "a directory has the name of the file", shown_paths(path)) from error

    def _write_temporary(self, path: str, body: bytes | IO[bytes], namenode: str) -> str:
        # Each attempt has a name of its own: an earlier one may still be written.
        temporary = sibling(path, temporary_name(base_name(path), self.ids.uuid()))
        try:
            self.cluster.write(namenode, temporary, body)
        except BaseException:
            self._discard(temporary)
            raise
        return temporary

    def _discard(self, temporary: str) -> None:
        namenode = self.cluster.current
        with suppress(OSError, require("urllib3").exceptions.HTTPError):
            self.cluster.ask_one(namenode, "DELETE", temporary, "DELETE", recursive="false")

    def _rename(self, source: str, target: str, has_moved: Callable[[], bool], *, replaces: bool) -> None:
        """Rename in one step. ``has_moved`` tells, after an answer was lost, whether the request was executed."""
        wanted = {"destination": self.cluster.inner(target), "renameoptions": "OVERWRITE" if replaces else "NONE"}
        asked = False

        def step(namenode: str) -> Any:  # noqa: ANN401 - the answer has no content
            nonlocal asked
            is_first, asked = not asked, True
            try:
                return self.cluster.ask_one(namenode, "PUT", source, "RENAME", **wanted)
            except (FileNotFoundError, FileExistsError):
                if is_first or not has_moved():
                    raise

        try:
            answer = self.cluster.repeated(target, step)
        except FileExistsError as error:
            raise FileExistsError(errno.EEXIST, "the target exists", shown_paths(target)) from error
        if answer:
            message = f"{self.cluster.current} does not know 'renameoptions'; give the address of a namenode"
            raise OSError(errno.EOPNOTSUPP, message, shown_paths(target))

    def _found(self, path: str) -> Status | None:
        try:
            status: Status = self.cluster.ask("GET", checked_path(path), "GETFILESTATUS")["FileStatus"]
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status

    def _file(self, path: str) -> Status:
        found = self._found(path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", shown_paths(path))
        if found["type"] == "DIRECTORY":
            raise IsADirectoryError(errno.EISDIR, "expected a file, found a directory", shown_paths(path))
        if found["type"] != "FILE":
            raise UnexpectedKind(errno.EINVAL, "expected a file, found a symbolic link", shown_paths(path))
        return found

    def _children(self, directory: str, is_wanted: Callable[[str], bool]) -> _Listing:
        found: list[Status] = []
        left = 1
        while left:
            after = {"startAfter": found[-1]["pathSuffix"]} if found else {}
            try:
                listing = self.cluster.ask("GET", checked_path(directory), "LISTSTATUS_BATCH", **after)
            except FileNotFoundError:
                break
            part = listing["DirectoryListing"]["partialListing"]["FileStatuses"]["FileStatus"]
            found += part
            left = listing["DirectoryListing"]["remainingEntries"] if part else 0
        if found and not found[0]["pathSuffix"]:
            raise NotADirectoryError(errno.ENOTDIR, "expected a directory, found a file", shown_paths(directory))
        children = [_status(child["pathSuffix"], child) for child in found if is_wanted(child["pathSuffix"])]
        return sorted(children, key=lambda status: status.name)


class _WholeUpload(Upload):
    """Sends a file in one piece when it is closed."""

    def __init__(self, store: HdfsFileIO, path: str) -> None:
        super().__init__()
        self._store = store
        self._path = path
        self._held = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 - _finish() closes it

    def _take(self, data: memoryview) -> None:
        self._held.write(data)

    def _finish(self) -> None:
        with self._held as body:
            self._store.publish(self._path, body, replaces=False)


@dataclass(frozen=True, slots=True)
class HdfsLocation:
    """The cluster that the URI of a warehouse names, and the options."""

    scheme: str
    authority: str
    options: HdfsOptions


def location_of(options: HdfsOptions, uri: str) -> HdfsLocation:
    """Return the cluster of a warehouse.

    Raises:
        InvalidOption: the URI names no namenode, or a user.
    """
    scheme, _, rest = uri.partition("://")
    authority = rest.partition("/")[0]
    if not authority:
        raise InvalidOption(WAREHOUSE.key, f"names no namenode; expected '{scheme}://namenode:port/path'")
    if "@" in authority:
        raise InvalidOption(WAREHOUSE.key, "names a user; give it in the option 'hadoop.username'")
    return HdfsLocation(scheme.lower(), authority, options)


def open_hdfs(location: HdfsLocation) -> HdfsFileIO:
    """Open the store; no request is made.

    Raises:
        PackageMissing: urllib3 is not installed.
        InvalidOption: the address of WebHDFS is missing.
    """
    require("urllib3")
    given = location.options.http_address
    if given is None and location.scheme == _NATIVE:
        message = (
            "is required for 'hdfs://': the host and port of the namenode's web interface, such as 'namenode:9870', "
            "through which the files are read and written"
        )
        raise InvalidOption(HTTP_ADDRESS.key, message)
    namenodes = tuple(_with_port(part.strip()) for part in (given or location.authority).split(",") if part.strip())
    user = location.options.user or os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    return HdfsFileIO(location.scheme, WebHdfs(f"/{location.authority}", namenodes, user))


def _with_port(address: str) -> str:
    """Return the host and port of a namenode's web interface.

    >>> _with_port("namenode"), _with_port("http://namenode:50070/")
    ('namenode:9870', 'namenode:50070')
    """
    host = address.removeprefix("http://").rstrip("/")
    return host if ":" in host else f"{host}:{_DEFAULT_PORT}"


def _status(name: str, found: Status) -> FileStatus:
    if found["type"] == "DIRECTORY":
        return FileStatus(name, 0, 0, is_directory=True)
    is_link = found["type"] == "SYMLINK"
    # HDFS can be configured not to keep access times; it then answers 0.
    accessed_ms = found.get("accessTime") or None
    return FileStatus(
        name, found["length"], found["modificationTime"], False, is_link, is_link, accessed_ms, found.get("owner")
    )
