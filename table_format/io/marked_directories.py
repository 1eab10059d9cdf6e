"""Directories of a store that ``pyarrow.fs`` does not serve: prefixes of names, and empty objects that mark them.

The name of a mark ends with a slash, as Hadoop and pyarrow write it. ``obstore`` lists marks without the slash, and
cannot ask for a name with one: a mark is the object without a name in a store of its own (``MarkClients.mark``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from pyarrow import fs

from table_format.extras import require
from table_format.io.object_store import Clients, kept_objects
from table_format.io.threads import side_by_side

_AT_ONCE: Final = 8
"""How many marks are deleted at the same time."""


class MarkClients(Clients, Protocol):
    """Clients that also reach the marks of directories."""

    def mark(self, directory: str) -> Any:  # noqa: ANN401 - a store of the optional obstore
        """Return a store whose object without a name marks the directory ``bucket/path``."""
        ...


@dataclass(frozen=True, slots=True)
class MarkedDirectories:
    """The part of ``pyarrow.fs.FileSystem`` that ``ObjectStoreFileIO`` uses. Paths begin with the bucket."""

    clients: MarkClients
    mode: Literal["create", "overwrite"] = "create"
    """How a mark is written."""

    def get_file_info(self, wanted: str | fs.FileSelector) -> Any:  # noqa: ANN401 - as in pyarrow
        """Return what a path is, or the children that a selector chooses; none if its directory does not exist."""
        if isinstance(wanted, str):
            return self._info(wanted)
        return [*(self._below(wanted.base_dir) if wanted.recursive else self._children(wanted.base_dir))]

    def create_dir(self, path: str, *, recursive: bool = True) -> None:
        """Mark a directory and its parents, except those that are marked."""
        obstore = require("obstore")
        parts = path.split("/")
        for end in range(2 if recursive else len(parts), len(parts) + 1):
            with suppress(obstore.exceptions.AlreadyExistsError):
                mark = self.clients.mark("/".join(parts[:end]))
                obstore.put(mark, "", b"", mode=self.mode, use_multipart=False)

    def delete_dir(self, path: str) -> None:
        """Delete the marks of a directory and of those below it; files stay."""
        bucket, key = _split(path)
        # An empty file can be among them. There is no mark of its name, so nothing is deleted.
        empty = [f"{bucket}/{found['path']}" for found in self._objects_below(bucket, key) if not found["size"]]
        side_by_side(self._delete_mark, empty, _AT_ONCE)

    def copy_file(self, source: str, target: str) -> None:
        """Copy a file within its bucket."""
        bucket, key = _split(source)
        require("obstore").copy(kept_objects(self.clients, bucket), key, _split(target)[1])

    def _info(self, path: str) -> fs.FileInfo:
        bucket, key = _split(path)
        if key:
            with suppress(FileNotFoundError):
                return _file(path, require("obstore").head(kept_objects(self.clients, bucket), key))
        exists = not key or next(self._objects_below(bucket, key), None) is not None
        return fs.FileInfo(path, fs.FileType.Directory if exists else fs.FileType.NotFound)

    def _children(self, path: str) -> Iterator[fs.FileInfo]:
        bucket, key = _split(path)
        found = require("obstore").list_with_delimiter(kept_objects(self.clients, bucket), key or None)
        yield from (fs.FileInfo(f"{bucket}/{name}", fs.FileType.Directory) for name in found["common_prefixes"])
        # The mark of the directory itself is listed, too.
        yield from (_file(f"{bucket}/{child['path']}", child) for child in found["objects"] if child["path"] != key)

    def _below(self, path: str) -> Iterator[fs.FileInfo]:
        bucket, key = _split(path)
        for found in self._objects_below(bucket, key):
            if found["size"] or self._is_file(bucket, found["path"]):
                yield _file(f"{bucket}/{found['path']}", found)

    def _objects_below(self, bucket: str, key: str) -> Iterator[Any]:
        """The objects whose names begin with a directory, with the marks, as ``obstore`` lists them."""
        for page in require("obstore").list(kept_objects(self.clients, bucket), key or None):
            yield from page

    def _is_file(self, bucket: str, key: str) -> bool:
        """Return whether an empty object is a file, and not a mark."""
        try:
            require("obstore").head(kept_objects(self.clients, bucket), key)
        except FileNotFoundError:
            return False
        return True

    def _delete_mark(self, path: str) -> None:
        with suppress(FileNotFoundError):
            require("obstore").delete(self.clients.mark(path), "")


def _split(path: str) -> tuple[str, str]:
    """Return the bucket and the name in it.

    >>> _split("lake/w/shop.db"), _split("lake")
    (('lake', 'w/shop.db'), ('lake', ''))
    """
    bucket, _, key = path.partition("/")
    return bucket, key


def _file(path: str, found: Any) -> fs.FileInfo:  # noqa: ANN401 - the metadata of an object of obstore
    return fs.FileInfo(path, fs.FileType.File, size=found["size"], mtime=found["last_modified"].timestamp())
