"""SQL queries without Spark: DuckDB runs them and pushes columns and filters down into the scans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from table_format.catalog.protocol import Catalog
from table_format.errors import InvalidInputError, UnsupportedFeature
from table_format.extras import require
from table_format.sql.duckdb_queries import NamedTable, TimeTravel, named_tables
from table_format.sql.splices import Edit, edited
from table_format.table.system.table import SystemTable

if TYPE_CHECKING:
    import duckdb

CATALOG_NAME: Final = "paimon"
"""The first part of a three-part name."""


def query(
    catalog: Catalog, text: str, parameters: Mapping[str, object] | None = None, *, database: str = "default"
) -> duckdb.DuckDBPyRelation:
    """Run one query in DuckDB's SQL and return a DuckDB relation. Each call opens its own connection.

    Name a table ``table`` (in ``database``), ``database.table`` or ``paimon.database.table``. Quote system tables:
    ``"orders$files"``. ``VERSION AS OF`` and ``TIMESTAMP AS OF`` follow a name as in
    ``lake.sql``. ``parameters`` holds the values of ``$name``. Everything else is DuckDB's: functions, files and
    errors. The query reads the current latest snapshot of each table.

    >>> query(catalog, "SELECT state, sum(price) FROM shop.orders GROUP BY ALL").fetchall()  # doctest: +SKIP

    Raises:
        PackageMissing: duckdb is not installed.
        UnsupportedFeature: the statement is not a query; the message names it.
        InvalidInputError: there is more than one statement, or a time cannot be parsed.
        NotFoundError: there is no such snapshot or tag.
    """
    views = _Views(require("duckdb").connect(":memory:"), catalog, database)
    edits = [edit for table in named_tables(text) for edit in views.edits(table)]
    plain = edited(text, edits)
    _check_query(views.connection, plain)
    relation: duckdb.DuckDBPyRelation = views.connection.sql(plain, params=dict(parameters) if parameters else None)
    return relation


def _check_query(connection: Any, text: str) -> None:  # noqa: ANN401 - a connection of DuckDB
    statements = connection.extract_statements(text)
    if len(statements) != 1:
        message = f"expected one query, found {len(statements)}"
        raise InvalidInputError(message)
    kind = statements[0].type.name.removesuffix("_STATEMENT")
    if kind != "SELECT":
        feature = kind.replace("_", " ")
        message = f"{feature} is not supported: DuckDB only reads; use lake.sql on Spark, or the methods of the table"
        raise UnsupportedFeature(feature, message)


@dataclass(slots=True)
class _Views:
    """One view for each state of a table that a query names."""

    connection: Any
    catalog: Catalog
    database: str
    _made: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.connection.execute(f"ATTACH ':memory:' AS {CATALOG_NAME}")
        self.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {CATALOG_NAME}.{_quoted(self.database)}")
        self.connection.execute(f"USE {CATALOG_NAME}.{_quoted(self.database)}")

    def edits(self, table: NamedTable) -> list[Edit]:
        """Create the view for one table name in the query, and return the edits that the query text needs."""
        found = self._find(table.parts)
        if found is None:
            if table.travel is not None:
                message = f"time travel: there is no table '{'.'.join(table.parts)}' in the catalog"
                raise InvalidInputError(message)
            return []
        database, name = found
        travel = table.travel
        view = name if travel is None else f"{name} {'version' if travel.is_version else 'time'} {travel.value}"
        if (database, view) not in self._made:
            self._make(database, name, view, {} if travel is None else _options(travel))
            self._made.add((database, view))
        if travel is None:
            return []
        alias = "" if table.has_alias else f" AS {_quoted(name)}"
        return [Edit(table.start, table.end, f"{CATALOG_NAME}.{_quoted(database)}.{_quoted(view)}{alias}")]

    def _find(self, parts: tuple[str, ...]) -> tuple[str, str] | None:
        """Return the database and table name in the catalog; ``None`` if only DuckDB may know the name."""
        if len(parts) == 3 and parts[0].lower() == CATALOG_NAME:
            database, name = parts[1:]
        elif len(parts) == 2:
            database, name = parts
        elif len(parts) == 1:
            database, name = self.database, parts[0]
        else:
            return None
        try:
            is_there = self.catalog.database_exists(database) and self.catalog.table_exists(
                f"{database}.{name.partition('$')[0]}"
            )
        except InvalidInputError:
            return None
        return (database, name) if is_there else None

    def _make(self, database: str, name: str, view: str, options: Mapping[str, str]) -> None:
        opened = self.catalog.load_any(f"{database}.{name}")
        if isinstance(opened, SystemTable):
            rows: object = opened.scan(options=options).to_arrow()
        else:
            rows = opened.scan(options=options).to_dataset()
        given = f"__paimon_{len(self._made)}"
        self.connection.register(given, rows)
        schema = f"{CATALOG_NAME}.{_quoted(database)}"
        self.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        self.connection.execute(f"CREATE VIEW {schema}.{_quoted(view)} AS SELECT * FROM temp.main.{given}")  # noqa: S608


def _options(travel: TimeTravel) -> dict[str, str]:
    if travel.is_version:
        return {"scan.version": travel.value}
    try:
        time = datetime.fromisoformat(travel.value)
    except ValueError as error:
        message = f"TIMESTAMP AS OF '{travel.value}': expected a time such as '2026-01-31 12:00:00'"
        raise InvalidInputError(message) from error
    return {"scan.timestamp-millis": str(round(time.timestamp() * 1000))}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
