"""The names of databases and tables on a REST server, which keeps their schemas and files (Java ``RESTCatalog``).

Every change is one request. The server writes the schemas of a table, moves and deletes its files, and keeps those of
an external table that is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final

from table_format.catalog.database_location import LOCATION
from table_format.catalog.rest.client import RestClient
from table_format.catalog.rest.errors import COLUMN, CONFLICT, NOT_FOUND, RequestRefused, raise_others
from table_format.catalog.rest.requests import identifier_json, schema_change_json, schema_json
from table_format.catalog.table_names import FirstSchema, TableName
from table_format.errors import (
    AlreadyExistsError,
    ColumnNotFound,
    DatabaseNotFound,
    InvalidInputError,
    InvalidSchemaChange,
    MetastoreUnavailable,
    TableNotFound,
)
from table_format.io.stores import STORES, scheme_of
from table_format.model.identifier import SYSTEM_DATABASE
from table_format.model.schema_change import SchemaChange

_TABLES: Final = ("table", "materialized-table")
"""The types of tables with snapshots."""


@dataclass(frozen=True, slots=True)
class RestTable:
    """A table on the server. ``location`` is its directory, a URI or a path of this machine."""

    id: str
    location: str
    type: str
    is_external: bool

    @property
    def has_snapshots(self) -> bool:
        """Whether it is a table of this format, and not one of other files."""
        return self.type in _TABLES

    @property
    def path(self) -> str:
        """The directory as its store names it."""
        store = STORES.get(scheme_of(self.location))
        return self.location if store is None else store.place_of(self.location)


@dataclass(frozen=True, slots=True)
class RestNames:
    """``TableNames`` on a REST server."""

    client: RestClient

    # --- databases --------------------------------------------------------------------------------------------------

    def databases(self) -> Iterable[str]:
        """Return the databases; ``sys`` is that of the catalog."""
        return [name for name in self.client.listed("databases", "databases") if name != SYSTEM_DATABASE]

    def has_database(self, database: str) -> bool:
        """Return whether the server has the database."""
        return self.properties_of(database) is not None

    def properties_of(self, database: str) -> Mapping[str, str] | None:
        """Return the properties of a database with its location; ``None`` if there is none of this name."""
        found = self.client.find("databases", database)
        if found is None:
            return None
        location = found.get(LOCATION)
        return {**(found.get("options") or {}), **({} if location is None else {LOCATION: location})}

    def add_database(self, database: str) -> None:
        """Create a database without properties."""
        self.create_database(database, {})

    def create_database(self, database: str, properties: Mapping[str, str]) -> None:
        """Create a database; do nothing if it exists."""
        try:
            self.client.post("databases", body={"name": database, "options": dict(properties)})
        except RequestRefused as refused:
            if refused.code != CONFLICT:
                raise_others(refused)

    def change_database(self, database: str, changes: Mapping[str, str | None]) -> None:
        """Set properties of a database, and remove those whose value is ``None``."""
        removals = [key for key, value in changes.items() if value is None]
        updates = {key: value for key, value in changes.items() if value is not None}
        try:
            self.client.post("databases", database, body={"removals": removals, "updates": updates})
        except RequestRefused as refused:
            raise_others(refused)

    def drop_database(self, database: str, *, cascade: bool) -> bool:
        """Drop a database with its tables and their files; see ``TableNames``."""
        try:
            views = [] if cascade else list(self.client.listed("views", "databases", database, "views"))
            if views:
                found = ", ".join(sorted(views))
                message = (
                    f"database '{database}' is not empty: it has the view {found}; a drop with cascade drops it too"
                )
                raise InvalidInputError(message)
            self.client.delete("databases", database)
        except RequestRefused as refused:
            if refused.code == NOT_FOUND:
                return False
            raise_others(refused)
        return True

    # --- tables -----------------------------------------------------------------------------------------------------

    def tables(self, database: str) -> Iterable[str]:
        """Return all tables, of whatever type."""
        return self._listed(database)

    def tables_with_snapshots(self, database: str) -> Iterable[str]:
        """Return the tables of this format."""
        return [name for kind in _TABLES for name in self._listed(database, tableType=kind)]

    def find(self, name: TableName) -> RestTable | None:
        """Return a table; ``None`` if there is none of this name."""
        found = self.client.find("databases", name.database, "tables", name.table)
        if found is None:
            return None
        options = (found.get("schema") or {}).get("options") or {}
        if not found.get("path"):
            message = f"the REST catalog at {self.client.address} does not say where the files of '{name}' are"
            raise MetastoreUnavailable(message)
        return RestTable(
            id=found.get("id") or "",
            location=found["path"],
            type=options.get("type") or _TABLES[0],
            is_external=bool(found.get("isExternal")),
        )

    def root_of(self, name: TableName) -> str | None:
        """Return the directory of a table."""
        found = self.find(name)
        return None if found is None else found.path

    def add_table(self, name: TableName, write_first_schema: FirstSchema) -> None:
        """Create a table with its schema; see ``TableNames``.

        Raises:
            DatabaseNotFound: the server has no such database.
        """
        body = {"identifier": identifier_json(name), "schema": schema_json(write_first_schema.schema)}
        try:
            self.client.post("databases", name.database, "tables", body=body)
        except RequestRefused as refused:
            if refused.code == CONFLICT:
                message = f"table '{name}' already exists"
                raise AlreadyExistsError(message) from refused
            if refused.code == NOT_FOUND:
                message = f"database '{name.database}' does not exist"
                raise DatabaseNotFound(message) from refused
            raise_others(refused)

    def change_table(self, name: TableName, changes: Sequence[SchemaChange]) -> None:
        """Change the schema of a table, or of a branch whose suffix the name has.

        Raises:
            TableNotFound, ColumnNotFound, AlreadyExistsError, InvalidSchemaChange: the server refuses.
        """
        body = {"changes": [schema_change_json(change) for change in changes]}
        try:
            self.client.post("databases", name.database, "tables", name.table, body=body)
        except RequestRefused as refused:
            if refused.code == NOT_FOUND and refused.kind == COLUMN:
                raise ColumnNotFound(str(refused)) from refused
            if refused.code == NOT_FOUND:
                message = f"table '{name}' does not exist: {refused}"
                raise TableNotFound(message) from refused
            if refused.code == CONFLICT:
                raise InvalidSchemaChange(str(refused)) from refused
            raise_others(refused)

    def rename_table(self, source: TableName, target: TableName) -> None:
        """Rename a table; see ``TableNames``."""
        body = {"source": identifier_json(source), "destination": identifier_json(target)}
        try:
            self.client.post("tables", "rename", body=body)
        except RequestRefused as refused:
            if refused.code == NOT_FOUND:
                raise FileNotFoundError(str(source)) from refused
            if refused.code == CONFLICT:
                raise FileExistsError(str(target)) from refused
            raise_others(refused)

    def drop_table(self, name: TableName) -> bool:
        """Drop a table of any type; see ``TableNames``."""
        try:
            self.client.delete("databases", name.database, "tables", name.table)
        except RequestRefused as refused:
            if refused.code == NOT_FOUND:
                return False
            raise_others(refused)
        return True

    def locked(self, name: TableName) -> AbstractContextManager[None]:  # noqa: ARG002 - the protocol's
        """Do nothing: each change is one request."""
        return nullcontext()

    def _listed(self, database: str, **query: str) -> Sequence[str]:
        try:
            return list(self.client.listed("tables", "databases", database, "tables", **query))
        except RequestRefused as refused:
            if refused.code == NOT_FOUND:
                message = f"database '{database}' does not exist"
                raise DatabaseNotFound(message) from refused
            raise_others(refused)
