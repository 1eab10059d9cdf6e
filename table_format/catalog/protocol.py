"""The interface of a catalog: list, create, load, change and drop databases and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from table_format.format_table.table import FormatTable
from table_format.model.schema import Schema
from table_format.model.schema_change import SchemaChange
from table_format.table.system.table import SystemTable
from table_format.table.table import Table


class Catalog(Protocol):
    """A list of databases and their tables. Tables are named ``database.table``."""

    def list_databases(self) -> tuple[str, ...]:
        """Return the names of all databases, sorted.

        >>> catalog.list_databases()
        ('shop',)
        """
        ...

    def database_exists(self, name: str) -> bool:
        """Return whether a database exists.

        >>> catalog.database_exists("shop")
        True
        """
        ...

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Create an empty database.

        >>> catalog.create_database("archive")
        >>> catalog.list_databases()
        ('archive', 'shop')

        Raises:
            AlreadyExistsError: the database already exists.
            InvalidIdentifier: the name is not legal.
        """
        ...

    def drop_database(self, name: str, *, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """Drop a database; with ``cascade``, drop its tables too.

        The database disappears in one step. Symbolic links are removed and not followed; see ``drop_table``.

        >>> catalog.drop_database("shop", cascade=True)
        >>> catalog.list_databases()
        ()

        Raises:
            DatabaseNotFound: the database does not exist.
            InvalidInputError: the database is not empty.
            OSError: the store failed. Either nothing happened, or the database is gone and the message says that
                files are left; the same call deletes them.
        """
        ...

    def list_tables(self, database: str) -> tuple[str, ...]:
        """Return the names of the tables of a database, sorted.

        >>> catalog.list_tables("shop")
        ('orders',)

        Raises:
            DatabaseNotFound: there is no such database.
        """
        ...

    def table_exists(self, name: str) -> bool:
        """Return whether a table, or a branch of a table, exists.

        >>> catalog.table_exists("shop.ordrs")
        False
        """
        ...

    def create_table(self, name: str, schema: Schema, *, ignore_if_exists: bool = False) -> Table:
        """Create an empty table and load it. With ``ignore_if_exists``, load an existing table unchanged.

        With the option ``type`` = ``format-table``, a catalog in a Hive metastore creates a ``FormatTable``.

        >>> from table_format import Schema
        >>> schema = Schema.from_arrow(pa.schema([pa.field("id", pa.int64(), nullable=False)]), primary_keys=["id"])
        >>> catalog.create_table("shop.items", schema).schema.primary_keys
        ('id',)

        Raises:
            DatabaseNotFound: there is no such database.
            AlreadyExistsError: the table already exists.
            InvalidSchema, InvalidOption, UnsupportedFeature: no table can have this schema.
        """
        ...

    def load_table(self, name: str) -> Table:
        """Load ``database.table`` or ``database.table$branch_<b>``.

        The name of a system table or a format table works too, but type checkers see a ``Table``. In typed programs,
        use ``load_system_table``, or ``load_any`` if the name may be any of them.

        >>> catalog.load_table("shop.orders").scan().count()
        3

        Raises:
            TableNotFound: the table does not exist. BranchNotFound: the branch does not exist. UnsupportedFeature:
            this version has no such system table.
        """
        ...

    def load_system_table(self, name: str) -> SystemTable:
        """Load ``database.table$<system table>``, or a table of the database ``sys``.

        >>> snapshots = catalog.load_system_table("shop.orders$snapshots")
        >>> snapshots.scan(columns=["snapshot_id", "commit_kind"]).to_arrow().to_pylist()
        [{'snapshot_id': 1, 'commit_kind': 'APPEND'}, {'snapshot_id': 2, 'commit_kind': 'APPEND'}]

        Raises:
            InvalidInputError: the name is not that of a system table.
            TableNotFound, BranchNotFound, UnsupportedFeature: as for ``load_table``.
        """
        ...

    def load_any(self, name: str) -> Table | SystemTable | FormatTable:
        """Load a table, a branch, a system table or a format table; raises the errors of ``load_table``.

        >>> type(catalog.load_any("shop.orders")).__name__
        'Table'
        """
        ...

    def alter_table(self, name: str, changes: Sequence[SchemaChange] | SchemaChange) -> Table:
        """Change the schema or the options of a table, and load it.

        >>> from table_format import AddColumn
        >>> from table_format.types import DoubleType
        >>> catalog.alter_table("shop.orders", AddColumn("discount", DoubleType())).schema.field_names
        ('id', 'day', 'state', 'amount', 'discount')

        Raises:
            TableNotFound: the table does not exist. InvalidSchemaChange, InvalidOption, UnsupportedFeature: the table
            does not allow a change.
        """
        ...

    def rename_table(self, source: str, target: str) -> None:
        """Rename a table, within its database or into another.

        >>> catalog.rename_table("shop.orders", "shop.sales")
        >>> catalog.list_tables("shop")
        ('sales',)

        Raises:
            TableNotFound: ``source`` does not exist.
            AlreadyExistsError: ``target`` already exists.
        """
        ...

    def drop_table(self, name: str, *, ignore_if_not_exists: bool = False) -> None:
        """Drop a table and delete its files.

        The table disappears in one step. If its directory is a symbolic link, the link is removed and its target
        stays. Links inside the directory are removed and not followed.

        >>> catalog.drop_table("shop.orders")
        >>> catalog.list_tables("shop")
        ()

        Raises:
            TableNotFound: there is no such table.
            OSError: the store failed. Either nothing happened, or the table is gone and the message says that files
                are left; the same call deletes them.
        """
        ...
