"""The views of a catalog in a relational database: a row with JSON for each (Java ``JdbcCatalog``, from 2.0 on).

A creation or a rename holds the lock of the name, if the catalog has locks, as in Java. Without locks, the primary keys
decide between a table and a view of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_format.catalog.catalog_with_views import no_view
from table_format.catalog.jdbc.names import JdbcNames
from table_format.catalog.table_names import TableName, locked_in_order
from table_format.codecs.view_json import decode_view, encode_view
from table_format.errors import AlreadyExistsError, ViewNotFound
from table_format.model.identifier import Identifier
from table_format.model.view import View

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from table_format.catalog.jdbc.rows import CatalogRows


@dataclass(frozen=True, slots=True)
class JdbcViews:
    """The views in the database of ``names``. The caller has checked that names are legal and databases exist."""

    names: JdbcNames

    def of_database(self, database: str) -> Sequence[str]:
        """Return the names of the views of a database."""
        with self.names.rows() as (rows, connection):
            return rows.views(connection, database)

    def has(self, identifier: Identifier) -> bool:
        """Return whether there is a view of this name. It may be one that this version cannot read."""
        with self.names.rows() as (rows, connection):
            return rows.view(connection, _name(identifier)) is not None

    def find(self, identifier: Identifier) -> View | None:
        """Return a view; ``None`` if there is none of this name."""
        with self.names.rows() as (rows, connection):
            text = rows.view(connection, _name(identifier))
        return None if text is None else decode_view(identifier, text)

    def create(self, view: View, *, ignore_if_exists: bool, replace: bool) -> None:
        """Store a view, in one transaction.

        Raises:
            AlreadyExistsError: a view or a table has the name.
        """
        name = _name(view.identifier)
        with self._locked(name) as (rows, connection):
            if rows.view(connection, name) is not None:
                if replace:
                    rows.delete_view(connection, name)
                    rows.insert_view(connection, name, encode_view(view))
                elif not ignore_if_exists:
                    message = f"view '{view.identifier}' already exists"
                    raise AlreadyExistsError(message)
                return
            if rows.has_table(connection, name):
                message = f"view '{view.identifier}' cannot be created: there is a table of this name"
                raise AlreadyExistsError(message)
            rows.insert_view(connection, name, encode_view(view))

    def change(self, identifier: Identifier, change: Callable[[View], View]) -> View:
        """Replace a view by what ``change`` makes of it, and return it.

        Raises:
            ViewNotFound: there is no such view.
        """
        name = _name(identifier)
        while True:
            with self._locked(name) as (rows, connection):
                text = rows.view(connection, name)
                if text is None:
                    raise self._no_view(rows, connection, name)
                changed = change(decode_view(identifier, text))
                # Without a lock, another process may have changed it in between: begin again with its view.
                if rows.update_view(connection, name, encode_view(changed), before=text):
                    return changed

    def rename(self, source: Identifier, target: Identifier) -> None:
        """Rename a view.

        Raises:
            ViewNotFound: there is no such view. AlreadyExistsError: a view or a table has the new name.
        """
        old, new = _name(source), _name(target)
        with self._locked(old, new) as (rows, connection):
            if rows.view(connection, old) is None:
                raise self._no_view(rows, connection, old)
            if rows.view(connection, new) is not None or rows.has_table(connection, new):
                what = "table" if rows.has_table(connection, new) else "view"
                message = f"view '{old}' cannot be renamed to '{new}': there is a {what} of this name"
                raise AlreadyExistsError(message)
            rows.rename_view(connection, old, new)

    def drop(self, identifier: Identifier, *, ignore_if_not_exists: bool) -> None:
        """Drop a view.

        Raises:
            ViewNotFound: there is no such view.
        """
        name = _name(identifier)
        with self.names.rows() as (rows, connection):
            if not rows.delete_view(connection, name) and not ignore_if_not_exists:
                raise self._no_view(rows, connection, name)

    def not_found(self, identifier: Identifier) -> ViewNotFound:
        """Return the error for a view that does not exist."""
        with self.names.rows() as (rows, connection):
            return self._no_view(rows, connection, _name(identifier))

    def _no_view(self, rows: CatalogRows, connection: Connection, name: TableName) -> ViewNotFound:
        is_table = rows.has_table(connection, name)
        return no_view(name, is_table=is_table, views=rows.views(connection, name.database))

    @contextmanager
    def _locked(self, *names: TableName) -> Iterator[tuple[CatalogRows, Connection]]:
        """Open a transaction under the locks of some names."""
        with locked_in_order(self.names, *names), self.names.rows() as opened:
            yield opened


def _name(identifier: Identifier) -> TableName:
    return TableName(identifier.database, identifier.table)
