"""The catalog of a directory tree: ``<warehouse>/<database>.db/<table>`` (format chapter 15, section 1).

The name of a table determines its directory. Java ``FileSystemCatalog``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from table_format.catalog.dropping import (
    delete_all_remains,
    delete_remains,
    drop_directory,
    drop_empty_directory,
    refuse_remains,
)
from table_format.catalog.named_catalog import NamedCatalog
from table_format.catalog.table_directory import drop_table_directory, holds_table, move_table
from table_format.catalog.table_names import TableName
from table_format.errors import InvalidInputError
from table_format.io.file_io import FileIO
from table_format.io.paths import database_directory, database_name_of, table_root
from table_format.runtime import Ids

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DirectoryNames:
    """The names of databases and tables, taken from directory names."""

    warehouse: str
    io: FileIO
    ids: Ids

    def databases(self) -> Iterable[str]:
        """Return the directories that are databases."""
        names = (database_name_of(child.name) for child in self.io.list(self.warehouse) if child.is_directory)
        return [name for name in names if name is not None]

    def has_database(self, database: str) -> bool:
        """Return whether the database has a directory."""
        status = self.io.status(database_directory(self.warehouse, database))
        return status is not None and status.is_directory

    def add_database(self, database: str) -> None:
        """Create the directory of a database."""
        self.io.make_directory(database_directory(self.warehouse, database))

    def drop_database(self, database: str, *, cascade: bool) -> bool:
        """Delete the directory of a database, or the remains of an earlier drop; see ``TableNames``."""
        directory = database_directory(self.warehouse, database)
        found = self.io.status(directory)
        if found is None or not (found.is_directory or found.is_broken_link):
            return delete_remains(self.io, directory)
        if cascade or found.is_link:
            drop_directory(self.io, directory, self.ids)
            return True
        delete_all_remains(self.io, directory)
        if not drop_empty_directory(self.io, directory, self.ids):
            message = (
                f"database '{database}' has no tables but other files in {directory}; a drop with cascade deletes them"
            )
            raise InvalidInputError(message)
        return True

    def tables(self, database: str) -> Iterable[str]:
        """Return the directories with a schema, and those that cannot be read, with a warning."""
        directory = database_directory(self.warehouse, database)
        children = [child.name for child in self.io.list(directory) if child.is_directory]
        return [name for name in children if self._is_listed(f"{directory}/{name}")]

    def root_of(self, name: TableName) -> str:
        """Return the directory of a table."""
        return table_root(self.warehouse, name.database, name.table)

    def add_table(self, name: TableName, write_first_schema: Callable[[str], None]) -> None:
        """Write the first schema; the directory itself is the entry.

        Raises:
            ConflictError: files of a dropped table are left in the directory, or it is being dropped.
        """
        self._refuse_remains(name)
        write_first_schema(self.root_of(name))
        # A drop that was announced after the first look deletes what was written, and may not have seen it.
        self._refuse_remains(name)

    def rename_table(self, source: TableName, target: TableName) -> None:
        """Move the directory; see ``TableNames``.

        Raises:
            UnsupportedFeature: the warehouse is in an object store.
        """
        move_table(self.io, str(source), self.root_of(source), self.root_of(target))

    def drop_table(self, name: TableName) -> bool:
        """Delete the directory of a table, or the remains of an earlier drop; see ``TableNames``."""
        return drop_table_directory(self.io, self.root_of(name), self.ids)

    def locked(self, name: TableName) -> AbstractContextManager[None]:  # noqa: ARG002 - the protocol's
        """Do nothing: each change of a directory is one atomic step."""
        return nullcontext()

    def _refuse_remains(self, name: TableName) -> None:
        refuse_remains(self.io, database_directory(self.warehouse, name.database))
        refuse_remains(self.io, self.root_of(name))

    def _is_listed(self, root: str) -> bool:
        try:
            return holds_table(self.io, root)
        except OSError as error:
            # One directory without permission must not hide all tables. Loading it raises the same error.
            _log.warning("%s is listed as a table, but it cannot be read: %s", root, error)
            return True


class FileSystemCatalog(NamedCatalog):
    """A catalog of a directory tree; see ``NamedCatalog`` for its arguments."""

    __slots__ = ()

    @property
    def names(self) -> DirectoryNames:
        """The directories of the warehouse."""
        return DirectoryNames(self.warehouse, self.io, self.runtime.ids)
