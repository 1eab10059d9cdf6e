"""Lists the files below a location as rows of an object table (Java ``ObjectRefresh`` of release 1.0)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from table_format.errors import InvalidData
from table_format.io.file_io import DeepListing, FileIO, FileStatus
from table_format.io.locations import Location
from table_format.io.paths import parent
from table_format.model.arrow_calls import arrow_array
from table_format.object_table.columns import ARROW


def listed(location: Location) -> pa.Table:
    """Return a row for each file below the location, sorted by path; none if the location does not exist.

    Hidden files are rows, as in Java. Links to files count as files; links to directories are not followed. Pipes,
    sockets, devices and links that lead nowhere are left out.

    Raises:
        OSError: the store failed, or the location is a file.
        InvalidData: a name is not text in UTF-8.
    """
    found = sorted(((location.uri_of(path), status) for path, status in _files(location)), key=lambda file: file[0])
    columns = [_column([_value(name, uri, status) for uri, status in found], ARROW.field(name)) for name in ARROW.names]
    return pa.Table.from_arrays(columns, schema=ARROW)


def _files(location: Location) -> Iterable[tuple[str, FileStatus]]:
    if isinstance(location.io, DeepListing):
        return location.io.list_files(location.path)
    return _files_below(location.io, location.path)


def _files_below(io: FileIO, directory: str) -> Iterator[tuple[str, FileStatus]]:
    waiting = [directory]
    while waiting:
        current = waiting.pop()
        for child in (*io.list(current), *io.list_hidden(current)):
            path = f"{current.rstrip('/')}/{child.name}"
            if child.is_directory:
                # A link can lead to a directory that contains it.
                waiting += [] if child.is_link else [path]
            elif not child.is_special:
                yield path, child


def _value(name: str, uri: str, status: FileStatus) -> Any:  # noqa: ANN401 - by the type of the column
    match name:
        case "path":
            return uri
        case "parent_path":
            return parent(uri)
        case "name":
            return status.name
        case "length":
            return status.size
        case "mtime":
            return status.modified_ms
        case "atime":
            return status.accessed_ms
        case "owner":
            return status.owner
        case "metadata":
            return []
        case _:
            return None  # no file system tells it


def _column(values: list[Any], field: pa.Field) -> pa.Array:
    try:
        return arrow_array(values, field.type)
    except UnicodeEncodeError as error:
        odd = next(value for value in values if not _is_utf8(value))
        message = f"the name of a file, {odd!r}, is not text in UTF-8, so it cannot be a row; rename it"
        raise InvalidData(message) from error


def _is_utf8(value: str) -> bool:
    return value.encode(errors="ignore").decode() == value
