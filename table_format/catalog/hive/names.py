"""The names of databases and tables in a Hive metastore; their files stay in the warehouse.

A table exists if the metastore lists it as one of this format and its location has a schema.

Order of effects. *Create*: the schema is written, and decides who creates the table; then the metastore lists it.
*Rename*: the directory is moved, then the metastore gets the new name and location in one step. *Drop*: the metastore
forgets the table, then its files are deleted. A change that the metastore refuses is undone in the files.

A process that is killed in between leaves a directory that is not listed: a schema after a creation, a table under its
new name after a rename, files after a drop. ``HiveCatalog.repair_table`` lists it again. After a rename, the old name
is listed without a directory: dropping it deletes the entry.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from table_format.catalog.database_location import LOCATION
from table_format.catalog.dropping import (
    delete_all_remains,
    delete_remains,
    drop_directory,
    drop_empty_directory,
    drop_existing_directory,
    refuse_remains,
)
from table_format.catalog.hive.database_properties import properties_of
from table_format.catalog.hive.entries import Entries, is_lower_case
from table_format.catalog.hive.format_entries import is_created_as_format_table
from table_format.catalog.hive.hive_table import described, is_external, is_listed_as_external, is_paimon, is_view
from table_format.catalog.hive.locations import Locations
from table_format.catalog.hive.metastore import Metastore, Refused
from table_format.catalog.hive.settings import HiveSettings
from table_format.catalog.table_directory import drop_table_directory, holds_table, move_table
from table_format.catalog.table_names import TableName
from table_format.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidIdentifier,
    InvalidInputError,
    MetastoreUnavailable,
)
from table_format.io.file_io import FileIO
from table_format.io.paths import TablePaths, database_directory
from table_format.io.stores import uri_in_store
from table_format.io.table_store import TableStore
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.identifier import SYSTEM_DATABASE, check_name
from table_format.runtime import Runtime

_DEFAULT: Final = "default"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HiveNames:
    """``TableNames`` in a Hive metastore."""

    metastore: Metastore
    settings: HiveSettings
    warehouse: str
    io: FileIO
    runtime: Runtime

    @property
    def entries(self) -> Entries:
        """The databases and tables of the metastore."""
        locations = Locations(self.io, self.settings.locations_in_properties)
        return Entries(self.metastore, locations, self.settings)

    # --- databases --------------------------------------------------------------------------------------------------

    def databases(self) -> Iterable[str]:
        """Return the databases; Hive's own ``sys`` has the name of that of the catalog."""
        return [name for name in self.entries.databases() if name != SYSTEM_DATABASE]

    def has_database(self, database: str) -> bool:
        """Return whether the metastore has the database."""
        return self.entries.database(database) is not None

    def add_database(self, database: str) -> None:
        """Create a database without properties."""
        self.create_database(database, {})

    def create_database(self, database: str, properties: Mapping[str, str]) -> None:
        """Create a database with properties, among them its location; do nothing if it exists."""
        require_lower_case(database, "database")
        location = properties.get(LOCATION)
        given = None if location is None else self.entries.locations.path_of(location)
        self.entries.create_database(database, given or self._new_directory(database), properties)

    def drop_database(self, database: str, *, cascade: bool) -> bool:
        """Drop a database in the metastore, then its directory; see ``TableNames``."""
        if not self.has_database(database):
            return delete_remains(self.io, self._new_directory(database))
        if database == _DEFAULT:
            message = f"database '{database}' cannot be dropped: a Hive metastore always has it"
            raise InvalidInputError(message)
        directory = self.directory_of(database)
        listed = list(self.entries.tables(database))
        views, tables = filter(is_view, listed), [table for table in listed if not is_view(table)]
        _refuse_tables_of_others(database, tables, spares_format_tables=self.settings.shows_format_tables)
        if not cascade:
            _refuse_views(database, views)
            # It refuses a directory with other files; then the database stays.
            self._drop_empty(database, directory)
        try:
            self.entries.delete_database(database, cascade=cascade)
        except Refused as refused:
            message = f"database '{database}' cannot be dropped: {refused}"
            raise InvalidInputError(message) from refused
        if cascade:
            self._drop_files(database, directory, tables)
        return True

    def directory_of(self, database: str) -> str:
        """Return the directory of a database."""
        found = self.entries.database(database)
        given = None if found is None else self.entries.locations.of_database(found)
        return given or self._new_directory(database)

    # --- tables -----------------------------------------------------------------------------------------------------

    def tables(self, database: str) -> Iterable[str]:
        """Return the tables of this format."""
        return [table.tableName for table in self.entries.tables(database) if is_paimon(table)]

    def root_of(self, name: TableName) -> str | None:
        """Return the location of a table of this format."""
        return self.entries.root_of(name)

    def add_table(self, name: TableName, write_first_schema: Callable[[str], None]) -> None:
        """Write the first schema and list the table; see ``TableNames``.

        Raises:
            ConflictError: the directory holds a table that is not listed, or the name is that of another thing.
        """
        require_lower_case(name.table, "table")
        with self.locked(name):
            self._require_free(name)
            root = self._default_root(name)
            refuse_remains(self.io, root)
            if holds_table(self.io, root):
                message = (
                    f"{root} holds a table that the Hive metastore, {self.metastore}, does not list: another process "
                    "is creating or dropping it, or was interrupted. List it with repair_table, or delete the directory"
                )
                raise ConflictError(message)
            write_first_schema(root)
            try:
                self._list(name, root)
            except (Refused, AlreadyExistsError, InvalidInputError):
                drop_directory(self.io, root, self.runtime.ids)
                raise

    def rename_table(self, source: TableName, target: TableName) -> None:
        """Move the directory and change name and location; see ``TableNames``."""
        require_lower_case(target.table, "table")
        entries = self.entries
        table = entries.paimon_table(source)
        if table is None:
            raise FileNotFoundError(str(source))
        if entries.table(target) is not None:
            raise FileExistsError(str(target))
        old, new = entries.locations.of_table(table), self._default_root(target)
        # As in Java: the files of an external table stay, and so do those whose directory has another name.
        if old is None or is_listed_as_external(table) or old != self._default_root(source):
            entries.rename_table(source, target, table)
            return
        move_table(self.io, str(source), old, new)
        entries.locations.set_table(table, new)
        try:
            entries.rename_table(source, target, table)
        except (MetastoreUnavailable, FileExistsError):
            move_table(self.io, str(target), new, old)
            raise
        try:
            entries.relocate_partitions(target)
        except MetastoreUnavailable as error:
            _log.warning("the locations of the partitions of '%s' are not up to date; repair it: %s", target, error)

    def drop_table(self, name: TableName) -> bool:
        """Delete the entry of a table, then its directory, or the remains of an earlier drop; see ``TableNames``."""
        table = self.entries.table(name)
        if table is None:
            return delete_remains(self.io, self._default_root(name))
        if not is_paimon(table):
            return False
        root = self.entries.locations.of_table(table)
        self.entries.delete_table(name)
        if root is None or is_external(table):
            return True
        try:
            drop_table_directory(self.io, root, self.runtime.ids)
        except OSError as error:
            if not holds_table(self.io, root):
                raise
            message = (
                f"the table is no longer listed, but its directory could not be dropped ({error}); list it again with "
                "repair_table, and drop it again"
            )
            raise OSError(error.errno, message, root) from error
        return True

    @contextmanager
    def locked(self, name: TableName) -> Iterator[None]:
        """Hold the lock of the table, if the catalog has locks."""
        lock = self.settings.lock
        with nullcontext() if lock is None else lock.of(name.database, name.table).held(self.runtime.clock):
            yield

    # --- beyond ``TableNames`` --------------------------------------------------------------------------------------

    def database_properties(self, database: str) -> Mapping[str, str]:
        """Return all properties of an existing database."""
        found = self.entries.database(database)
        return {**properties_of(found), LOCATION: uri_in_store(self.io, self.directory_of(database))}

    def tables_in_files(self, database: str) -> Iterable[str]:
        """Return the directories of a database that hold a table, sorted."""
        directory = self.directory_of(database)
        names = sorted(child.name for child in self.io.list(directory) if child.is_directory)
        return [name for name in names if holds_table(self.io, f"{directory}/{name}")]

    def keeps_files(self, name: TableName) -> bool:
        """Return whether the files of a table stay when it is dropped: it is external."""
        table = self.entries.table(name)
        return table is not None and is_external(table)

    def other_kind(self, name: TableName) -> str | None:
        """Return what a name that is not that of a table of this format stands for; ``None`` if for nothing."""
        table = self.entries.table(name)
        return None if table is None or is_paimon(table) else described(table)

    def sync_table(self, name: TableName) -> None:
        """Give the table in the metastore the columns and options of the latest schema."""
        table = self.entries.paimon_table(name)
        root = None if table is None else self.entries.locations.of_table(table)
        if root is not None:
            self.entries.update_table(name, table, root, self._schemas(root))

    def list_table(self, name: TableName) -> bool:
        """List the table in a directory, and its database, unless they are listed. Return whether the table was not.

        The columns and options of a listed table are brought up to date, and a location without a table is replaced.

        Raises:
            FileNotFoundError: the directory has no schema. ConflictError: the name is that of another thing.
        """
        require_lower_case(name.table, "table")
        self._refuse_others(name)
        table = self.entries.table(name)
        root = self._default_root(name)
        listed = None if table is None else self.entries.locations.of_table(table)
        if listed is not None and holds_table(self.io, listed):
            root = listed
        if not holds_table(self.io, root):
            raise FileNotFoundError(root)
        if table is not None:
            self.entries.update_table(name, table, root, self._schemas(root))
            self.entries.relocate_partitions(name)
            return False
        self.add_database(name.database)
        self._list(name, root)
        return True

    # --- parts ------------------------------------------------------------------------------------------------------

    def _new_directory(self, database: str) -> str:
        return database_directory(self.warehouse, database)

    def _default_root(self, name: TableName) -> str:
        return f"{self.directory_of(name.database)}/{check_name(name.table, 'table')}"

    def _list(self, name: TableName, root: str) -> None:
        seconds = self.runtime.clock.now_ms() // 1000
        self.entries.create_table(name, root, self._schemas(root), seconds=seconds)

    def _require_free(self, name: TableName) -> None:
        table = self.entries.table(name)
        if not is_view(table):
            self._refuse_others(name)
        if table is not None:
            message = f"table '{name}' already exists"
            raise AlreadyExistsError(message)

    def _refuse_others(self, name: TableName) -> None:
        kind = self.other_kind(name)
        if kind is not None:
            message = f"the name '{name}' is taken: the Hive metastore, {self.metastore}, lists {kind}"
            raise ConflictError(message)

    def _drop_empty(self, database: str, directory: str) -> None:
        delete_all_remains(self.io, directory)
        if self.io.status(directory) is not None and not drop_empty_directory(self.io, directory, self.runtime.ids):
            message = (
                f"database '{database}' has no tables but other files in {directory}; a drop with cascade deletes them"
            )
            raise InvalidInputError(message)

    def _drop_files(self, database: str, directory: str, tables: Iterable[Any]) -> None:
        """Delete the files of dropped tables, and the directory of their database with what else is in it.

        A directory that was chosen for the database may have more, and so may one with external tables: it is deleted
        if nothing is left.
        """
        is_own = directory == self._new_directory(database) and not any(map(is_external, tables))
        for table in tables:
            root = None if is_external(table) else self.entries.locations.of_table(table)
            if root is not None and not (is_own and root.startswith(f"{directory}/")):
                if is_paimon(table):
                    drop_table_directory(self.io, root, self.runtime.ids)
                else:
                    drop_existing_directory(self.io, root, self.runtime.ids)
        if self.io.status(directory) is not None:
            drop = drop_directory if is_own else drop_empty_directory
            drop(self.io, directory, self.runtime.ids)

    def _schemas(self, root: str) -> SchemaStore:
        return SchemaStore(TableStore(self.io, TablePaths(root)))


def _refuse_tables_of_others(database: str, tables: Iterable[Any], *, spares_format_tables: bool) -> None:
    """Refuse to drop what only Hive or Spark has created."""
    others = sorted(
        table.tableName
        for table in tables
        if not is_paimon(table) and not (spares_format_tables and is_created_as_format_table(table))
    )
    if others:
        message = (
            f"database '{database}' cannot be dropped: {', '.join(others)} are tables of Hive or Spark; drop each by "
            "its name first"
        )
        raise InvalidInputError(message)


def _refuse_views(database: str, views: Iterable[Any]) -> None:
    found = sorted(view.tableName for view in views)
    if found:
        message = (
            f"database '{database}' is not empty: it has the view {', '.join(found)}; a drop with cascade drops it too"
        )
        raise InvalidInputError(message)


def require_lower_case(name: str, what: str) -> None:
    """Check a name, because a Hive metastore ignores case.

    Raises:
        InvalidIdentifier: it has upper-case letters.
    """
    if not is_lower_case(name):
        message = f"{what} name {name!r} is not legal: the Hive metastore ignores case; use lower-case letters"
        raise InvalidIdentifier(message)
