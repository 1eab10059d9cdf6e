"""The directory of a table as one thing: moved, or dropped with all that is in it."""

from __future__ import annotations

from contextlib import suppress

from table_format.catalog.dropping import delete_remains, drop_directory
from table_format.catalog.named_catalog import has_schema
from table_format.errors import UnsupportedFeature
from table_format.io.file_io import FileIO, ObjectStore
from table_format.io.paths import TablePaths
from table_format.io.table_store import TableStore
from table_format.runtime import Ids


def holds_table(io: FileIO, root: str) -> bool:
    """Return whether a directory has a schema."""
    return has_schema(TableStore(io, TablePaths(root)))


def move_table(io: FileIO, table: str, source: str, target: str) -> None:
    """Move the directory of a table in one step; see ``TableNames.rename_table``.

    Raises:
        UnsupportedFeature: the table is in an object store.
    """
    if isinstance(io, ObjectStore):
        message = (
            f"cannot rename table '{table}': an object store would have to copy every file, and would lose what others "
            "commit meanwhile; create the new table, copy the rows, and drop the old one"
        )
        feature = "RENAME TABLE in an object store"
        raise UnsupportedFeature(feature, message)
    if not holds_table(io, target):
        # A rename that was killed may have left a directory under the new name.
        io.delete_empty_directory(target)
    io.rename_directory(source, target)


def drop_table_directory(io: FileIO, root: str, ids: Ids) -> bool:
    """Drop the directory of a table, or the remains of an earlier drop; see ``TableNames.drop_table``."""
    found = io.status(root)
    with suppress(FileNotFoundError):  # another process has just dropped it
        if found is not None and (found.is_broken_link or holds_table(io, root)):
            drop_directory(io, root, ids)
            return True
    return delete_remains(io, root)
