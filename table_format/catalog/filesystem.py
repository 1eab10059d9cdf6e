"""The catalog that is its directory tree: ``<warehouse>/<database>.db/<table>`` (format chapter 15, section 1).

A table exists when it has a schema. Java ``FileSystemCatalog``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from table_format.catalog.deletion_vector_switch import check_deletion_vector_switch
from table_format.catalog.dropping import delete_all_remains, delete_remains, drop_directory
from table_format.catalog.fallback import check_fallback_branch
from table_format.catalog.global_tables import GlobalTable, global_tables, open_global_table
from table_format.catalog.new_schema import check_changed, first_schema
from table_format.errors import (
    AlreadyExistsError,
    BranchNotFound,
    DatabaseNotFound,
    InvalidIdentifier,
    InvalidInputError,
    TableNotFound,
)
from table_format.io.file_io import FileIO
from table_format.io.paths import TablePaths, database_directory, database_name_of, table_root
from table_format.io.table_store import TableStore
from table_format.metastore.schema.schema_arguments import checked_changes
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.schema.table_identity import read_identity
from table_format.model.arguments import flag
from table_format.model.identifier import MAIN_BRANCH, SYSTEM_DATABASE, Identifier, check_name
from table_format.model.schema import Schema, TableSchema
from table_format.model.schema_change import SchemaChange
from table_format.options.files import PATH_DIRECTORY
from table_format.options.scan import FALLBACK_BRANCH
from table_format.runtime import Runtime
from table_format.secrets import Secret, masked_repr, shown_options
from table_format.table.placement.key_index_directory import forget_key_indexes
from table_format.table.system.registry import open_system_table
from table_format.table.system.table import SystemTable
from table_format.table.table import Table


@dataclass(frozen=True, slots=True, repr=False)
class FileSystemCatalog:
    """``warehouse`` is an absolute path; ``table_defaults`` are options for new tables that do not set them.

    ``options`` are those it was opened with, secrets masked, for ``sys.catalog_options``; with ``shows_options`` off
    there is no such table.
    """

    warehouse: str
    io: FileIO
    runtime: Runtime = field(default_factory=Runtime)
    table_defaults: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str | Secret] = field(default_factory=dict)
    shows_options: bool = True

    __repr__ = masked_repr

    def __post_init__(self) -> None:
        # Nothing here needs a secret once the catalog is open, so it keeps none.
        object.__setattr__(self, "options", shown_options(self.options))

    # --- databases --------------------------------------------------------------------------------------------------

    def list_databases(self) -> tuple[str, ...]:
        """The names of all databases, sorted."""
        children = self.io.list(self.warehouse)
        names = (database_name_of(child.name) for child in children if child.is_directory)
        return tuple(sorted(name for name in names if name is not None))

    def database_exists(self, name: str) -> bool:
        """Whether there is a database of that name."""
        if name == SYSTEM_DATABASE:
            return True
        status = self.io.status(database_directory(self.warehouse, name))
        return status is not None and status.is_directory

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Make an empty database; see ``Catalog``."""
        flag(ignore_if_exists, "ignore_if_exists")
        check_name(name, "database")
        if name == SYSTEM_DATABASE:
            message = f"database name {name!r} is not legal: it belongs to the catalog's own tables"
            raise InvalidIdentifier(message)
        if self.database_exists(name):
            if ignore_if_exists:
                return
            message = f"database '{name}' exists already in {self.warehouse}"
            raise AlreadyExistsError(message)
        self.io.make_directory(database_directory(self.warehouse, name))

    def drop_database(self, name: str, *, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """Remove a database; see ``Catalog``."""
        flag(ignore_if_not_exists, "ignore_if_not_exists")
        flag(cascade, "cascade")
        check_name(name, "database")
        if name == SYSTEM_DATABASE:
            message = f"database '{name}' belongs to the catalog and cannot be dropped"
            raise InvalidIdentifier(message)
        directory = database_directory(self.warehouse, name)
        found = self.io.status(directory)
        linked = found is not None and found.is_link
        if found is None or not (found.is_directory or found.is_broken_link):
            if delete_remains(self.io, directory) or ignore_if_not_exists:
                return
            raise self._no_database(name)
        tables = self.list_tables(name) if found.is_directory else ()
        if tables and not cascade:
            message = f"database '{name}' is not empty, it has {', '.join(tables)}; drop them, or say cascade=True"
            raise InvalidInputError(message)
        if cascade or linked:
            drop_directory(self.io, directory, self.runtime.ids)
        else:
            delete_all_remains(self.io, directory)
            if not self.io.delete_empty_directory(directory):
                message = (
                    f"database '{name}' has no table but other files in {directory}; say cascade=True to delete them"
                )
                raise InvalidInputError(message)
        for table in tables:
            forget_key_indexes(self.runtime, table_root(self.warehouse, name, table))

    # --- tables -----------------------------------------------------------------------------------------------------

    def list_tables(self, database: str) -> tuple[str, ...]:
        """The names of the tables of a database, sorted; see ``Catalog``."""
        if database == SYSTEM_DATABASE:
            return tuple(sorted(self._global_tables()))
        if not self.database_exists(database):
            raise self._no_database(database)
        directory = database_directory(self.warehouse, database)
        children = [child.name for child in self.io.list(directory) if child.is_directory]
        return tuple(sorted(name for name in children if self._has_schema(TablePaths(f"{directory}/{name}"))))

    def table_exists(self, name: str) -> bool:
        """Whether there is a table, or a branch of it, of that name."""
        identifier = Identifier.parse(name)
        if identifier.database == SYSTEM_DATABASE:
            return identifier.table.lower() in self._global_tables()
        return self._has_schema(self._paths(identifier))

    def create_table(self, name: str, schema: Schema, *, ignore_if_exists: bool = False) -> Table:
        """Make an empty table and open it; see ``Catalog``."""
        flag(ignore_if_exists, "ignore_if_exists")
        identifier = _main_table(name, "create")
        if not self.database_exists(identifier.database):
            raise self._no_database(identifier.database)
        store = self._store(identifier)
        exists = f"table '{identifier}' exists already at {store.paths.root}"
        # Looked at first: a schema made in the same millisecond has the same bytes, and would be taken for this one.
        if self._has_schema(store.paths):
            if ignore_if_exists:
                return self._open(identifier)
            raise AlreadyExistsError(exists)
        first = first_schema(schema, defaults=self.table_defaults, time_millis=self.runtime.clock.now_ms())
        check_fallback_branch(store, first)
        try:
            # Of all callers one makes schema 0: that is the birth of the table.
            SchemaStore(store).create(first)
        except AlreadyExistsError as error:
            if ignore_if_exists:
                return self._open(identifier)
            raise AlreadyExistsError(exists) from error
        return self._open(identifier)

    def load_table(self, name: str) -> Table | SystemTable:
        """Open a table, a branch or a system table; see ``Catalog``."""
        identifier = Identifier.parse(name)
        if identifier.database == SYSTEM_DATABASE:
            return open_global_table(self._global_tables(), str(identifier).removeprefix(f"{SYSTEM_DATABASE}."))
        table = self._open(identifier)
        return table if identifier.system_table is None else open_system_table(table, identifier.system_table)

    def alter_table(self, name: str, changes: Sequence[SchemaChange] | SchemaChange) -> Table:
        """Change the schema or the options of a table or a branch of it; see ``Catalog``."""
        identifier = _data_table(name, "alter")
        self._open(identifier)
        listed = checked_changes(changes)
        store = self._store(identifier)

        def check(old: TableSchema, new: TableSchema) -> None:
            check_changed(old, new)
            check_deletion_vector_switch(store, old, new)
            if FALLBACK_BRANCH.read(new.options) != FALLBACK_BRANCH.read(old.options):
                check_fallback_branch(store, new)

        SchemaStore(store).change(listed, check=check)
        return self._open(identifier)

    def rename_table(self, source: str, target: str) -> None:
        """Give a table another name; see ``Catalog``."""
        old, new = _main_table(source, "rename"), _main_table(target, "rename")
        self._open(old)
        if not self.database_exists(new.database):
            raise self._no_database(new.database)
        if not self._has_schema(self._paths(new)):
            # What a rename that was killed has left of the new name.
            self.io.delete_empty_directory(self._paths(new).root)
        try:
            self.io.rename_directory(self._paths(old).root, self._paths(new).root)
        except FileExistsError as error:
            message = f"table '{new}' exists already at {self._paths(new).root}"
            raise AlreadyExistsError(message) from error
        forget_key_indexes(self.runtime, self._paths(old).root)

    def drop_table(self, name: str, *, ignore_if_not_exists: bool = False) -> None:
        """Remove a table with all its files; see ``Catalog``."""
        flag(ignore_if_not_exists, "ignore_if_not_exists")
        identifier = _main_table(name, "drop")
        root = self._paths(identifier).root
        found = self.io.status(root)
        with suppress(FileNotFoundError):  # somebody else has just dropped it
            if found is not None and (found.is_broken_link or self._has_schema(self._paths(identifier))):
                drop_directory(self.io, root, self.runtime.ids)
                forget_key_indexes(self.runtime, root)
                return
        if not delete_remains(self.io, root) and not ignore_if_not_exists:
            raise self._no_table(identifier)

    # --- the database of the catalog's own tables -------------------------------------------------------------------

    def _global_tables(self) -> Mapping[str, GlobalTable]:
        return global_tables(self.options, self._tables, with_options=self.shows_options)

    def _tables(self) -> Iterator[Table]:
        for database in self.list_databases():
            for name in self.list_tables(database):
                with suppress(TableNotFound):  # dropped meanwhile
                    yield self._open(Identifier(database, name))

    # --- parts ------------------------------------------------------------------------------------------------------

    def _paths(self, identifier: Identifier) -> TablePaths:
        root = table_root(self.warehouse, identifier.database, identifier.table)
        return TablePaths(root, identifier.branch)

    def _store(self, identifier: Identifier) -> TableStore:
        return TableStore(self.io, self._paths(identifier), self.runtime)

    def _has_schema(self, paths: TablePaths) -> bool:
        return SchemaStore(TableStore(self.io, paths, self.runtime)).latest_id() is not None

    def _open(self, identifier: Identifier) -> Table:
        store = self._store(identifier)
        schemas = SchemaStore(store)
        if schemas.latest_id() is None:
            if identifier.branch != MAIN_BRANCH and self._has_schema(store.paths.for_branch(MAIN_BRANCH)):
                message = f"table '{identifier.database}.{identifier.table}' has no branch '{identifier.branch}'"
                raise BranchNotFound(message)
            raise self._no_table(identifier)
        # Looked at first: if another table takes the place between the two, its schema does not fit the identity.
        identity = read_identity(store)
        schema = schemas.latest()
        directory = (PATH_DIRECTORY.read(schema.options) or "").strip("/")
        opened = replace(store, paths=replace(store.paths, data_directory=directory), identity=identity)
        return Table(Identifier(identifier.database, identifier.table, identifier.branch), opened, schema)

    def _no_database(self, name: str) -> DatabaseNotFound:
        return DatabaseNotFound(f"database '{name}' does not exist in {self.warehouse}; create it first")

    def _no_table(self, identifier: Identifier) -> TableNotFound:
        root = self._paths(identifier).root
        return TableNotFound(f"table '{identifier.database}.{identifier.table}' does not exist: {root} has no schema")


def _main_table(name: str, action: str) -> Identifier:
    identifier = _data_table(name, action)
    if identifier.branch != MAIN_BRANCH:
        message = f"cannot {action} '{name}': name the table itself, without branch"
        raise InvalidIdentifier(message)
    return identifier


def _data_table(name: str, action: str) -> Identifier:
    identifier = Identifier.parse(name)
    if identifier.system_table is not None:
        message = f"cannot {action} '{name}': name the table itself, without system table"
        raise InvalidIdentifier(message)
    if identifier.database == SYSTEM_DATABASE:
        message = f"cannot {action} '{name}': database '{SYSTEM_DATABASE}' belongs to the catalog's own tables"
        raise InvalidIdentifier(message)
    return identifier
