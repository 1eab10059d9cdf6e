"""Dropping tables and databases: they disappear in one step, then their files are deleted one by one.

Order of effects: 1 the directory gets a hidden name, and the table is gone  2 its files are deleted. A drop that
fails in the first step has done nothing. A drop that fails later leaves a hidden directory that nobody reads.
Repeating the drop, or dropping the database, deletes the rest.

An object store cannot rename a directory. There, the order is: 1 a hidden notice announces the drop  2 the schemas are
deleted, the latest last, and the table is gone  3 its other files are deleted, and the notice. After a failure the
notice remains. Until the drop is repeated, no table is created in the directory, because it would find the files of
the dropped one.

If the directory of a table or database is a symbolic link, only the link is removed and its target stays. Links
inside the directory are removed and never followed. A drop deletes nothing outside the directory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from table_format.errors import BadEncoding, ConflictError
from table_format.io.file_io import FileIO, ObjectStore
from table_format.io.paths import (
    TablePaths,
    base_name,
    database_name_of,
    dropped_directory,
    is_dropped,
    parent,
    schema_id_of,
    sibling,
)
from table_format.io.regular_files import read_file
from table_format.io.table_store import TableStore
from table_format.metastore.references.branch_list import branch_names
from table_format.runtime import Ids


def drop_directory(io: FileIO, directory: str, ids: Ids) -> None:
    """Drop the directory of a table or a database.

    Raises:
        FileNotFoundError: the directory does not exist.
        OSError: the store failed; the message says if the directory is already gone and only files are left.
    """
    found = io.status(directory)
    if found is not None and found.is_link:
        io.delete(directory)
        return
    aside = dropped_directory(directory, ids.uuid())
    if isinstance(io, ObjectStore):
        io.create(aside, base_name(directory).encode())
        _delete_announced(io, directory)
        return
    io.rename_directory(directory, aside)
    _delete(io, aside)


def drop_existing_directory(io: FileIO, directory: str, ids: Ids) -> None:
    """Drop the directory of a table or a database; do nothing if it does not exist. Raises ``OSError``."""
    with suppress(FileNotFoundError):  # another process has just dropped it
        if io.status(directory) is not None:
            drop_directory(io, directory, ids)


def drop_empty_directory(io: FileIO, directory: str, ids: Ids) -> bool:
    """Drop the directory of a database that has nothing in it. Return whether it had nothing.

    Raises:
        OSError: the store failed.
    """
    if not isinstance(io, ObjectStore):
        return io.delete_empty_directory(directory)
    # While the notice is there, nobody creates a table in it: one that is not listed now does not appear later.
    notice = dropped_directory(directory, ids.uuid())
    io.create(notice, base_name(directory).encode())
    if io.list(directory) or io.list_hidden(directory):
        io.delete(notice)
        return False
    _delete_announced(io, directory)
    return True


def delete_remains(io: FileIO, directory: str) -> bool:
    """Delete the remains of earlier drops of a directory. Return whether there were any. Raises ``OSError``."""
    found = _remains(io, directory)
    if not found:
        return False
    if isinstance(io, ObjectStore):
        _delete_announced(io, directory)
    else:
        for path in found:
            _delete(io, path)
    return True


def delete_all_remains(io: FileIO, directory: str) -> None:
    """Delete the remains of all earlier drops within a directory. Raises ``OSError``."""
    for child in io.list_hidden(directory):
        if is_dropped(child.name):
            path = f"{directory}/{child.name}"
            if isinstance(io, ObjectStore):
                _delete_announced(io, _announced(io, path))
            else:
                _delete(io, path)


def refuse_remains(io: FileIO, directory: str) -> None:
    """Refuse a directory of which a drop has not deleted all files, so that a new table does not find them.

    Raises:
        ConflictError: names the directory.
    """
    if isinstance(io, ObjectStore) and _remains(io, directory):
        message = (
            f"{directory} was dropped, but not all of its files are deleted yet; wait for the drop, or drop it again "
            "to delete the rest"
        )
        raise ConflictError(message)


def _remains(io: FileIO, directory: str) -> Sequence[str]:
    where, name = parent(directory), base_name(directory)
    return [f"{where}/{child.name}" for child in io.list_hidden(where) if is_dropped(child.name, of=name)]


def _delete_announced(io: FileIO, directory: str) -> None:
    """Delete a directory of an object store, then the notices of its drop."""
    for path in _schemas(io, directory):
        io.delete(path)
    _delete(io, directory)
    for notice in _remains(io, directory):
        io.delete(notice)


def _schemas(io: FileIO, directory: str) -> Iterator[str]:
    """Yield the schemas of a table, or of the tables of a database: those of a table first, the latest one last.

    As long as its latest schema exists, a table is read without a file that it needs, or not at all.
    """
    is_database = database_name_of(base_name(directory)) is not None
    roots = [f"{directory}/{child.name}" for child in io.list(directory)] if is_database else [directory]
    for root in roots:
        paths = TablePaths(root)
        branches = branch_names(TableStore(io, paths))
        for own in (paths, *map(paths.for_branch, branches)):
            ids = [schema_id_of(child.name) for child in io.list(own.schema_directory)]
            yield from map(own.schema, sorted(schema_id for schema_id in ids if schema_id is not None))


def _announced(io: FileIO, notice: str) -> str:
    """Return the directory that a notice is about."""
    name = read_file(io, notice).decode(errors="replace")
    if not is_dropped(base_name(notice), of=name):
        raise BadEncoding(notice, f"expected the name of the directory that was dropped, found {name!r}")
    return sibling(notice, name)


def _delete(io: FileIO, directory: str) -> None:
    try:
        io.delete_tree(directory)
    except OSError as error:
        message = (
            f"it was dropped, but not all of its files could be deleted ({error}); drop it again to delete the rest"
        )
        raise OSError(error.errno, message, directory) from error
