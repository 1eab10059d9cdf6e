"""The format tables of a catalog in a Hive metastore: plain tables of Hive, and those that a catalog has created.

Nothing is written for a new format table but its entry: a directory with files may exist before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from table_format.catalog.dropping import drop_existing_directory
from table_format.catalog.hive.format_entries import (
    check_columns,
    file_format_of,
    schema_of,
    with_options_of_new_table,
)
from table_format.catalog.hive.hive_table import is_external, is_paimon
from table_format.catalog.hive.names import HiveNames, require_lower_case
from table_format.catalog.hive.partitions import HivePartitions
from table_format.catalog.table_directory import holds_table
from table_format.catalog.table_names import TableName
from table_format.errors import AlreadyExistsError, ConflictError, UnsupportedFeature
from table_format.format_table.table import FormatTable
from table_format.model.identifier import Identifier
from table_format.model.schema import Schema
from table_format.options.format_table import check_new_options
from table_format.options.hive import FORMAT_TABLE_ENABLED


@dataclass(frozen=True, slots=True)
class HiveFormatTables:
    """Lists, loads, creates and drops format tables, if the catalog shows them."""

    names: HiveNames

    @property
    def is_enabled(self) -> bool:
        """Whether the catalog shows format tables (``format-table.enabled``)."""
        return self.names.settings.shows_format_tables

    def with_data_tables(self, database: str) -> Iterable[str]:
        """Return the names of all tables of a database: data tables and format tables."""
        tables = self.names.entries.tables(database)
        return [
            table.tableName
            for table in tables
            if is_paimon(table) or (self.is_enabled and file_format_of(table) is not None)
        ]

    def has(self, identifier: Identifier) -> bool:
        """Return whether there is a format table of this name. It may be one that this version cannot read."""
        return self._entry(identifier) is not None

    def find(self, identifier: Identifier) -> FormatTable | None:
        """Return a format table; ``None`` if there is none of this name.

        Raises:
            UnsupportedFeature: it has a column type that this library does not have, or is in another store.
        """
        table = self._entry(identifier)
        root = None if table is None else self.names.entries.locations.of_table(table)
        if root is None:
            return None
        names = self.names
        partitions = HivePartitions(names.entries, _name(identifier), names.runtime.clock)
        plain = Identifier(identifier.database, identifier.table)
        schema = schema_of(table, names.entries.locations.uri_of(table) or root)
        return FormatTable(plain, names.io, root, schema, names.runtime, partitions)

    def create(self, identifier: Identifier, wanted: Schema, *, ignore_if_exists: bool) -> FormatTable:
        """Create a format table, and load it. A directory may be given as the option ``path``: then the table is
        external.

        Raises:
            AlreadyExistsError: a table or a view has the name. ConflictError: the directory holds a data table.
            InvalidSchema, InvalidOption, UnsupportedFeature: no format table can have this schema.
        """
        if not self.is_enabled:
            feature = f"{FORMAT_TABLE_ENABLED.key}=false"
            message = f"'{identifier}' cannot be created: format tables are off in this catalog ({feature})"
            raise UnsupportedFeature(feature, message)
        schema = with_options_of_new_table(wanted)
        options = check_new_options(schema.options)
        check_columns(schema, options)
        name = _name(identifier)
        require_lower_case(name.table, "table")
        entries = self.names.entries
        location = options.path
        root = f"{self.names.directory_of(name.database)}/{name.table}"
        if location is not None:
            root = entries.locations.path_of(location)
        if holds_table(self.names.io, root):
            message = f"'{identifier}' cannot be a format table: {root} holds a data table"
            raise ConflictError(message)
        external = location is not None or self.names.settings.creates_external
        seconds = self.names.runtime.clock.now_ms() // 1000
        is_new = entries.create_format_table(name, root, schema, options, seconds=seconds, external=external)
        found = self.find(identifier)
        if found is None or not (is_new or ignore_if_exists):
            message = f"table '{identifier}' already exists, or a view of this name"
            raise AlreadyExistsError(message)
        return found

    def drop(self, identifier: Identifier) -> bool:
        """Drop a format table with its files, unless it is external. Return whether there was one."""
        table = self._entry(identifier)
        if table is None:
            return False
        root = self.names.entries.locations.of_table(table)
        self.names.entries.delete_table(_name(identifier))
        if root is not None and not is_external(table):
            drop_existing_directory(self.names.io, root, self.names.runtime.ids)
        return True

    def _entry(self, identifier: Identifier) -> Any:  # noqa: ANN401 - a structure of Thrift
        table = self.names.entries.table(_name(identifier)) if self.is_enabled else None
        return None if table is None or file_format_of(table) is None else table


def _name(identifier: Identifier) -> TableName:
    return TableName(identifier.database, identifier.table)
