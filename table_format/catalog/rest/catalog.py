"""The catalog whose databases and tables are those of a REST server (Java ``RESTCatalog``).

The server writes the schemas and publishes the snapshots. This library writes all other files of a table, to the
directory that the server names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from table_format.catalog.arguments import CatalogArguments
from table_format.catalog.catalog_with_views import NamedCatalogWithViews
from table_format.catalog.database_location import refuse_new_location
from table_format.catalog.named_catalog import NamedCatalog, SchemaCheck
from table_format.catalog.rest.address import HEADER_PREFIX, check_header, parse_uri
from table_format.catalog.rest.client import RestClient
from table_format.catalog.rest.config import PREFIX, merged_options
from table_format.catalog.rest.names import RestNames
from table_format.catalog.rest.table_server import RestTableServer
from table_format.catalog.rest.views import RestViews
from table_format.catalog.table_names import TableName
from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.extras import require_installed
from table_format.format_table.table import FormatTable
from table_format.io.file_io import RemoteStore
from table_format.io.locations import Locations
from table_format.io.paths import TablePaths
from table_format.io.table_store import TableStore
from table_format.metastore.schema.schema_changes import apply_changes
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.identifier import SYSTEM_DATABASE, Identifier, branch_suffix
from table_format.model.schema import Schema
from table_format.model.schema_change import SchemaChange
from table_format.options.catalog import TABLE_DEFAULT
from table_format.options.check import check_options
from table_format.options.identity import PATH
from table_format.options.kind import is_object_table
from table_format.options.rest import HEADER, TOKEN, TOKEN_PROVIDER, URI, RestOptions
from table_format.table.table import Table


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RestCatalog(NamedCatalogWithViews):
    """A catalog on a REST server; see ``NamedCatalog`` for the other arguments.

    ``warehouse`` is a name on the server. ``locations`` opens the store of each table.
    """

    client: RestClient
    lists_partitions: ClassVar[bool] = True

    @property
    def names(self) -> RestNames:
        """The names on the server."""
        return RestNames(self.client)

    @property
    def views(self) -> RestViews:
        """The views on the server."""
        return RestViews(self.names)

    def create_database(
        self, name: str, *, ignore_if_exists: bool = False, properties: Mapping[str, str] | None = None
    ) -> None:
        """Create an empty database; see ``Catalog``. ``properties`` may have any names.

        >>> catalog.create_database("shop", properties={"comment": "sales"})  # doctest: +SKIP
        """
        if self._is_new_database(name, ignore_if_exists=ignore_if_exists):
            self.names.create_database(name, properties or {})

    def database_properties(self, name: str) -> Mapping[str, str]:
        """Return the properties of a database, such as its comment, and its location.

        Raises:
            DatabaseNotFound: the database does not exist.
        """
        self._require_database(name)
        return self.names.properties_of(name) or {}

    def alter_database(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set properties of a database, and remove those whose value is ``None``.

        Raises:
            DatabaseNotFound: the database does not exist. InvalidInputError: its location cannot change.
        """
        self._require_database(name)
        refuse_new_location(name, changes)
        self.names.change_database(name, changes)

    def list_data_tables(self, database: str) -> tuple[str, ...]:
        """The names of the tables of a database that have snapshots, sorted; see ``WithFormatTables``."""
        if database == SYSTEM_DATABASE:
            return self.list_tables(database)
        self._require_database(database)
        return tuple(sorted(self.names.tables_with_snapshots(database)))

    def create_table(self, name: str, schema: Schema, *, ignore_if_exists: bool = False) -> Table:
        """Create an empty table and load it; see ``Catalog``.

        Raises:
            UnsupportedFeature: it would be an object table or a format table.
        """
        if isinstance(schema, Schema) and isinstance(schema.options, Mapping) and is_object_table(schema.options):
            raise _no_other_tables(name, "object-table")
        return NamedCatalog.create_table(self, name, schema, ignore_if_exists=ignore_if_exists)

    def _find_store(self, identifier: Identifier) -> TableStore | None:
        name = TableName(identifier.database, identifier.table)
        found = self.names.find(name)
        if found is None or not found.has_snapshots:
            return None
        location = self.locations.find(found.location, PATH.key)
        paths = TablePaths(
            location.path, identifier.branch, has_external_files=not isinstance(location.io, RemoteStore)
        )
        # As in Java: the server keeps only the name of an external table.
        server = None if found.is_external else RestTableServer(self.client, name, found.id)
        return TableStore(location.io, paths, self.runtime, server=server)

    def _has_format_table(self, identifier: Identifier) -> bool:
        return self._other_type(identifier) is not None

    def _format_table(self, identifier: Identifier) -> FormatTable | None:
        other = self._other_type(identifier)
        if other is not None:
            raise _no_other_tables(str(TableName(identifier.database, identifier.table)), other)
        return None

    def _other_type(self, identifier: Identifier) -> str | None:
        """Return the type of a table without snapshots; ``None`` if there is none of this name."""
        found = self.names.find(TableName(identifier.database, identifier.table))
        return None if found is None or found.has_snapshots else found.type

    def _change_schema(
        self, identifier: Identifier, store: TableStore, changes: Sequence[SchemaChange], check: SchemaCheck
    ) -> None:
        current = SchemaStore(store).latest()
        changed = apply_changes(current, changes)
        if changed is not current:
            check(current, changed)
            table = f"{identifier.table}{branch_suffix(identifier.branch)}"
            self.names.change_table(TableName(identifier.database, table), changes)

    def _files_outside(self, root: str | None) -> Sequence[str]:  # noqa: ARG002 - the server deletes all files
        return ()

    def _lacks_warehouse(self, databases: Sequence[str]) -> bool:  # noqa: ARG002 - the server has answered
        return False


def open_rest(arguments: CatalogArguments) -> RestCatalog:
    """Open the catalog: ask the server for its configuration.

    Raises:
        InvalidOption: an option is missing or malformed. PackageMissing: a package is missing.
        UnsupportedFeature: the server asks for what this version does not support.
        MetastoreUnavailable: the server cannot be reached, or refuses.
    """
    options: RestOptions = arguments.own_options
    if options.uri is None:
        raise InvalidOption(URI.key, "is required: the address of the server, such as 'https://catalog.example.com'")
    if options.token_provider is None:
        raise InvalidOption(TOKEN_PROVIDER.key, "is required: 'bear' sends the option 'token' with each request")
    if options.token is None:
        raise InvalidOption(TOKEN.key, "is required: each request carries it")
    require_installed("urllib3", extra="rest")
    address, headers = parse_uri(options.uri), tuple(options.headers.items())
    check_header(TOKEN.key, options.token)
    for name, value in headers:
        check_header(f"{HEADER_PREFIX}{name}", value)
    first = RestClient(address, options.token, headers, runtime=arguments.runtime)
    merged = merged_options(first, arguments.warehouse, arguments.options)
    prefix = merged.get(PREFIX)
    client = first.with_config(str(prefix) if prefix else None, HEADER.read(merged))
    defaults = TABLE_DEFAULT.read(merged)
    check_options(defaults)
    given = replace(
        arguments,
        table_defaults=defaults,
        locations=Locations(merged, arguments.locations.local),
    )
    return RestCatalog(*given.common, client=client)


def _no_other_tables(name: str, kind: str) -> UnsupportedFeature:
    feature = f"a table of the type {kind} in a REST catalog"
    message = f"'{name}' is a table of the type '{kind}', which this version does not support in a REST catalog"
    return UnsupportedFeature(feature, message)
