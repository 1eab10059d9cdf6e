"""The catalog that is its directory tree: ``<warehouse>/<database>.db/<table>`` (format chapter 15, section 1).

A name leads to a directory by itself. Java ``FileSystemCatalog``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass

from table_format.catalog.dropping import delete_all_remains, delete_remains, drop_directory
from table_format.catalog.named_catalog import NamedCatalog, has_schema
from table_format.catalog.table_names import TableName
from table_format.errors import InvalidInputError
from table_format.io.file_io import FileIO
from table_format.io.paths import TablePaths, database_directory, database_name_of, table_root
from table_format.io.table_store import TableStore
from table_format.runtime import Ids


@dataclass(frozen=True, slots=True)
class DirectoryNames:
    """``TableNames`` that are the names of directories."""

    warehouse: str
    io: FileIO
    ids: Ids

    def databases(self) -> Iterable[str]:
        """The directories with a name of a database."""
        names = (database_name_of(child.name) for child in self.io.list(self.warehouse) if child.is_directory)
        return [name for name in names if name is not None]

    def has_database(self, database: str) -> bool:
        """Whether the database has a directory."""
        status = self.io.status(database_directory(self.warehouse, database))
        return status is not None and status.is_directory

    def add_database(self, database: str) -> None:
        """Make the directory of a database."""
        self.io.make_directory(database_directory(self.warehouse, database))

    def drop_database(self, database: str, *, cascade: bool) -> bool:
        """Delete the directory of a database, or what an earlier drop left of it; see ``TableNames``."""
        directory = database_directory(self.warehouse, database)
        found = self.io.status(directory)
        if found is None or not (found.is_directory or found.is_broken_link):
            return delete_remains(self.io, directory)
        if cascade or found.is_link:
            drop_directory(self.io, directory, self.ids)
            return True
        delete_all_remains(self.io, directory)
        if not self.io.delete_empty_directory(directory):
            message = (
                f"database '{database}' has no table but other files in {directory}; say cascade=True to delete them"
            )
            raise InvalidInputError(message)
        return True

    def tables(self, database: str) -> Iterable[str]:
        """The directories with a schema."""
        directory = database_directory(self.warehouse, database)
        children = [child.name for child in self.io.list(directory) if child.is_directory]
        return [name for name in children if self._is_table(f"{directory}/{name}")]

    def root_of(self, name: TableName) -> str:
        """The directory of that name."""
        return table_root(self.warehouse, name.database, name.table)

    def add_table(self, name: TableName, write_first_schema: Callable[[str], None]) -> None:
        """Write the first schema: there is nothing else to a name."""
        write_first_schema(self.root_of(name))

    def rename_table(self, source: TableName, target: TableName) -> None:
        """Move the directory; see ``TableNames``."""
        if not self._is_table(self.root_of(target)):
            # What a rename that was killed has left of the new name.
            self.io.delete_empty_directory(self.root_of(target))
        self.io.rename_directory(self.root_of(source), self.root_of(target))

    def drop_table(self, name: TableName) -> bool:
        """Delete the directory of a table, or what an earlier drop left of it; see ``TableNames``."""
        root = self.root_of(name)
        found = self.io.status(root)
        with suppress(FileNotFoundError):  # somebody else has just dropped it
            if found is not None and (found.is_broken_link or self._is_table(root)):
                drop_directory(self.io, root, self.ids)
                return True
        return delete_remains(self.io, root)

    def locked(self, name: TableName) -> AbstractContextManager[None]:  # noqa: ARG002 - the protocol's
        """Nothing: each change of a directory is one atomic step."""
        return nullcontext()

    def _is_table(self, root: str) -> bool:
        return has_schema(TableStore(self.io, TablePaths(root)))


class FileSystemCatalog(NamedCatalog):
    """The catalog of a directory tree; see ``NamedCatalog`` for what it is made from."""

    __slots__ = ()

    @property
    def names(self) -> DirectoryNames:
        """The directories of the warehouse."""
        return DirectoryNames(self.warehouse, self.io, self.runtime.ids)
