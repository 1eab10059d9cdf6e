"""What a catalog can do: find, make and remove databases and tables, whatever it keeps its list in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from table_format.model.schema import Schema
from table_format.model.schema_change import SchemaChange
from table_format.table.system.table import SystemTable
from table_format.table.table import Table


class Catalog(Protocol):
    """Databases of tables. Tables are named ``database.table``."""

    def list_databases(self) -> tuple[str, ...]:
        """The names of all databases, sorted."""
        ...

    def database_exists(self, name: str) -> bool:
        """Whether there is a database of that name."""
        ...

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Make an empty database.

        Raises:
            AlreadyExistsError: there is one of that name.
            InvalidIdentifier: the name is not legal.
        """
        ...

    def drop_database(self, name: str, *, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """Remove a database; with ``cascade`` together with its tables.

        It disappears in one step. Symbolic links are removed and not followed; see ``drop_table``.

        Raises:
            DatabaseNotFound: there is none of that name.
            InvalidInputError: it is not empty.
            OSError: the store failed; either nothing happened, or the database is gone and the message says that files
                are left, which the same call deletes when it is made again.
        """
        ...

    def list_tables(self, database: str) -> tuple[str, ...]:
        """The names of the tables of a database, sorted.

        Raises:
            DatabaseNotFound: there is no such database.
        """
        ...

    def table_exists(self, name: str) -> bool:
        """Whether there is a table, or a branch of it, of that name."""
        ...

    def create_table(self, name: str, schema: Schema, *, ignore_if_exists: bool = False) -> Table:
        """Make an empty table and open it; an existing one is opened as it is with ``ignore_if_exists``.

        Raises:
            DatabaseNotFound: there is no such database.
            AlreadyExistsError: there is a table of that name.
            InvalidSchema, InvalidOption, UnsupportedFeature: no table can have this schema.
        """
        ...

    def load_table(self, name: str) -> Table | SystemTable:
        """Open ``database.table``, ``database.table$branch_<b>`` or ``database.table$<system table>``.

        Raises:
            TableNotFound: there is no such table.
            BranchNotFound: the table has no such branch.
            UnsupportedFeature: there is no such system table in this version.
        """
        ...

    def alter_table(self, name: str, changes: Sequence[SchemaChange] | SchemaChange) -> Table:
        """Change the schema or the options of a table and open it.

        Raises:
            TableNotFound: there is no such table.
            InvalidSchemaChange, InvalidOption, UnsupportedFeature: the table does not admit a change.
        """
        ...

    def rename_table(self, source: str, target: str) -> None:
        """Give a table another name, in the same or another database.

        Raises:
            TableNotFound: there is no table ``source``.
            AlreadyExistsError: there is a table ``target``.
        """
        ...

    def drop_table(self, name: str, *, ignore_if_not_exists: bool = False) -> None:
        """Remove a table with all its files.

        It disappears in one step. A table directory that is a symbolic link is removed as a link, and what it leads to
        stays; links inside the directory are removed and not followed.

        Raises:
            TableNotFound: there is no such table.
            OSError: the store failed; either nothing happened, or the table is gone and the message says that files are
                left, which the same call deletes when it is made again.
        """
        ...
