"""The databases and tables of a Hive metastore: found, added, changed and deleted there. Files are not touched.

If the metastore does not answer a change, it is asked whether it has made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from table_format.catalog.hive.database_properties import properties_of, set_properties
from table_format.catalog.hive.format_entries import fill_entry
from table_format.catalog.hive.hive_table import is_paimon, is_view, new_table, new_view, set_schema, shows
from table_format.catalog.hive.locations import Locations
from table_format.catalog.hive.metastore import Metastore, Refused, thrift, user_name
from table_format.catalog.hive.settings import HiveSettings
from table_format.catalog.table_names import TableName
from table_format.errors import (
    AlreadyExistsError,
    InvalidIdentifier,
    InvalidInputError,
    MetastoreUnavailable,
    TableFormatError,
    UnsupportedFeature,
)
from table_format.io.partition_path import escape
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.schema import Schema
from table_format.model.view import View
from table_format.options.files import PATH_DIRECTORY
from table_format.options.format_table import FormatTableOptions

_BATCH: Final = 300
"""Tables that are asked for in one call."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a metastore. Those of databases and tables are structures of Thrift."""

    metastore: Metastore
    locations: Locations
    settings: HiveSettings

    def databases(self) -> list[str]:
        """Return the names of all databases."""
        names: list[str] = self.metastore.read("get_all_databases")
        return names

    def database(self, name: str) -> Any:  # noqa: ANN401 - a structure of Thrift
        """Return a database; ``None`` if it does not exist."""
        return self._found("get_database", name) if is_lower_case(name) else None

    def tables(self, database: str) -> Iterator[Any]:
        """Yield the tables of a database, of any format."""
        names = self.metastore.read("get_all_tables", database)
        for start in range(0, len(names), _BATCH):
            request = thrift().GetTablesRequest(database, names[start : start + _BATCH])
            yield from self.metastore.read("get_table_objects_by_name_req", request).tables

    def table(self, name: TableName) -> Any:  # noqa: ANN401 - a structure of Thrift
        """Return a table of any format; ``None`` if it does not exist."""
        if not is_lower_case(f"{name}"):
            return None
        found = self._found("get_table_req", thrift().GetTableRequest(name.database, name.table))
        return None if found is None else found.table

    def paimon_table(self, name: TableName) -> Any:  # noqa: ANN401 - a structure of Thrift
        """Return a table of this format; ``None`` if there is none."""
        table = self.table(name)
        return table if table is not None and is_paimon(table) else None

    def root_of(self, name: TableName) -> str | None:
        """Return the directory of a table of this format."""
        table = self.paimon_table(name)
        return None if table is None else self.locations.of_table(table)

    def create_database(self, name: str, directory: str, properties: Mapping[str, str]) -> None:
        """Create a database; do nothing if it exists."""
        database = thrift().Database(name=name, parameters={})
        set_properties(database, properties)
        self.locations.set_database(database, directory)
        self._create(
            "create_database",
            database,
            done=lambda: self.database(name) is not None,
            illegal=lambda refused: InvalidIdentifier(f"database name {name!r} is not legal in Hive: {refused}"),
        )

    def change_database(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set properties of a database, and remove those whose value is ``None``.

        Raises:
            UnsupportedFeature: the metastore has kept some. Hive 2 does not change a comment.
        """
        database = self.metastore.read("get_database", name)
        set_properties(database, changes)
        self.metastore.change("alter_database", name, database)
        found = properties_of(self.metastore.read("get_database", name))
        kept = sorted(key for key in changes if found.get(key) != (changes[key] or None))
        if kept:
            feature = f"change of {', '.join(map(repr, kept))} of a database"
            message = f"the Hive metastore, {self.metastore}, does not change {', '.join(kept)} of database '{name}'"
            raise UnsupportedFeature(feature, message)

    def delete_database(self, name: str, *, cascade: bool) -> None:
        """Delete a database, with ``cascade`` including its tables."""
        self._change("drop_database", name, False, cascade, done=lambda: self.database(name) is None)

    def create_table(self, name: TableName, root: str, schemas: SchemaStore, *, seconds: int) -> None:
        """Create a table with the latest schema. ``seconds`` is the time since 1970.

        Raises:
            AlreadyExistsError: there is another one of that name. InvalidInputError: its name or a column is not legal
            in Hive.
        """
        external = self.settings.creates_external
        table = new_table(name.database, name.table, owner=user_name(), seconds=seconds, external=external)
        set_schema(table, schemas.latest(), earlier=(), copies_all=self.settings.copies_all)
        self.locations.set_table(table, root)
        is_new = self._create(
            "create_table",
            table,
            done=lambda: self.root_of(name) == root,
            illegal=lambda refused: InvalidInputError(f"table '{name}' cannot be in a Hive metastore: {refused}"),
        )
        # Another process may have repaired this one.
        if not is_new and self.root_of(name) != root:
            message = f"table '{name}' already exists"
            raise AlreadyExistsError(message)

    def create_format_table(
        self, name: TableName, root: str, schema: Schema, options: FormatTableOptions, *, seconds: int, external: bool
    ) -> bool:
        """Create a format table. Return ``False`` if there is something of this name. ``seconds`` is the time since
        1970.

        Raises:
            InvalidInputError: its name or a column is not legal in Hive.
        """
        table = new_table(name.database, name.table, owner=user_name(), seconds=seconds, external=external)
        fill_entry(table, schema, options)
        self.locations.set_table(table, root)
        return self._create(
            "create_table",
            table,
            done=lambda: self.table(name) is not None,
            illegal=lambda refused: InvalidInputError(f"table '{name}' cannot be in a Hive metastore: {refused}"),
        )

    def create_view(self, name: TableName, view: View, *, seconds: int) -> None:
        """Create a view. ``seconds`` is the time since 1970.

        Raises:
            AlreadyExistsError: another process has just taken the name. InvalidInputError: the name is not legal in
            Hive.
        """
        table = new_view(name, view, owner=user_name(), seconds=seconds)
        is_new = self._create(
            "create_table",
            table,
            done=lambda: is_view(self.table(name)),
            illegal=lambda refused: InvalidInputError(f"view '{name}' cannot be in a Hive metastore: {refused}"),
        )
        if not is_new:
            message = f"view '{name}' already exists, or a table of this name"
            raise AlreadyExistsError(message)

    def change_view(self, name: TableName, view: Any) -> None:  # noqa: ANN401 - a structure of Thrift
        """Replace a view."""
        self._alter(name, view)

    def update_table(self, name: TableName, table: Any, root: str, schemas: SchemaStore) -> None:  # noqa: ANN401
        """Give a table a directory, and the columns and options of the latest schema, unless it has them."""
        latest = schemas.latest()
        wanted = _copy(table)
        earlier = (schemas.load(latest.id - 1),) if latest.id else ()
        set_schema(wanted, latest, earlier=earlier, copies_all=self.settings.copies_all)
        if self.locations.of_table(table) != root:
            self.locations.set_table(wanted, root)
        elif shows(table, wanted):
            return
        self._alter(name, wanted)

    def rename_table(self, source: TableName, target: TableName, table: Any) -> None:  # noqa: ANN401
        """Give a table another name, and the location that it has now.

        Raises:
            FileExistsError: there is one of that name.
        """
        table.dbName, table.tableName = target.database, target.table
        try:
            self._alter(source, table)
        except Refused as refused:
            if self.table(target) is not None:
                raise FileExistsError(str(target)) from refused
            raise
        except MetastoreUnavailable:
            if self.table(source) is not None or self.table(target) is None:
                raise

    def delete_table(self, name: TableName) -> None:
        """Delete a table."""
        self._change("drop_table", name.database, name.table, False, done=lambda: self.table(name) is None)

    def add_partitions(self, name: TableName, partitions: Mapping[str, list[str]], *, seconds: int) -> None:
        """Add partitions with these directories below the table and values. Those that exist stay.

        Nothing is done if the metastore does not know the table, or not as a partitioned one.
        """
        table = self.table(name)
        if table is None or not table.partitionKeys:
            return
        api, added = thrift(), []
        for directory, values in partitions.items():
            partition = api.Partition(
                values=values,
                dbName=name.database,
                tableName=name.table,
                createTime=seconds,
                lastAccessTime=seconds,
                sd=api.StorageDescriptor(**vars(table.sd)),
                parameters={},
            )
            self.locations.set_uri(partition, self._partition_uri(table, directory))
            added.append(partition)
        request = api.AddPartitionsRequest(name.database, name.table, added, ifNotExists=True, needResult=False)
        self.metastore.read("add_partitions_req", request)

    def relocate_partitions(self, name: TableName) -> None:
        """Give the partitions of a table the locations in its directory, which may have been moved."""
        table = self.paimon_table(name)
        if table is None or not table.partitionKeys:
            return
        keys = [key.name for key in table.partitionKeys]
        moved = []
        for partition in self.metastore.read("get_partitions", name.database, name.table, -1):
            parts = zip(keys, partition.values, strict=True)
            directory = "/".join(f"{escape(key)}={escape(value)}" for key, value in parts)
            uri = self._partition_uri(table, directory)
            if self.locations.uri_of(partition) != uri:
                self.locations.set_uri(partition, uri)
                moved.append(partition)
        if moved:
            self.metastore.read("alter_partitions", name.database, name.table, moved)

    def delete_partition(self, name: TableName, values: list[str]) -> None:
        """Delete a partition, if it exists."""
        try:
            self.metastore.change("drop_partition", name.database, name.table, values, False)
        except Refused as refused:
            if refused.kind != "NoSuchObjectException":
                raise

    def _partition_uri(self, table: Any, directory: str) -> str:  # noqa: ANN401 - a structure of Thrift
        below = (table.parameters or {}).get(PATH_DIRECTORY.key, "").strip("/")
        return "/".join(part for part in (self.locations.uri_of(table), below, directory) if part)

    def _found(self, method: str, argument: object) -> Any:  # noqa: ANN401 - what the method returns
        try:
            return self.metastore.read(method, argument)
        except Refused as refused:
            if refused.kind == "NoSuchObjectException":
                return None
            raise

    def _alter(self, name: TableName, table: Any) -> None:  # noqa: ANN401 - a structure of Thrift
        properties = {"DO_NOT_UPDATE_STATS": str(self.settings.skips_statistics).lower()}
        if self.settings.cascades and table.partitionKeys:
            properties["CASCADE"] = "true"
        context = thrift().EnvironmentContext(properties)
        self.metastore.change("alter_table_with_environment_context", name.database, name.table, table, context)

    def _create(
        self,
        method: str,
        entry: object,
        *,
        done: Callable[[], bool],
        illegal: Callable[[Refused], TableFormatError],
    ) -> bool:
        """Create an entry. Return ``False`` if there is one of its name. Raises what ``illegal`` returns."""
        try:
            self._change(method, entry, done=done)
        except Refused as refused:
            if refused.kind == "InvalidObjectException":
                raise illegal(refused) from refused
            if refused.kind != "AlreadyExistsException":
                raise
            return False
        return True

    def _change(self, method: str, *arguments: object, done: Callable[[], bool]) -> None:
        """Change something. If no answer comes, ask whether it is done."""
        try:
            self.metastore.change(method, *arguments)
        except Refused:
            raise
        except MetastoreUnavailable:
            if not done():
                raise


def is_lower_case(name: str) -> bool:
    """Return whether a name is one that the metastore can tell from others: it ignores case."""
    return name == name.lower()


def _copy(table: Any) -> Any:  # noqa: ANN401 - a structure of Thrift
    api = thrift()
    copy = api.Table(**vars(table))
    copy.sd = api.StorageDescriptor(**vars(table.sd))
    copy.sd.serdeInfo = api.SerDeInfo(**vars(table.sd.serdeInfo))
    copy.parameters = dict(table.parameters or {})
    return copy
