"""The catalog whose databases and tables are listed in a relational database (Java ``JdbcCatalog``)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from table_format.catalog.arguments import CatalogArguments
from table_format.catalog.catalog_with_views import NamedCatalogWithViews
from table_format.catalog.filesystem import DirectoryNames
from table_format.catalog.jdbc.address import parse_address
from table_format.catalog.jdbc.database import Database, require_driver
from table_format.catalog.jdbc.lock import JdbcLock
from table_format.catalog.jdbc.names import EXISTS, LOCATION, JdbcNames, JdbcSettings
from table_format.catalog.jdbc.views import JdbcViews
from table_format.catalog.named_catalog import NamedCatalog
from table_format.catalog.table_names import TableName
from table_format.errors import InvalidInputError, InvalidOption, MetastoreUnavailable, TableNotFound
from table_format.model.identifier import MAIN_BRANCH, Identifier, branch_suffix
from table_format.model.schema_change import SchemaChange
from table_format.options.jdbc import URI, JdbcOptions
from table_format.table.table import Table

_log = logging.getLogger(__name__)
_OF_THE_CATALOG: Final = frozenset({EXISTS, LOCATION})


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class JdbcCatalog(NamedCatalogWithViews):
    """A catalog in a relational database; see ``NamedCatalog`` for the other arguments."""

    database: Database
    settings: JdbcSettings

    @property
    def names(self) -> JdbcNames:
        """The names in the database."""
        directories = DirectoryNames(self.warehouse, self.io, self.runtime.ids)
        return JdbcNames(self.database, self.settings, directories, self.runtime.clock)

    @property
    def views(self) -> JdbcViews:
        """The views in the database."""
        return JdbcViews(self.names)

    def lock_of(self, identifier: Identifier) -> JdbcLock | None:
        """Return the lock of a table or a branch, if the catalog has locks."""
        return self.settings.lock_of(f"{identifier.database}.{identifier.table}{branch_suffix(identifier.branch)}")

    def alter_table(self, name: str, changes: Sequence[SchemaChange] | SchemaChange) -> Table:
        """Change the schema or the options of a table or a branch of it; see ``Catalog``."""
        table = NamedCatalog.alter_table(self, name, changes)
        if table.identifier.branch == MAIN_BRANCH:
            try:
                self.names.sync_properties(TableName(table.identifier.database, table.identifier.table))
            except MetastoreUnavailable as error:
                # The table is changed. The next change copies its options again.
                _log.warning("the options of '%s' in the database are not up to date: %s", name, error)
        return table

    def database_properties(self, name: str) -> Mapping[str, str]:
        """Return the properties of a database, such as its comment, and its location.

        Raises:
            DatabaseNotFound: the database does not exist.
        """
        self._require_database(name)
        found = self.names.database_properties(name)
        return {key: value for key, value in found.items() if key != EXISTS}

    def alter_database(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set properties of a database, and remove those whose value is ``None``.

        Raises:
            DatabaseNotFound: the database does not exist.
            InvalidInputError: the catalog itself uses the property.
        """
        self._require_database(name)
        for key in sorted(_OF_THE_CATALOG & changes.keys()):
            message = f"property '{key}' of database '{name}' cannot be changed: the catalog itself uses it"
            raise InvalidInputError(message)
        self.names.set_database_properties(name, changes)

    # --- repair; see ``Repairable`` ---------------------------------------------------------------------------------

    def repair_table(self, name: str) -> Table:
        """List a table whose directory exists, and its database, if they are not listed; load it.

        See ``Repairable``.
        """
        identifier = Identifier.parse(name)
        try:
            self.names.list_table(TableName(identifier.database, identifier.table))
        except FileNotFoundError as error:
            message = f"table '{name}' cannot be repaired: {error} has no schema"
            raise TableNotFound(message) from error
        return self._open(identifier)

    def repair_database(self, name: str) -> tuple[str, ...]:
        """List all tables of a database whose directories exist, and the database; see ``Repairable``."""
        directories = self.names.directories
        if directories.has_database(name):
            self.names.add_database(name)
        self._require_database(name)
        found = (TableName(name, table) for table in sorted(directories.tables(name)))
        return tuple(str(table) for table in found if self.names.list_table(table))

    def repair_catalog(self) -> tuple[str, ...]:
        """List all tables and databases whose directories exist; see ``Repairable``."""
        databases = sorted(self.names.directories.databases())
        return tuple(table for database in databases for table in self.repair_database(database))


def open_jdbc(arguments: CatalogArguments) -> JdbcCatalog:
    """Open the catalog, and create the tables in the database that do not exist.

    Raises:
        InvalidOption, UnsupportedFeature: the address is missing or malformed, or names an unknown kind of database.
        PackageMissing: a package is missing. MetastoreUnavailable: the database cannot be reached.
    """
    options: JdbcOptions = arguments.own_options
    if options.uri is None:
        raise InvalidOption(URI.key, "is required: the address of the database, such as 'jdbc:sqlite:/data/lake.db'")
    address = parse_address(options.uri)
    require_driver(address.kind)
    database = Database(address, options.user, options.password, options.client_pool_size)
    is_locked = arguments.is_locked(given=options.lock_enabled)
    lock = JdbcLock(database, "", options.lock_check_max_sleep_ms, options.lock_acquire_timeout_ms)
    settings = JdbcSettings(options.catalog_key, options.sync_all_properties, lock if is_locked else None)

    from table_format.catalog.jdbc.tables import create_tables

    create_tables(database, lock_id_length=options.lock_key_max_length if is_locked else None)
    return JdbcCatalog(*arguments.common, database=database, settings=settings)
