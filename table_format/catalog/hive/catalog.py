"""The catalog whose databases and tables are listed in a Hive metastore (Java ``HiveCatalog``)."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from table_format.catalog.arguments import CatalogArguments
from table_format.catalog.catalog_with_views import NamedCatalogWithViews
from table_format.catalog.database_location import refuse_new_location
from table_format.catalog.filesystem import DirectoryNames
from table_format.catalog.hive.address import parse_addresses
from table_format.catalog.hive.format_tables import HiveFormatTables
from table_format.catalog.hive.hive_table import is_partitioned
from table_format.catalog.hive.lock import HiveLock
from table_format.catalog.hive.metastore import Metastore
from table_format.catalog.hive.names import HiveNames
from table_format.catalog.hive.partitions import HivePartitions
from table_format.catalog.hive.settings import HiveSettings
from table_format.catalog.hive.site import URIS, WAREHOUSE_DIR, read_site
from table_format.catalog.hive.views import HiveViews
from table_format.catalog.named_catalog import NamedCatalog
from table_format.catalog.table_names import TableName
from table_format.errors import InvalidOption, MetastoreUnavailable, TableNotFound
from table_format.extras import require_installed
from table_format.format_table.table import FormatTable
from table_format.model.identifier import MAIN_BRANCH, SYSTEM_DATABASE, Identifier, branch_suffix
from table_format.model.schema import Schema, TableSchema
from table_format.model.schema_change import SchemaChange
from table_format.options.hive import EXTERNAL, FORMAT_TABLE_ENABLED, URI, HiveOptions
from table_format.table.table import Table
from table_format.table.upkeep.partition_expiry import partition_facts

_log = logging.getLogger(__name__)
_DEFAULT_WAREHOUSE: Final = "/user/hive/warehouse"
"""The default of Hive."""


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class HiveCatalog(NamedCatalogWithViews):
    """A catalog in a Hive metastore; see ``NamedCatalog`` for the other arguments."""

    metastore: Metastore
    settings: HiveSettings
    lists_partitions: ClassVar[bool] = True

    @property
    def names(self) -> HiveNames:
        """The names in the metastore."""
        return HiveNames(self.metastore, self.settings, self.warehouse, self.io, self.runtime)

    @property
    def views(self) -> HiveViews:
        """The views in the metastore."""
        return HiveViews(self.names)

    @property
    def format_tables(self) -> HiveFormatTables:
        """The format tables in the metastore."""
        return HiveFormatTables(self.names)

    def lock_of(self, identifier: Identifier) -> HiveLock | None:
        """Return the lock of a table or a branch, if the catalog has locks."""
        lock = self.settings.lock
        return (
            None
            if lock is None
            else lock.of(identifier.database, f"{identifier.table}{branch_suffix(identifier.branch)}")
        )

    def partitions_of(self, identifier: Identifier, schema: TableSchema) -> HivePartitions | None:
        """Return the partitions of the main branch of a table in the metastore, if they are listed there."""
        if identifier.branch != MAIN_BRANCH or not is_partitioned(schema):
            return None
        return HivePartitions(self.names.entries, _table_name(identifier), self.runtime.clock)

    def create_database(
        self, name: str, *, ignore_if_exists: bool = False, properties: Mapping[str, str] | None = None
    ) -> None:
        """Create an empty database; see ``Catalog``.

        ``properties`` may have ``comment``, ``owner`` and ``location``, and others of any name. Tables are created in
        the location, by default ``<warehouse>/<name>.db``.

        >>> catalog.create_database("shop", properties={"comment": "sales"})  # doctest: +SKIP

        Raises:
            UnsupportedFeature: the location is in another store than the warehouse.
        """
        if self._is_new_database(name, ignore_if_exists=ignore_if_exists):
            self.names.create_database(name, properties or {})

    def list_tables(self, database: str) -> tuple[str, ...]:
        """The names of the tables of a database, sorted, with its format tables; see ``Catalog``."""
        if database == SYSTEM_DATABASE:
            return NamedCatalog.list_tables(self, database)
        self._require_database(database)
        return tuple(sorted(self.format_tables.with_data_tables(database)))

    def list_data_tables(self, database: str) -> tuple[str, ...]:
        """The names of the tables of a database without its format tables, sorted; see ``WithFormatTables``."""
        return NamedCatalog.list_tables(self, database)

    def alter_table(self, name: str, changes: Sequence[SchemaChange] | SchemaChange) -> Table:
        """Change the schema or the options of a table or a branch of it; see ``Catalog``.

        The columns of the main branch are those in the metastore.
        """
        table = NamedCatalog.alter_table(self, name, changes)
        if table.identifier.branch == MAIN_BRANCH:
            try:
                self.names.sync_table(_table_name(table.identifier))
            except MetastoreUnavailable as error:
                # The table is changed. The next change, or a repair, copies its columns again.
                _log.warning("the columns of '%s' in the Hive metastore are not up to date: %s", name, error)
        return table

    def database_properties(self, name: str) -> Mapping[str, str]:
        """Return the properties of a database, such as its comment and its owner, and its location.

        Raises:
            DatabaseNotFound: the database does not exist.
        """
        self._require_database(name)
        return self.names.database_properties(name)

    def alter_database(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set properties of a database, and remove those whose value is ``None``.

        Raises:
            DatabaseNotFound: the database does not exist. InvalidInputError: its location cannot change.
        """
        self._require_database(name)
        refuse_new_location(name, changes)
        self.names.entries.change_database(name, changes)

    def repair_table(self, name: str) -> Table:
        """List a table whose directory exists, or bring its columns in the metastore up to date; load it.

        See ``Repairable``.
        """
        identifier = Identifier.parse(name)
        try:
            self.names.list_table(_table_name(identifier))
        except FileNotFoundError as error:
            message = f"table '{name}' cannot be repaired: {error} has no schema"
            raise TableNotFound(message) from error
        table = self._open(identifier)
        _list_partitions(table)
        return table

    def repair_database(self, name: str) -> tuple[str, ...]:
        """Repair all tables of a database whose directories exist, and list the database; see ``Repairable``."""
        directories = DirectoryNames(self.warehouse, self.io, self.runtime.ids)
        if directories.has_database(name):
            self.names.add_database(name)
        self._require_database(name)
        before = set(self.list_tables(name))
        found = self.names.tables_in_files(name)
        for table in found:
            self.repair_table(f"{name}.{table}")
        return tuple(f"{name}.{table}" for table in found if table not in before)

    def repair_catalog(self) -> tuple[str, ...]:
        """Repair all tables and databases whose directories exist; see ``Repairable``."""
        directories = DirectoryNames(self.warehouse, self.io, self.runtime.ids)
        databases = sorted({*directories.databases(), *self.list_databases()})
        return tuple(table for database in databases for table in self.repair_database(database))

    def _format_table(self, identifier: Identifier) -> FormatTable | None:
        return self.format_tables.find(identifier)

    def _has_format_table(self, identifier: Identifier) -> bool:
        return self.format_tables.has(identifier)

    def _create_format_table(self, identifier: Identifier, schema: Schema, *, ignore_if_exists: bool) -> FormatTable:
        return self.format_tables.create(identifier, schema, ignore_if_exists=ignore_if_exists)

    def _drop_format_table(self, identifier: Identifier) -> bool:
        return self.format_tables.drop(identifier)

    def _keeps_files(self, name: TableName) -> bool:
        return self.names.keeps_files(name)

    def _no_table(self, identifier: Identifier) -> TableNotFound:
        kind = self.names.other_kind(_table_name(identifier))
        if kind is None or self._has_view(identifier):
            return NamedCatalog._no_table(self, identifier)
        name = f"{identifier.database}.{identifier.table}"
        if not self.settings.shows_format_tables:
            advice = f"set '{FORMAT_TABLE_ENABLED.key}' to read tables of plain files"
            return TableNotFound(f"'{name}' is {kind}, and format tables are off in this catalog: {advice}")
        return TableNotFound(f"'{name}' is {kind}, not a table of this format: read it with Hive, or with Spark")


def warehouse_of(options: HiveOptions) -> str:
    """Return the warehouse of a catalog whose options have none: that of hive-site.xml, or of the metastore.

    Raises:
        MetastoreUnavailable: the metastore cannot be reached.
    """
    given = _site(options).get(WAREHOUSE_DIR)
    if given:
        return given
    found: str = _metastore(options).read("get_config_value", WAREHOUSE_DIR, _DEFAULT_WAREHOUSE)
    return found


def open_hive(arguments: CatalogArguments) -> HiveCatalog:
    """Open the catalog. It connects when it is used.

    Raises:
        InvalidOption, UnsupportedFeature: the address is missing or malformed, or the metastore asks for Kerberos.
        PackageMissing: a package is missing.
    """
    options: HiveOptions = arguments.own_options
    metastore = _metastore(options)
    is_locked = arguments.is_locked(given=options.lock_enabled)
    lock = HiveLock(metastore, options.lock_check_max_sleep_ms, options.lock_acquire_timeout_ms)
    settings = HiveSettings(
        locations_in_properties=options.location_in_properties,
        copies_all=options.sync_all_properties,
        creates_external=options.table_type == EXTERNAL,
        cascades=options.alter_table_cascade,
        skips_statistics=options.skip_update_stats,
        shows_format_tables=options.format_table_enabled,
        lock=lock if is_locked else None,
    )
    return HiveCatalog(*arguments.common, metastore=metastore, settings=settings)


def _metastore(options: HiveOptions) -> Metastore:
    site = _site(options)
    uris = options.uri or site.get(URIS)
    if not uris:
        raise InvalidOption(URI.key, "is required: the address of the metastore, such as 'thrift://host:9083'")
    require_installed("thriftpy2")
    return Metastore(parse_addresses(uris), options.client_pool_size)


def _site(options: HiveOptions) -> Mapping[str, str]:
    return read_site(options.hive_conf_dir or os.environ.get("HIVE_CONF_DIR"))


def _list_partitions(table: Table) -> None:
    facts, listed = table.facts, table.store.partitions
    if listed is not None:
        listed.add(sorted(found.partition.strip("/") for found in partition_facts(facts, facts.snapshots.latest())))


def _table_name(identifier: Identifier) -> TableName:
    return TableName(identifier.database, identifier.table)
