"""What all catalogs have in common: checks, schemas, branches, system tables and the database ``sys``.

Where names are kept and how they come, move and go is the business of ``TableNames``. A table exists when its name
leads to a directory with a schema. Java ``AbstractCatalog``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from table_format.catalog.deletion_vector_switch import check_deletion_vector_switch
from table_format.catalog.fallback import check_fallback_branch
from table_format.catalog.global_tables import CatalogView, GlobalTable, global_tables, open_global_table
from table_format.catalog.new_schema import check_changed, first_schema
from table_format.catalog.table_names import TableName, TableNames
from table_format.errors import (
    AlreadyExistsError,
    BranchNotFound,
    DatabaseNotFound,
    InvalidIdentifier,
    InvalidInputError,
    TableNotFound,
)
from table_format.io.file_io import FileIO
from table_format.io.paths import TablePaths
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
class NamedCatalog(ABC):
    """A ``Catalog`` on top of ``names``, which a subclass supplies.

    ``warehouse`` is an absolute path; ``table_defaults`` are options for new tables that do not set them. ``options``
    are those it was opened with, secrets masked, for ``sys.catalog_options``; with ``shows_options`` off there is no
    such table.
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

    @property
    @abstractmethod
    def names(self) -> TableNames:
        """The list of databases and tables."""

    # --- databases --------------------------------------------------------------------------------------------------

    def list_databases(self) -> tuple[str, ...]:
        """The names of all databases, sorted."""
        return tuple(sorted(self.names.databases()))

    def database_exists(self, name: str) -> bool:
        """Whether there is a database of that name."""
        return name == SYSTEM_DATABASE or self.names.has_database(check_name(name, "database"))

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Make an empty database; see ``Catalog``."""
        flag(ignore_if_exists, "ignore_if_exists")
        check_name(name, "database")
        if name == SYSTEM_DATABASE:
            message = f"database name {name!r} is not legal: it belongs to the catalog's own tables"
            raise InvalidIdentifier(message)
        if self.names.has_database(name):
            if ignore_if_exists:
                return
            message = f"database '{name}' exists already in {self.warehouse}"
            raise AlreadyExistsError(message)
        self.names.add_database(name)

    def drop_database(self, name: str, *, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """Remove a database; see ``Catalog``."""
        flag(ignore_if_not_exists, "ignore_if_not_exists")
        flag(cascade, "cascade")
        check_name(name, "database")
        if name == SYSTEM_DATABASE:
            message = f"database '{name}' belongs to the catalog and cannot be dropped"
            raise InvalidIdentifier(message)
        tables = self.list_tables(name) if self.names.has_database(name) else ()
        if tables and not cascade:
            message = f"database '{name}' is not empty, it has {', '.join(tables)}; drop them, or say cascade=True"
            raise InvalidInputError(message)
        roots = [self.names.root_of(TableName(name, table)) for table in tables]
        if not self.names.drop_database(name, cascade=cascade) and not ignore_if_not_exists:
            raise self._no_database(name)
        for root in roots:
            self._forget_key_indexes(root)

    # --- tables -----------------------------------------------------------------------------------------------------

    def list_tables(self, database: str) -> tuple[str, ...]:
        """The names of the tables of a database, sorted; see ``Catalog``."""
        if database == SYSTEM_DATABASE:
            return tuple(sorted(self._global_tables()))
        self._require_database(database)
        return tuple(sorted(self.names.tables(database)))

    def table_exists(self, name: str) -> bool:
        """Whether there is a table, or a branch of it, of that name."""
        identifier = Identifier.parse(name)
        if identifier.database == SYSTEM_DATABASE:
            return identifier.table.lower() in self._global_tables()
        store = self._find_store(identifier)
        return store is not None and has_schema(store)

    def create_table(self, name: str, schema: Schema, *, ignore_if_exists: bool = False) -> Table:
        """Make an empty table and open it; see ``Catalog``."""
        flag(ignore_if_exists, "ignore_if_exists")
        identifier = _main_table(name, "create")
        self._require_database(identifier.database)
        # Looked at first: a schema made in the same millisecond has the same bytes, and would be taken for this one.
        present = self._find_store(identifier)
        if present is not None and has_schema(present):
            if ignore_if_exists:
                return self._open(identifier)
            raise _table_exists(identifier, present.paths.root)
        first = first_schema(schema, defaults=self.table_defaults, time_millis=self.runtime.clock.now_ms())

        def write_first_schema(root: str) -> None:
            store = TableStore(self.io, TablePaths(root), self.runtime)
            check_fallback_branch(store, first)
            # Of all callers one makes schema 0: that is the birth of the table.
            SchemaStore(store).create(first)

        try:
            self.names.add_table(_table_name(identifier), write_first_schema)
        except AlreadyExistsError as error:
            if ignore_if_exists:
                return self._open(identifier)
            raise _table_exists(identifier, self.names.root_of(_table_name(identifier))) from error
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

        with self.names.locked(_table_name(identifier)):
            SchemaStore(store).change(listed, check=check)
        return self._open(identifier)

    def rename_table(self, source: str, target: str) -> None:
        """Give a table another name; see ``Catalog``."""
        old, new = _main_table(source, "rename"), _main_table(target, "rename")
        self._open(old)
        self._require_database(new.database)
        root = self.names.root_of(_table_name(old))
        try:
            with self.names.locked(_table_name(old)):
                self.names.rename_table(_table_name(old), _table_name(new))
        except FileExistsError as error:
            raise _table_exists(new, self.names.root_of(_table_name(new))) from error
        if self.names.root_of(_table_name(new)) != root:
            self._forget_key_indexes(root)

    def drop_table(self, name: str, *, ignore_if_not_exists: bool = False) -> None:
        """Remove a table with all its files; see ``Catalog``."""
        flag(ignore_if_not_exists, "ignore_if_not_exists")
        identifier = _main_table(name, "drop")
        root = self.names.root_of(_table_name(identifier))
        with self.names.locked(_table_name(identifier)):
            dropped = self.names.drop_table(_table_name(identifier))
        if dropped:
            self._forget_key_indexes(root)
        elif not ignore_if_not_exists:
            raise self._no_table(identifier)

    # --- the database of the catalog's own tables -------------------------------------------------------------------

    def _global_tables(self) -> Mapping[str, GlobalTable]:
        return global_tables(CatalogView(self.options, self._tables, self.shows_options))

    def _tables(self) -> Iterator[Table]:
        for database in self.list_databases():
            for name in self.list_tables(database):
                with suppress(TableNotFound):  # dropped meanwhile
                    yield self._open(Identifier(database, name))

    # --- parts ------------------------------------------------------------------------------------------------------

    def _find_store(self, identifier: Identifier) -> TableStore | None:
        root = self.names.root_of(_table_name(identifier))
        return None if root is None else TableStore(self.io, TablePaths(root, identifier.branch), self.runtime)

    def _store(self, identifier: Identifier) -> TableStore:
        store = self._find_store(identifier)
        if store is None:
            raise self._no_table(identifier)
        return store

    def _open(self, identifier: Identifier) -> Table:
        store = self._store(identifier)
        schemas = SchemaStore(store)
        if schemas.latest_id() is None:
            if identifier.branch != MAIN_BRANCH and has_schema(
                replace(store, paths=store.paths.for_branch(MAIN_BRANCH))
            ):
                message = f"table '{identifier.database}.{identifier.table}' has no branch '{identifier.branch}'"
                raise BranchNotFound(message)
            raise self._no_table(identifier)
        # Looked at first: if another table takes the place between the two, its schema does not fit the identity.
        identity = read_identity(store)
        schema = schemas.latest()
        directory = (PATH_DIRECTORY.read(schema.options) or "").strip("/")
        opened = replace(store, paths=replace(store.paths, data_directory=directory), identity=identity)
        return Table(Identifier(identifier.database, identifier.table, identifier.branch), opened, schema)

    def _forget_key_indexes(self, root: str | None) -> None:
        if root is not None:
            forget_key_indexes(self.runtime, root)

    def _require_database(self, name: str) -> None:
        if not self.database_exists(name):
            raise self._no_database(name)

    def _no_database(self, name: str) -> DatabaseNotFound:
        return DatabaseNotFound(f"database '{name}' does not exist in {self.warehouse}; create it first")

    def _no_table(self, identifier: Identifier) -> TableNotFound:
        root = self.names.root_of(_table_name(identifier))
        reason = f"{self.warehouse} has no table of that name" if root is None else f"{root} has no schema"
        return TableNotFound(f"table '{identifier.database}.{identifier.table}' does not exist: {reason}")


def has_schema(store: TableStore) -> bool:
    """Whether there is a table, or a branch of one."""
    return SchemaStore(store).latest_id() is not None


def _table_name(identifier: Identifier) -> TableName:
    return TableName(identifier.database, identifier.table)


def _table_exists(identifier: Identifier, root: str | None) -> AlreadyExistsError:
    return AlreadyExistsError(f"table '{identifier}' exists already{'' if root is None else f' at {root}'}")


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
