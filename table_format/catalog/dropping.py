"""How tables and databases disappear: in one step, and only then file by file.

Order of effects: 1 the directory gets a hidden name, and with that the table is gone  2 what is in it is deleted. A
drop that fails before the first step has done nothing; one that fails after it leaves a hidden directory that nobody
reads, and the same drop done again, or the drop of the database, deletes the rest.

A table or database directory that is a symbolic link is dropped as a link: what it leads to stays as it is. Links
inside are removed and never followed. So a drop deletes nothing outside the directory that was named.
"""

from __future__ import annotations

from table_format.io.file_io import FileIO
from table_format.io.paths import base_name, dropped_directory, is_dropped, parent
from table_format.runtime import Ids


def drop_directory(io: FileIO, directory: str, ids: Ids) -> None:
    """Drop the directory of a table or a database.

    Raises:
        FileNotFoundError: there is none.
        OSError: the store failed; the message says when the directory is gone already and only files are left.
    """
    found = io.status(directory)
    if found is not None and found.is_link:
        io.delete(directory)
        return
    aside = dropped_directory(directory, ids.uuid())
    io.rename_directory(directory, aside)
    _delete(io, aside)


def delete_remains(io: FileIO, directory: str) -> bool:
    """Delete what drops of that directory have left behind; whether there was something. Raises ``OSError``."""
    where = parent(directory)
    found = [child.name for child in io.list_hidden(where) if is_dropped(child.name, of=base_name(directory))]
    for name in found:
        _delete(io, f"{where}/{name}")
    return bool(found)


def delete_all_remains(io: FileIO, directory: str) -> None:
    """Delete what drops of anything in a directory have left behind. Raises ``OSError``."""
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
