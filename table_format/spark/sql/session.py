"""The session of SQL statements: tables, the current database, temporary views and parameter values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from table_format.catalog.protocol import Catalog
from table_format.catalog.views import find_view
from table_format.errors import InvalidInputError
from table_format.format_table.table import no_format_table
from table_format.materialized.sources import SourceState
from table_format.model.view import View
from table_format.options.scan import STATE_KEYS
from table_format.spark.sql.attached_tables import attach, check_free
from table_format.spark.tasks.code_shipping import is_connect
from table_format.sql.reader import CATALOG_NAME, SqlName
from table_format.sql.views import CreateView
from table_format.table.system.table import SystemTable
from table_format.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT_DATABASE: Final = "default"


class Tables(Protocol):
    """Reads and writes tables as DataFrames; ``Lake`` implements it."""

    @property
    def spark(self) -> SparkSession:
        """The session."""
        ...

    @property
    def catalog(self) -> Catalog:
        """The catalog."""
        ...

    @property
    def table(self) -> Callable[..., DataFrame]:
        """``Lake.table``."""
        ...

    @property
    def write(self) -> Callable[..., object]:
        """``Lake.write``."""
        ...

    @property
    def update(self) -> Callable[..., object]:
        """``Lake.update``."""
        ...

    @property
    def delete(self) -> Callable[..., object]:
        """``Lake.delete``."""
        ...

    @property
    def merge(self) -> Callable[..., object]:
        """``Lake.merge``."""
        ...


@dataclass(slots=True)
class SqlState:
    """The state between statements: the current database, temporary views by name, and the databases that are attached
    to Spark's session catalog.
    """

    database: str = DEFAULT_DATABASE
    views: dict[str, tuple[CreateView, str]] = field(default_factory=dict)
    attached: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class SqlSession:
    """One run of a script. ``pinned`` has the states at which its queries read some tables."""

    tables: Tables
    state: SqlState
    parameters: Mapping[str, object] = field(default_factory=dict)
    pinned: Mapping[str, SourceState] = field(default_factory=dict)

    @property
    def spark(self) -> SparkSession:
        """The session."""
        return self.tables.spark

    @property
    def catalog(self) -> Catalog:
        """The catalog."""
        return self.tables.catalog

    @property
    def is_connect(self) -> bool:
        """Whether the session is a Spark Connect session."""
        return is_connect(self.spark)

    def table(self, name: str, **arguments: object) -> DataFrame:
        """Return the rows of ``Lake.table``, at the pinned state of the table unless the arguments name another one."""
        state = self.pinned.get(name)
        if state is None or not state.can_be_named or not STATE_KEYS.isdisjoint(arguments):
            return self.tables.table(name, **arguments)
        if state.snapshot is None:
            return self.tables.table(name, **arguments).limit(0)  # a first commit may come in the meantime
        return self.tables.table(name, **arguments, **{"scan.snapshot-id": str(state.snapshot.id)})

    def within(self, database: str) -> SqlSession:
        """Return the same session with another current database."""
        return replace(self, state=replace(self.state, database=database))

    # --- names ------------------------------------------------------------------------------------------------------

    def database_name(self, name: SqlName) -> str:
        """Return the database of a name.

        Raises:
            InvalidInputError: the name belongs to another catalog.
        """
        parts = name.parts
        if len(parts) == 2 and parts[0].lower() == CATALOG_NAME:
            parts = parts[1:]
        if len(parts) != 1:
            message = f"'{name}' is not the name of a database; write database or {CATALOG_NAME}.database"
            raise InvalidInputError(message)
        return parts[0]

    def table_name(self, name: SqlName) -> str:
        """Return ``database.table`` for the name of a table of the catalog.

        Raises:
            InvalidInputError: the name belongs to another catalog.
        """
        return name.table_name(self.state.database)

    def find(self, name: SqlName) -> str | None:
        """Return ``database.table`` for a table or a view of the catalog; ``None`` if the engine may know the name.

        A name with a database of the catalog always counts as a table of the catalog, even if the table does not exist.
        """
        parts = name.parts
        if parts[0].lower() == CATALOG_NAME and len(parts) == 3:
            return ".".join(parts[1:])
        if len(parts) == 2:
            return ".".join(parts) if self.has_database(parts[0]) else None
        if len(parts) != 1:
            return None
        wanted = f"{self.state.database}.{parts[0]}"
        return wanted if self.has_database(self.state.database) and self._exists(wanted) else None

    def has_database(self, name: str) -> bool:
        """Return whether the catalog has a database with this name. The name may be invalid."""
        try:
            return self.catalog.database_exists(name)
        except InvalidInputError:
            return False

    def _exists(self, name: str) -> bool:
        table, _, suffix = name.partition("$")
        try:
            is_table = self.catalog.table_exists(table if suffix else name)
        except InvalidInputError:
            return False
        return is_table or self.view(name) is not None

    def view(self, name: str) -> View | None:
        """Return the view of the catalog with the name ``database.view``; ``None`` if there is none."""
        return find_view(self.catalog, name)

    def prepare_database(self, table: str) -> None:
        """Create the database ``default`` for its first table, like the catalogs of Paimon."""
        database = table.partition(".")[0]
        if database == DEFAULT_DATABASE:
            self.catalog.create_database(database, ignore_if_exists=True)

    def check_attached(self, table: str) -> None:
        """Require that a new table of an attached database can get an entry.

        Raises:
            AlreadyExistsError: Spark's session catalog has another table with this name.
        """
        database, _, name = table.partition(".")
        if database in self.state.attached:
            check_free(self.spark, database, name)

    def keep_attached(self, *tables: str) -> None:
        """Update the entries of attached databases after these tables were created, changed or dropped."""
        for database in {name.partition(".")[0] for name in tables} & self.state.attached:
            attach(self.spark, self.catalog, database)

    def data_table(self, name: str) -> Table:
        """Return a table that is not a system table.

        Raises:
            TableNotFound: the table does not exist.
            InvalidInputError: the table is a system table. UnsupportedFeature: it is a format table.
        """
        opened = no_format_table(self.catalog.load_any(name))
        if isinstance(opened, SystemTable):
            message = f"'{name}' is a system table, which is read-only"
            raise InvalidInputError(message)
        return opened
