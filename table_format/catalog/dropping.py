"""Dropping tables and databases: they disappear in one step, then their files are deleted one by one.

Order of effects: 1 the directory gets a hidden name, and the table is gone  2 its files are deleted. A drop that
fails in the first step has done nothing. A drop that fails later leaves a hidden directory that nobody reads.
Repeating the drop, or dropping the database, deletes the rest.

If the directory of a table or database is a symbolic link, only the link is removed and its target stays. Links
inside the directory are removed and never followed. A drop deletes nothing outside the directory.
"""

from __future__ import annotations

from table_format.io.file_io import FileIO
from table_format.io.paths import base_name, dropped_directory, is_dropped, parent
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
    io.rename_directory(directory, aside)
    _delete(io, aside)


def delete_remains(io: FileIO, directory: str) -> bool:
    """Delete the remains of earlier drops of a directory. Return whether there were any. Raises ``OSError``."""
    where = parent(directory)
    found = [child.name for child in io.list_hidden(where) if is_dropped(child.name, of=base_name(directory))]
    for name in found:
        _delete(io, f"{where}/{name}")
    return bool(found)


def delete_all_remains(io: FileIO, directory: str) -> None:
    """Delete the remains of all earlier drops within a directory. Raises ``OSError``."""
    for child in io.list_hidden(directory):
        if is_dropped(child.name):
            _delete(io, f"{directory}/{child.name}")


def _delete(io: FileIO, aside: str) -> None:
    try:
        io.delete_tree(aside)
    except OSError as error:
        message = (
            f"it was dropped, but not all of its files could be deleted ({error}); drop it again to delete the rest"
        )
        raise OSError(error.errno, message, aside) from error
