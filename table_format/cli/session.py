"""The catalog of a command, and its tables by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import click

from table_format import errors
from table_format.cli.warehouses import InFiles, check_directory, check_no_file, missing_warehouse
from table_format.nearest_names import did_you_mean
from table_format.secrets import Secret

if TYPE_CHECKING:
    import pyarrow as pa

    from table_format import Catalog, Table


class Reading(Protocol):
    """A stream of batches with a schema, such as a scan."""

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        ...

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Return the rows as a stream."""
        ...


class ReadOnlyTable(Protocol):
    """A system table or a format table."""

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Reading:
        """Scan some columns (by default all) and the rows that a filter selects."""
        ...


@dataclass(frozen=True)
class Session:
    """The context of all commands. It reads nothing before a command needs it."""

    read_settings: Callable[[], Mapping[str, str | Secret]]

    @cached_property
    def settings(self) -> Mapping[str, str | Secret]:
        """The options of the catalog."""
        return self.read_settings()

    @property
    def warehouse(self) -> str:
        """The root directory of the databases."""
        return str(self.settings["warehouse"])

    @property
    def local_warehouse(self) -> Path | None:
        """The warehouse as a local directory; ``None`` if it is in another store."""
        from table_format.engine.support import warehouse_is_directory  # not at the top: as in ``_opened``

        if not warehouse_is_directory(str(self.settings.get("metastore", ""))):
            return None
        path = getattr(self._opened, "warehouse", None)
        is_local = urlsplit(self.warehouse).scheme in ("", "file")
        return Path(path) if is_local and isinstance(path, str) else None

    @cached_property
    def _opened(self) -> Catalog:
        from table_format import load_catalog  # not at the top: help and completion of commands need no catalog

        return load_catalog(self.settings)

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog of an existing warehouse.

        Raises:
            click.ClickException: the warehouse is a directory that does not exist.
            TableFormatError: the settings are wrong.
        """
        directory = self.local_warehouse
        if directory is not None:
            check_no_file(directory)
        if self._lists_directories and directory is not None and not directory.is_dir():
            raise missing_warehouse(self.warehouse)
        return self._opened

    def make_warehouse(self) -> None:
        """Create the directory of the warehouse; do nothing if it exists, or if a catalog creates it with a table."""
        directory = self.local_warehouse
        if directory is not None:
            check_no_file(directory)
            directory.mkdir(parents=True, exist_ok=True)
        elif self._lists_directories and isinstance(self._opened, InFiles):
            self._opened.io.make_directory(self._opened.warehouse)

    @property
    def _lists_directories(self) -> bool:
        # Another kind of catalog knows its databases without the directory, which its first table creates.
        return self.settings.get("metastore", "filesystem") == "filesystem"

    def data_table(self, name: str) -> Table:
        """Return a table or a branch, but neither a system table nor a format table.

        Raises:
            click.ClickException: the table does not exist, or is a system table or a format table.
        """
        from table_format import FormatTable, Table

        found = self.table(name)
        if isinstance(found, Table):
            return found
        if isinstance(found, FormatTable):
            message = (
                f"'{name}' is a format table, a directory of plain files; this command is for tables with snapshots"
            )
            raise click.ClickException(message)
        message = f"'{name}' is a system table; name the table itself"
        raise click.ClickException(message)

    def reading(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Reading:
        """Return a scan of any table.

        Raises:
            click.ClickException: there is no such table.
            TableFormatError: a column does not exist, or the filter cannot be read.
        """
        return self.table(name).scan(columns, filter, options or None)

    def database_names(self) -> tuple[str, ...]:
        """Return all databases.

        Raises:
            click.ClickException: there are none, because the warehouse does not exist.
        """
        found = self.catalog.list_databases()
        if not found and self._lists_directories:
            check_directory(self._opened, self.warehouse)
        return found

    def table_names(self) -> Iterator[str]:
        """Return all tables as ``database.table``.

        Raises:
            click.ClickException: there are none, because the warehouse does not exist.
        """
        for database in self.database_names():
            yield from (f"{database}.{table}" for table in self.catalog.list_tables(database))

    def database(self, name: str) -> tuple[str, ...]:
        """Return the tables of a database.

        Raises:
            click.ClickException: the database does not exist.
        """
        try:
            return self.catalog.list_tables(name)
        except errors.DatabaseNotFound as error:
            message = f"database '{name}' does not exist{did_you_mean(name, self.database_names())}"
            raise click.ClickException(message) from error

    def table(self, name: str) -> Table | ReadOnlyTable:
        """Return a table, a branch, a system table or a format table.

        Raises:
            click.ClickException: the table does not exist; the message suggests similar names.
        """
        try:
            return self.catalog.load_any(name)
        except errors.TableNotFound as error:
            message = self._missing(name)
            raise click.ClickException(message) from error
        except errors.InvalidIdentifier as error:
            # If the table exists, what follows the $ is not legal, and no other table is meant.
            is_known = name.partition("$")[0] in self.table_names()
            message = f"{error}{'' if is_known else self._nearest(name)}"
            raise click.ClickException(message) from error

    def _missing(self, name: str) -> str:
        from table_format import ViewCatalog

        if isinstance(self.catalog, ViewCatalog) and "$" not in name and self.catalog.view_exists(name):
            return f"'{name}' is a view, not a table; query it with the command sql"
        return f"table '{name}' does not exist{self._nearest(name)}"

    def _nearest(self, name: str) -> str:
        wanted, dollar, rest = name.partition("$")
        names = list(self.table_names())
        if "." not in wanted:
            names = [found for found in names if did_you_mean(wanted, [found.partition(".")[2]])]
            return f"; did you mean {' or '.join(f'{n}{dollar}{rest}' for n in names[:3])}?" if names else ""
        return did_you_mean(f"{wanted}{dollar}{rest}", [f"{found}{dollar}{rest}" for found in names])
