"""The common part of all catalogs: checks, schemas, branches, system tables and the database ``sys``.

``TableNames`` stores the names, and adds, renames and drops them. A table exists if its name leads to a directory
with a schema. Java ``AbstractCatalog``.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias, TypeGuard, cast

from table_format.catalog.changelog_switch import check_changelog_switch
from table_format.catalog.deletion_vector_switch import check_deletion_vector_switch
from table_format.catalog.external_paths import check_external_paths, files_outside
from table_format.catalog.fallback import check_fallback_branch
from table_format.catalog.global_tables import CatalogView, GlobalTable, global_tables, open_global_table
from table_format.catalog.new_schema import check_changed, first_schema
from table_format.catalog.partition_lists import check_listed_partitions
from table_format.catalog.partition_names import check_partition_names
from table_format.catalog.table_names import FirstSchema, TableName, TableNames
from table_format.errors import (
    AlreadyExistsError,
    BranchNotFound,
    DatabaseNotFound,
    InvalidIdentifier,
    InvalidInputError,
    TableFormatError,
    TableNotFound,
    UnsupportedFeature,
)
from table_format.format_table.table import FormatTable, no_format_table
from table_format.io.file_io import FileIO, RemoteStore
from table_format.io.locations import Locations
from table_format.io.partition_list import PartitionList
from table_format.io.paths import TablePaths
from table_format.io.stores import uri_in_store
from table_format.io.table_lock import TableLock
from table_format.io.table_store import TableStore
from table_format.io.uncommitted_files import delete_uncommitted
from table_format.metastore.schema.schema_arguments import checked_changes, checked_schema
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.schema.table_identity import read_identity
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.arguments import flag
from table_format.model.identifier import MAIN_BRANCH, SYSTEM_DATABASE, Identifier, check_name
from table_format.model.schema import Schema, TableSchema
from table_format.model.schema_change import SchemaChange
from table_format.nearest_names import did_you_mean, nearest
from table_format.object_table.columns import object_table_schema, refuse_live_table
from table_format.object_table.table import ObjectTable, check_apart
from table_format.options.files import EXTERNAL_KEYS, PATH_DIRECTORY
from table_format.options.format_table import is_format_table
from table_format.options.kind import OBJECT_LOCATION, is_object_table
from table_format.options.scan import FALLBACK_BRANCH
from table_format.runtime import Runtime
from table_format.secrets import Secret, redact, shown_options
from table_format.table.placement.key_index_directory import forget_key_indexes
from table_format.table.system.registry import open_system_table
from table_format.table.system.table import SystemTable
from table_format.table.table import Table

_log = logging.getLogger(__name__)

SchemaCheck: TypeAlias = Callable[[TableSchema, TableSchema], None]
"""Compares the schema of a table with the one that a change makes of it."""


@dataclass(frozen=True, slots=True, repr=False)
class NamedCatalog(ABC):
    """A ``Catalog`` on top of ``names``, which a subclass supplies.

    ``warehouse`` is an absolute path in the store ``io``. ``table_defaults`` are options for new tables that do not set
    them. ``options`` are the options of the catalog with secrets masked, for ``sys.catalog_options``; if
    ``shows_options`` is false, this table does not exist. ``locations`` opens the locations of object tables. A
    subclass with ``partitions_of`` sets ``lists_partitions``.
    """

    warehouse: str
    io: FileIO
    runtime: Runtime = field(default_factory=Runtime)
    table_defaults: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str | Secret] = field(default_factory=dict)
    shows_options: bool = True
    locations: Locations = field(default_factory=Locations)
    lists_partitions: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({redact(self.warehouse)!r})"

    def __post_init__(self) -> None:
        # An open catalog needs no secrets, so it keeps none.
        object.__setattr__(self, "options", shown_options(self.options))

    @property
    @abstractmethod
    def names(self) -> TableNames:
        """The list of databases and tables."""

    def lock_of(self, identifier: Identifier) -> TableLock | None:  # noqa: ARG002 - a subclass reads it
        """Return the lock under which snapshots of a table or a branch are published; ``None`` without locks."""
        return None

    def partitions_of(self, identifier: Identifier, schema: TableSchema) -> PartitionList | None:  # noqa: ARG002
        """Return the list of the partitions of a table that the catalog keeps; ``None`` if it keeps none."""
        return None

    # --- databases --------------------------------------------------------------------------------------------------

    def list_databases(self) -> tuple[str, ...]:
        """The names of all databases, sorted."""
        return tuple(sorted(self.names.databases()))

    def database_exists(self, name: str) -> bool:
        """Return whether the database exists."""
        return name == SYSTEM_DATABASE or self.names.has_database(check_name(name, "database"))

    def create_database(self, name: str, *, ignore_if_exists: bool = False) -> None:
        """Create an empty database; see ``Catalog``."""
        if self._is_new_database(name, ignore_if_exists=ignore_if_exists):
            self.names.add_database(name)

    def drop_database(self, name: str, *, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """Remove a database; see ``Catalog``."""
        flag(ignore_if_not_exists, "ignore_if_not_exists")
        flag(cascade, "cascade")
        check_name(name, "database")
        if name == SYSTEM_DATABASE:
            message = f"database '{name}' holds the catalog's own tables and cannot be dropped"
            raise InvalidIdentifier(message)
        tables = self.list_tables(name) if self.names.has_database(name) else ()
        if tables and not cascade:
            message = f"database '{name}' is not empty, it has {', '.join(tables)}; drop them, or drop it with cascade"
            raise InvalidInputError(message)
        owned = [TableName(name, table) for table in tables if not self._keeps_files(TableName(name, table))]
        roots = [self.names.root_of(table) for table in owned]
        outside = [path for root in roots for path in self._files_outside(root)]
        if not self.names.drop_database(name, cascade=cascade) and not ignore_if_not_exists:
            raise self._no_database(name)
        for root in roots:
            self._forget_key_indexes(root)
        delete_uncommitted(self.io, outside)

    # --- tables -----------------------------------------------------------------------------------------------------

    def list_tables(self, database: str) -> tuple[str, ...]:
        """The names of the tables of a database, sorted; see ``Catalog``."""
        if database == SYSTEM_DATABASE:
            return tuple(sorted(self._global_tables()))
        self._require_database(database)
        return tuple(sorted(self.names.tables(database)))

    def table_exists(self, name: str) -> bool:
        """Return whether the table, or the branch of a table, exists."""
        identifier = Identifier.parse(name)
        if identifier.database == SYSTEM_DATABASE:
            return identifier.table.lower() in self._global_tables()
        store = self._find_store(identifier)
        if store is None:
            return _is_plain(identifier) and self._has_format_table(identifier)
        return has_schema(store)

    def create_table(self, name: str, schema: Schema, *, ignore_if_exists: bool = False) -> Table:
        """Create an empty table and load it; see ``Catalog``."""
        flag(ignore_if_exists, "ignore_if_exists")
        identifier = _main_table(name, "create")
        self._require_database(identifier.database)
        if _is_of_format_table(schema):
            wanted = checked_schema(schema)
            created = self._create_format_table(identifier, wanted, ignore_if_exists=ignore_if_exists)
            return cast("Table", created)  # as for ``load_table``
        # Check first: a schema written in the same millisecond has the same bytes and would look like this one.
        present = self._find_store(identifier)
        if present is not None and has_schema(present):
            if ignore_if_exists:
                return self._open(identifier)
            raise _table_exists(identifier, present.paths.root)
        if _has_options(schema) and is_object_table(schema.options):
            schema = object_table_schema(checked_schema(schema))
        first = first_schema(schema, defaults=self.table_defaults, time_millis=self.runtime.clock.now_ms())
        check_listed_partitions(None, first, lists_partitions=self.lists_partitions)

        def write_first_schema(root: str) -> None:
            store = TableStore(self.io, self._paths(root), self.runtime)
            check_fallback_branch(store, first)
            check_external_paths(store, first)
            self._check_location(first, root)
            # Exactly one caller creates schema 0, and this creates the table.
            SchemaStore(store).create(first)

        try:
            self.names.add_table(_table_name(identifier), FirstSchema(first, write_first_schema))
        except AlreadyExistsError as error:
            if self._has_view(identifier):
                message = f"table '{identifier}' cannot be created: there is a view of this name"
                raise AlreadyExistsError(message) from error
            if ignore_if_exists:
                return self._open(identifier)
            raise _table_exists(identifier, self.names.root_of(_table_name(identifier))) from error
        return self._open(identifier)

    def load_table(self, name: str) -> Table:
        """Load a table or a branch; see ``Catalog``."""
        return cast("Table", self.load_any(name))  # or what else the name stands for; see ``Catalog``

    def load_system_table(self, name: str) -> SystemTable:
        """Load a system table; see ``Catalog``."""
        opened = self.load_any(name)
        if isinstance(opened, SystemTable):
            return opened
        message = f"'{name}' is not a system table: use load_table, or name a system table such as '{name}$files'"
        raise InvalidInputError(message)

    def load_any(self, name: str) -> Table | SystemTable | FormatTable:
        """Load a table, a branch, a system table or a format table; see ``Catalog``."""
        identifier = Identifier.parse(name)
        if identifier.database == SYSTEM_DATABASE:
            return open_global_table(self._global_tables(), str(identifier).removeprefix(f"{SYSTEM_DATABASE}."))
        table = self._opened(identifier)
        if isinstance(table, FormatTable):
            return table if _is_plain(identifier) else no_format_table(table, f"'{identifier}'")
        return table if identifier.system_table is None else open_system_table(table, identifier.system_table)

    def alter_table(self, name: str, changes: Sequence[SchemaChange] | SchemaChange) -> Table:
        """Change the schema or the options of a table or a branch of it; see ``Catalog``."""
        identifier = _data_table(name, "alter")
        no_format_table(self._opened(identifier), "changes of its schema or options")
        listed = checked_changes(changes)
        store = self._store(identifier)

        def check(old: TableSchema, new: TableSchema) -> None:
            check_changed(old, new, has_snapshots=SnapshotStore(store).latest() is not None)
            check_deletion_vector_switch(store, old, new)
            check_changelog_switch(store, old, new)
            check_partition_names(store, old, new)
            check_listed_partitions(old, new, lists_partitions=self.lists_partitions)
            if EXTERNAL_KEYS & {k for k in {*old.options, *new.options} if old.options.get(k) != new.options.get(k)}:
                check_external_paths(store, new)
            if FALLBACK_BRANCH.read(new.options) != FALLBACK_BRANCH.read(old.options):
                check_fallback_branch(store, new)

        with self.names.locked(_table_name(identifier)):
            self._change_schema(identifier, store, listed, check)
        return self._open(identifier)

    def rename_table(self, source: str, target: str) -> None:
        """Give a table another name; see ``Catalog``."""
        old, new = _main_table(source, "rename"), _main_table(target, "rename")
        no_format_table(self._opened(old), "changes of its name (rename it with Hive)")
        self._require_database(new.database)
        root = self.names.root_of(_table_name(old))
        try:
            with self.names.locked(_table_name(old)):
                self.names.rename_table(_table_name(old), _table_name(new))
        except FileExistsError as error:
            if self._has_view(new):
                message = f"table '{old}' cannot be renamed to '{new}': there is a view of this name"
                raise AlreadyExistsError(message) from error
            raise _table_exists(new, self.names.root_of(_table_name(new))) from error
        except FileNotFoundError as error:
            self._open(old)  # another process may have dropped or renamed it after the look
            raise error from None
        if self.names.root_of(_table_name(new)) != root:
            self._forget_key_indexes(root)

    def drop_table(self, name: str, *, ignore_if_not_exists: bool = False) -> None:
        """Remove a table with all its files; see ``Catalog``."""
        flag(ignore_if_not_exists, "ignore_if_not_exists")
        identifier = _main_table(name, "drop")
        root = self.names.root_of(_table_name(identifier))
        with self.names.locked(_table_name(identifier)):
            outside = () if self._keeps_files(_table_name(identifier)) else self._files_outside(root)
            dropped = self.names.drop_table(_table_name(identifier)) or self._drop_format_table(identifier)
        if dropped:
            self._forget_key_indexes(root)
            delete_uncommitted(self.io, outside)
        elif not ignore_if_not_exists or self._has_view(identifier):
            raise self._no_table(identifier)

    # --- the database of the catalog's own tables -------------------------------------------------------------------

    def _global_tables(self) -> Mapping[str, GlobalTable]:
        return global_tables(CatalogView(self.options, self._tables, self.shows_options))

    def _tables(self) -> Iterator[Table]:
        for database in self.list_databases():
            for name in self.list_tables(database):
                try:
                    yield self._open(Identifier(database, name))
                except TableNotFound:
                    continue  # dropped in the meantime
                except (TableFormatError, OSError) as error:
                    # A table that cannot be loaded does not hide the others.
                    _log.warning("table '%s.%s' is left out, it cannot be loaded: %s", database, name, error)

    # --- format tables ----------------------------------------------------------------------------------------------

    def _format_table(self, identifier: Identifier) -> FormatTable | None:  # noqa: ARG002 - a subclass reads it
        """Return a format table of this name; ``None`` if there is none."""
        return None

    def _has_format_table(self, identifier: Identifier) -> bool:  # noqa: ARG002 - a subclass reads it
        """Return whether there is a format table of this name. It may be one that this version cannot read."""
        return False

    def _create_format_table(
        self,
        identifier: Identifier,
        schema: Schema,  # noqa: ARG002 - a subclass that keeps format tables reads them
        *,
        ignore_if_exists: bool,  # noqa: ARG002
    ) -> FormatTable:
        feature = "type=format-table"
        message = (
            f"'{identifier}' cannot be a format table: only a catalog in a Hive metastore ('metastore' = 'hive') keeps "
            "them"
        )
        raise UnsupportedFeature(feature, message)

    def _drop_format_table(self, identifier: Identifier) -> bool:  # noqa: ARG002 - a subclass reads it
        """Drop a format table. Return whether there was one of this name."""
        return False

    def _opened(self, identifier: Identifier) -> Table | FormatTable:
        try:
            return self._open(identifier)
        except TableNotFound:
            found = self._format_table(identifier)
            if found is None:
                raise
            return found

    # --- views ------------------------------------------------------------------------------------------------------

    def _has_view(self, identifier: Identifier) -> bool:  # noqa: ARG002 - a subclass that keeps views reads it
        """Return whether the name is that of a view. Tables and views of a database share one namespace."""
        return False

    # --- parts ------------------------------------------------------------------------------------------------------

    def _change_schema(
        self,
        identifier: Identifier,  # noqa: ARG002 - a subclass reads it
        store: TableStore,
        changes: Sequence[SchemaChange],
        check: SchemaCheck,
    ) -> None:
        """Change the schema of a table or a branch; ``check`` refuses the new schema by raising."""
        SchemaStore(store).change(changes, check=check)

    def _is_new_database(self, name: str, *, ignore_if_exists: bool) -> bool:
        """Return whether a database is to be created; ``False`` if it exists and may."""
        flag(ignore_if_exists, "ignore_if_exists")
        check_name(name, "database")
        if name == SYSTEM_DATABASE:
            message = f"database name {name!r} is not legal: it is reserved for the catalog's own tables"
            raise InvalidIdentifier(message)
        is_there = self.names.has_database(name)
        if is_there and not ignore_if_exists:
            message = f"database '{name}' already exists in {self.warehouse}"
            raise AlreadyExistsError(message)
        return not is_there

    def _keeps_files(self, name: TableName) -> bool:  # noqa: ARG002 - a subclass reads it
        """Return whether the files of a table stay when it is dropped."""
        return False

    def _find_store(self, identifier: Identifier) -> TableStore | None:
        root = self.names.root_of(_table_name(identifier))
        return None if root is None else TableStore(self.io, self._paths(root, identifier.branch), self.runtime)

    def _paths(self, root: str, branch: str = MAIN_BRANCH) -> TablePaths:
        return TablePaths(root, branch, has_external_files=not isinstance(self.io, RemoteStore))

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
        # Read the identity first: if the table is replaced in between, the new schema does not match the identity.
        identity = read_identity(store)
        schema = schemas.latest()
        directory = (PATH_DIRECTORY.read(schema.options) or "").strip("/")
        paths = replace(store.paths, data_directory=directory)
        lock, partitions = self.lock_of(identifier), self.partitions_of(identifier, schema)
        opened = replace(store, paths=paths, identity=identity, lock=lock, partitions=partitions)
        name = Identifier(identifier.database, identifier.table, identifier.branch)
        if is_object_table(schema.options):
            refuse_live_table(str(name), schema.options)
            return ObjectTable(name, opened, schema, _locations=self.locations)
        return Table(name, opened, schema)

    def _check_location(self, schema: TableSchema, root: str) -> None:
        location = OBJECT_LOCATION.read(schema.options)
        if location is not None:
            check_apart(self.locations.find(location).uri, uri_in_store(self.io, root))

    def _files_outside(self, root: str | None) -> Sequence[str]:
        # A link may lead to the directory of another table, which must stay.
        found = None if root is None else self.io.status(root)
        if root is None or found is None or found.is_link:
            return ()
        return files_outside(TableStore(self.io, self._paths(root), self.runtime))

    def _forget_key_indexes(self, root: str | None) -> None:
        if root is not None:
            forget_key_indexes(self.runtime, root)

    def _require_database(self, name: str) -> None:
        if not self.database_exists(name):
            raise self._no_database(name)

    def _no_database(self, name: str) -> DatabaseNotFound:
        databases = self.list_databases()
        if self._lacks_warehouse(databases):
            message = f"database '{name}' does not exist: there is no warehouse at {self.warehouse}"
        else:
            advice = did_you_mean(name, databases) or "; create it first"
            message = f"database '{name}' does not exist in {self.warehouse}{advice}"
        return DatabaseNotFound(message)

    def _no_table(self, identifier: Identifier) -> TableNotFound:
        if self._has_view(identifier):
            name = f"{identifier.database}.{identifier.table}"
            return TableNotFound(f"'{name}' is a view, not a table: query it, or change it with the methods of views")
        root = self.names.root_of(_table_name(identifier))
        databases = self.list_databases()
        if self._lacks_warehouse(databases):
            reason = f"there is no warehouse at {self.warehouse}"
        elif root is None:
            reason = f"{self.warehouse} has no table of that name"
        else:
            reason = f"{root} has no schema"
        name = f"{identifier.database}.{identifier.table}"
        advice = did_you_mean(name, self._names_like(identifier, databases))
        return TableNotFound(f"table '{name}' does not exist: {reason}{advice}")

    def _names_like(self, identifier: Identifier, databases: Sequence[str]) -> Iterator[str]:
        """Return the tables of the database, or of databases with similar names if it does not exist."""
        wanted = (identifier.database,) if identifier.database in databases else databases
        for database in nearest(identifier.database, wanted):
            tables = (f"{database}.{table}" for table in self.names.tables(database))
            yield from (name for name in tables if name != f"{identifier.database}.{identifier.table}")

    def _lacks_warehouse(self, databases: Sequence[str]) -> bool:
        return not databases and self.io.status(self.warehouse) is None


def has_schema(store: TableStore) -> bool:
    """Return whether there is a table or a branch of a table."""
    return SchemaStore(store).latest_id() is not None


def _table_name(identifier: Identifier) -> TableName:
    return TableName(identifier.database, identifier.table)


def _is_of_format_table(schema: object) -> bool:
    """Return whether a table with this schema, which is not checked yet, would be a format table."""
    return _has_options(schema) and is_format_table(schema.options)


def _has_options(schema: object) -> TypeGuard[Schema]:
    return isinstance(schema, Schema) and isinstance(schema.options, Mapping)


def _is_plain(identifier: Identifier) -> bool:
    return identifier.branch == MAIN_BRANCH and identifier.system_table is None


def _table_exists(identifier: Identifier, root: str | None) -> AlreadyExistsError:
    return AlreadyExistsError(f"table '{identifier}' already exists{'' if root is None else f' at {root}'}")


def _main_table(name: str, action: str) -> Identifier:
    identifier = _data_table(name, action)
    if identifier.branch != MAIN_BRANCH:
        message = f"cannot {action} '{name}': name the table without its branch"
        raise InvalidIdentifier(message)
    return identifier


def _data_table(name: str, action: str) -> Identifier:
    identifier = Identifier.parse(name)
    if identifier.system_table is not None:
        message = f"cannot {action} '{name}': name the table without the system table"
        raise InvalidIdentifier(message)
    if identifier.database == SYSTEM_DATABASE:
        message = f"cannot {action} '{name}': database '{SYSTEM_DATABASE}' holds the catalog's own tables"
        raise InvalidIdentifier(message)
    return identifier
