"""The names of databases and tables in a relational database; their files stay in the warehouse.

The name of a table determines its directory. A table exists if the database lists it and its directory has a schema.

Order of effects. *Create*: the row is inserted in a transaction, the schema is written, the transaction is committed:
the row's primary key decides who creates the table, before anything is written. *Rename*: the row is changed in a
transaction, the directory is moved, the transaction is committed. *Drop*: the row is deleted, then the files.

A process that is killed in between leaves a directory that is not listed: a schema after a creation, a table under its
new name after a rename, files after a drop. ``JdbcCatalog.repair_table`` lists it again. After a rename, the old name
is listed without a directory: dropping it deletes the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from table_format.catalog.dropping import delete_remains
from table_format.catalog.filesystem import DirectoryNames
from table_format.catalog.jdbc.database import Database
from table_format.catalog.jdbc.lock import JdbcLock
from table_format.catalog.jdbc.table_properties import properties_of
from table_format.catalog.named_catalog import has_schema
from table_format.catalog.table_names import TableName
from table_format.errors import AlreadyExistsError, ConflictError, InvalidInputError
from table_format.io.paths import TablePaths, database_directory
from table_format.io.stores import uri_in_store
from table_format.io.table_store import TableStore
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.runtime import Clock

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from table_format.catalog.jdbc.rows import CatalogRows

EXISTS: Final = "exists"
LOCATION: Final = "location"
"""Properties that every database has: that it exists, and its directory."""


@dataclass(frozen=True, slots=True)
class JdbcSettings:
    """How a catalog uses its database. ``lock`` is the lock with an empty id; ``None`` without locks."""

    catalog_key: str
    syncs_properties: bool
    lock: JdbcLock | None

    def lock_of(self, table: str) -> JdbcLock | None:
        """Return the lock of ``database.table`` or ``database.table$branch_<b>``."""
        return None if self.lock is None else replace(self.lock, lock_id=f"{self.catalog_key}.{table}")


@dataclass(frozen=True, slots=True)
class JdbcNames:
    """``TableNames`` in a relational database; ``directories`` are those of the warehouse."""

    database: Database
    settings: JdbcSettings
    directories: DirectoryNames
    clock: Clock

    def databases(self) -> Iterable[str]:
        """Return the databases that have a row."""
        with self.rows() as (rows, connection):
            return rows.databases(connection)

    def has_database(self, database: str) -> bool:
        """Return whether the database has a row."""
        with self.rows() as (rows, connection):
            return rows.has_database(connection, database)

    def add_database(self, database: str) -> None:
        """List a database; its directory is created with the first table."""
        directories = self.directories
        location = uri_in_store(directories.io, database_directory(directories.warehouse, database))
        try:
            with self.rows() as (rows, connection):
                rows.insert_database(connection, database, {EXISTS: "true", LOCATION: location})
        except AlreadyExistsError:
            return

    def drop_database(self, database: str, *, cascade: bool) -> bool:
        """Delete the rows of a database, then its directory; see ``TableNames``."""
        with self.rows() as (rows, connection):
            views = rows.views(connection, database)
            tables, properties, _ = rows.delete_database(connection, database)
            is_listed = tables + properties + len(views) > 0
            if (tables or views) and not cascade:
                found = f"it has the view {', '.join(sorted(views))}" if views else "a table was created"
                message = f"database '{database}' is not empty: {found}; drop it with cascade"
                raise InvalidInputError(message)
            if is_listed and not cascade:
                # It refuses a directory with other files; then the rows stay.
                self.directories.drop_database(database, cascade=False)
        if is_listed and cascade:
            self.directories.drop_database(database, cascade=True)
        remains = database_directory(self.directories.warehouse, database)
        return is_listed or delete_remains(self.directories.io, remains)

    def tables(self, database: str) -> Iterable[str]:
        """Return the tables that have a row."""
        with self.rows() as (rows, connection):
            return rows.tables(connection, database)

    def root_of(self, name: TableName) -> str | None:
        """Return the directory of a table that has a row."""
        with self.rows() as (rows, connection):
            return self.directories.root_of(name) if rows.has_table(connection, name) else None

    def add_table(self, name: TableName, write_first_schema: Callable[[str], None]) -> None:
        """Insert the row and write the first schema; see ``TableNames``.

        Raises:
            ConflictError: the directory holds a table that is not listed.
        """
        with self.locked(name), self.rows() as (rows, connection):
            rows.insert_table(connection, name)
            if has_schema(self._store(name)):
                message = (
                    f"{self.directories.root_of(name)} holds a table that {self.database.address} does not list: "
                    "another process is creating or dropping it, or was interrupted. List it with repair_table, or "
                    "delete the directory"
                )
                raise ConflictError(message)
            self.directories.add_table(name, write_first_schema)
            self._sync_properties(rows, connection, name)

    def rename_table(self, source: TableName, target: TableName) -> None:
        """Change the row and move the directory; see ``TableNames``."""
        with self.rows() as (rows, connection):
            try:
                is_renamed = rows.rename_table(connection, source, target)
            except AlreadyExistsError as error:
                raise FileExistsError(str(target)) from error
            if not is_renamed:
                raise FileNotFoundError(str(source))
            self.directories.rename_table(source, target)

    def drop_table(self, name: TableName) -> bool:
        """Delete the row of a table, then its directory, or the remains of an earlier drop; see ``TableNames``."""
        with self.rows() as (rows, connection):
            is_listed = rows.delete_table(connection, name)
        if not is_listed:
            return delete_remains(self.directories.io, self.directories.root_of(name))
        try:
            self.directories.drop_table(name)
        except OSError as error:
            if not has_schema(self._store(name)):
                raise
            message = (
                f"the table is no longer listed, but its directory could not be dropped ({error}); list it again with "
                "repair_table, and drop it again"
            )
            raise OSError(error.errno, message, self.directories.root_of(name)) from error
        return True

    @contextmanager
    def locked(self, name: TableName) -> Iterator[None]:
        """Hold the lock of the table, if the catalog has locks."""
        lock = self.settings.lock_of(str(name))
        with nullcontext() if lock is None else lock.held(self.clock):
            yield

    # --- beyond ``TableNames`` --------------------------------------------------------------------------------------

    def database_properties(self, database: str) -> Mapping[str, str]:
        """Return all properties of a database, with those that Java adds."""
        with self.rows() as (rows, connection):
            return rows.database_properties(connection, database)

    def set_database_properties(self, database: str, changes: Mapping[str, str | None]) -> None:
        """Set properties, and remove those whose value is ``None``, in one step."""
        with self.rows() as (rows, connection):
            rows.delete_database_properties(connection, database, list(changes))
            kept = {key: value for key, value in changes.items() if value is not None}
            rows.insert_database(connection, database, kept)

    def sync_properties(self, name: TableName) -> None:
        """Copy the options and keys of a table to the database, if the catalog does so."""
        with self.rows() as (rows, connection):
            self._sync_properties(rows, connection, name)

    def list_table(self, name: TableName) -> bool:
        """List the table in a directory, and its database, unless they are listed. Return whether the table was not.

        Raises:
            FileNotFoundError: the directory has no schema.
        """
        if not has_schema(self._store(name)):
            raise FileNotFoundError(self.directories.root_of(name))
        self.add_database(name.database)
        with self.rows() as (rows, connection):
            is_listed = rows.has_table(connection, name)
            if not is_listed:
                rows.insert_table(connection, name)
            self._sync_properties(rows, connection, name)
        return not is_listed

    @contextmanager
    def rows(self) -> Iterator[tuple[CatalogRows, Connection]]:
        """Open the rows of this catalog in one transaction."""
        from table_format.catalog.jdbc.rows import CatalogRows

        with self.database.transaction() as connection:
            yield CatalogRows(self.settings.catalog_key, self.database.address.kind), connection

    def _sync_properties(self, rows: CatalogRows, connection: Connection, name: TableName) -> None:
        if self.settings.syncs_properties:
            schema = SchemaStore(self._store(name)).latest()
            rows.set_table_properties(connection, name, properties_of(schema))

    def _store(self, name: TableName) -> TableStore:
        return TableStore(self.directories.io, TablePaths(self.directories.root_of(name)))
