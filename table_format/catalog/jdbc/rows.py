"""The rows of one catalog in the tables of the database. All names are bound parameters.

Each function runs in the transaction of the connection that it gets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    collate,
    delete,
    insert,
    literal,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.exc import IntegrityError

from table_format.catalog.jdbc.address import MYSQL
from table_format.catalog.jdbc.tables import DATABASE_PROPERTIES, TABLE_PROPERTIES, TABLES, VIEWS
from table_format.catalog.table_names import TableName
from table_format.errors import AlreadyExistsError, InvalidInputError

_OF_DATABASES: Final = (TABLES, DATABASE_PROPERTIES, VIEWS, TABLE_PROPERTIES)
"""The first three show that a database exists."""
_OF_TABLES: Final = (TABLES, TABLE_PROPERTIES)


@dataclass(frozen=True, slots=True)
class CatalogRows:
    """The rows of the catalog with this key. ``kind`` is that of the database."""

    catalog_key: str
    kind: str

    def databases(self, connection: Connection) -> Sequence[str]:
        """Return the databases that have a table, a property or a view."""
        of_catalog = (select(t.c.database_name).where(self._in_catalog(t)).distinct() for t in _OF_DATABASES[:3])
        return list(dict.fromkeys(name for (name,) in connection.execute(union_all(*of_catalog))))

    def has_database(self, connection: Connection, database: str) -> bool:
        """Return whether a database has a table, a property or a view."""
        return any(
            connection.execute(select(t.c.database_name).where(self._in_database(t, database)).limit(1)).first()
            for t in _OF_DATABASES[:3]
        )

    def delete_database(self, connection: Connection, database: str) -> tuple[int, int, int]:
        """Delete all rows of a database. Return how many tables, properties and views it had."""
        tables, properties, views, _ = (
            connection.execute(delete(t).where(self._in_database(t, database))).rowcount for t in _OF_DATABASES
        )
        return tables, properties, views

    def database_properties(self, connection: Connection, database: str) -> Mapping[str, str]:
        """Return the properties of a database by key."""
        t = DATABASE_PROPERTIES
        found = connection.execute(select(t.c.property_key, t.c.property_value).where(self._in_database(t, database)))
        return {row.property_key: row.property_value for row in found}

    def insert_database(self, connection: Connection, database: str, properties: Mapping[str, str]) -> None:
        """Add properties of a database, all or none.

        Raises:
            AlreadyExistsError: it has one of them.
        """
        names = {"catalog_key": self.catalog_key, "database_name": database}
        rows = [{**names, "property_key": key, "property_value": value} for key, value in properties.items()]
        self._insert(connection, DATABASE_PROPERTIES, rows, f"database '{database}'")

    def delete_database_properties(self, connection: Connection, database: str, keys: Collection[str]) -> None:
        """Delete properties of a database."""
        t = DATABASE_PROPERTIES
        is_one = or_(False, *(self._equal(t.c.property_key, key) for key in keys))
        connection.execute(delete(t).where(self._in_database(t, database), is_one))

    def tables(self, connection: Connection, database: str) -> Sequence[str]:
        """Return the names of the tables of a database."""
        found = connection.execute(select(TABLES.c.table_name).where(self._in_database(TABLES, database)))
        return [name for (name,) in found]

    def has_table(self, connection: Connection, name: TableName) -> bool:
        """Return whether a table is listed."""
        return connection.execute(select(TABLES.c.table_name).where(self._of_table(TABLES, name))).first() is not None

    def insert_table(self, connection: Connection, name: TableName) -> None:
        """List a table.

        Raises:
            AlreadyExistsError: it is listed, or a view has the name; the transaction has failed.
        """
        self._insert(connection, TABLES, [self._columns(name)], f"table '{name}'")
        self._claim_view(connection, name)

    def delete_table(self, connection: Connection, name: TableName) -> bool:
        """Delete a table with its properties. Return whether it was listed."""
        deleted, _ = (connection.execute(delete(t).where(self._of_table(t, name))).rowcount for t in _OF_TABLES)
        return deleted > 0

    def rename_table(self, connection: Connection, source: TableName, target: TableName) -> bool:
        """Give a table and its properties another name. Return whether it was listed.

        Raises:
            AlreadyExistsError: the new name is listed; the transaction has failed.
        """
        # Properties under the new name are those of a table that another engine has dropped.
        connection.execute(delete(TABLE_PROPERTIES).where(self._of_table(TABLE_PROPERTIES, target)))
        try:
            renamed, _ = (
                connection.execute(update(t).where(self._of_table(t, source)).values(self._columns(target))).rowcount
                for t in _OF_TABLES
            )
        except IntegrityError as error:
            raise self._taken(connection, TABLES, [self._columns(target)], f"table '{target}'") from error
        self._claim_view(connection, target)
        return renamed > 0

    def table_properties(self, connection: Connection, name: TableName) -> Mapping[str, str]:
        """Return the copies of the options of a table by key."""
        t = TABLE_PROPERTIES
        found = connection.execute(select(t.c.property_key, t.c.property_value).where(self._of_table(t, name)))
        return {row.property_key: row.property_value for row in found}

    def set_table_properties(self, connection: Connection, name: TableName, properties: Mapping[str, str]) -> None:
        """Replace the copies of the options of a table."""
        connection.execute(delete(TABLE_PROPERTIES).where(self._of_table(TABLE_PROPERTIES, name)))
        names = self._columns(name)
        rows = [{**names, "property_key": key, "property_value": value} for key, value in properties.items()]
        self._insert(connection, TABLE_PROPERTIES, rows, f"table '{name}'")

    # --- views ------------------------------------------------------------------------------------------------------

    def views(self, connection: Connection, database: str) -> Sequence[str]:
        """Return the names of the views of a database."""
        found = connection.execute(select(VIEWS.c.view_name).where(self._in_database(VIEWS, database)))
        return [name for (name,) in found]

    def view(self, connection: Connection, name: TableName) -> str | None:
        """Return the JSON of a view; ``None`` if there is no such view."""
        found = connection.execute(select(VIEWS.c.view_schema).where(self._of_view(name))).first()
        return None if found is None else str(found.view_schema)

    def insert_view(self, connection: Connection, name: TableName, text: str) -> None:
        """Store a view.

        Raises:
            AlreadyExistsError: a view or a table has the name; the transaction has failed.
        """
        self._claim_table(connection, name)
        self._insert(connection, VIEWS, [self._view_columns(name, text)], f"view '{name}'")

    def update_view(self, connection: Connection, name: TableName, text: str, *, before: str) -> bool:
        """Replace the JSON of a view. Return whether it was still the one before."""
        is_same = self._equal(VIEWS.c.view_schema, before)
        return (
            connection.execute(update(VIEWS).where(self._of_view(name), is_same).values(view_schema=text)).rowcount > 0
        )

    def rename_view(self, connection: Connection, source: TableName, target: TableName) -> bool:
        """Give a view another name. Return whether it was listed.

        Raises:
            AlreadyExistsError: a view or a table has the new name; the transaction has failed.
        """
        self._claim_table(connection, target)
        new = self._view_columns(target)
        try:
            return connection.execute(update(VIEWS).where(self._of_view(source)).values(new)).rowcount > 0
        except IntegrityError as error:
            raise self._taken(connection, VIEWS, [new], f"view '{target}'") from error

    def delete_view(self, connection: Connection, name: TableName) -> bool:
        """Delete a view. Return whether it was listed."""
        return connection.execute(delete(VIEWS).where(self._of_view(name))).rowcount > 0

    # A name belongs to a table or to a view. Their rows are in two database tables. A transaction that takes a name
    # inserts it into both, first among the tables, and then deletes the row that it does not need. The primary keys
    # make two transactions that take one name wait for each other, without a lock and always in the same order.

    def _claim_table(self, connection: Connection, name: TableName) -> None:
        self._insert(connection, TABLES, [self._columns(name)], f"table '{name}'")
        connection.execute(delete(TABLES).where(self._of_table(TABLES, name)))

    def _claim_view(self, connection: Connection, name: TableName) -> None:
        self._insert(connection, VIEWS, [self._view_columns(name, "")], f"view '{name}'")
        connection.execute(delete(VIEWS).where(self._of_view(name)))

    def _of_view(self, name: TableName) -> ColumnElement[bool]:
        return and_(self._in_database(VIEWS, name.database), self._equal(VIEWS.c.view_name, name.table))

    def _view_columns(self, name: TableName, text: str | None = None) -> dict[str, str]:
        columns = {"catalog_key": self.catalog_key, "database_name": name.database, "view_name": name.table}
        return columns if text is None else {**columns, "view_schema": text}

    # --- parts ------------------------------------------------------------------------------------------------------

    def _columns(self, name: TableName) -> dict[str, str]:
        return {"catalog_key": self.catalog_key, "database_name": name.database, "table_name": name.table}

    def _in_catalog(self, table: Table) -> ColumnElement[bool]:
        return self._equal(table.c.catalog_key, self.catalog_key)

    def _in_database(self, table: Table, database: str) -> ColumnElement[bool]:
        return and_(self._in_catalog(table), self._equal(table.c.database_name, database))

    def _of_table(self, table: Table, name: TableName) -> ColumnElement[bool]:
        return and_(self._in_database(table, name.database), self._equal(table.c.table_name, name.table))

    def _equal(self, column: ColumnElement[str], text: str) -> ColumnElement[bool]:
        """Compare letter by letter. In tables that Java has created, MySQL does not tell ``T`` from ``t``."""
        if self.kind != MYSQL:
            return column == text
        # The first comparison uses the index.
        return and_(column == text, column == collate(literal(text), "utf8mb4_bin"))

    def _insert(self, connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], what: str) -> None:
        if not rows:
            return
        try:
            connection.execute(insert(table), rows)
        except IntegrityError as error:
            raise self._taken(connection, table, rows, what) from error

    def _taken(
        self, connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]], what: str
    ) -> AlreadyExistsError | InvalidInputError:
        """Say which row has the primary key of a new one."""
        # After an error, a transaction goes on in MySQL only.
        namesake = _namesake(connection, table, rows) if self.kind == MYSQL else None
        if namesake is None:
            return AlreadyExistsError(f"{what} already exists")
        return InvalidInputError(
            f"{what}: the database takes its name for that of {namesake}, which is listed, because the columns of "
            f"{table.name} have a collation that does not tell them apart. Choose another name, or give its columns "
            "the collation utf8mb3_bin"
        )


def _namesake(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the key of a row that differs from a new one, and that the database takes for the same."""
    columns = list(table.primary_key)
    for row in rows:
        key = tuple(row[column.name] for column in columns)
        equal = (column == text for column, text in zip(columns, key, strict=True))
        for found in connection.execute(select(*columns).where(*equal)):
            if tuple(found) != key:
                return ".".join(f"'{text}'" for text in found)
    return None
