"""SQL queries without Spark: DuckDB runs them and pushes columns and filters down into the scans."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final

from table_format.catalog.protocol import Catalog
from table_format.catalog.views import find_view, text_for
from table_format.counted import counted
from table_format.errors import InvalidInputError, InvalidSql, NotFoundError, TableNotFound, UnsupportedFeature
from table_format.extras import require
from table_format.model.arguments import refuse
from table_format.model.arguments import text as check_text
from table_format.model.view import SPARK_DIALECT, View
from table_format.sql.duckdb_queries import (
    NamedTable,
    TimeTravel,
    column_edits,
    in_double_quotes,
    named_tables,
    without_backquotes,
)
from table_format.sql.duckdb_types import is_same_kind
from table_format.sql.qualifiers import Relation
from table_format.sql.reader import CATALOG_NAME
from table_format.sql.splices import Edit, edited
from table_format.table.system.table import SystemTable

if TYPE_CHECKING:
    import duckdb

_DEFAULT_DATABASE: Final = "default"

_DIALECT: Final = "duckdb"

_QUERIES: Final = ("SELECT", "EXPLAIN", "MULTI")
"""The kinds of statements that only read, in the terms of DuckDB 2. PIVOT is a MULTI."""
_EXPLAINED: Final = re.compile(r"EXPLAIN\s+(ANALYZE\s+)?(\([^)]*\)\s*)?(SELECT|FROM|WITH|VALUES|TABLE|PIVOT|\()", re.I)


def query(
    catalog: Catalog, text: str, parameters: Mapping[str, object] | None = None, *, database: str = _DEFAULT_DATABASE
) -> duckdb.DuckDBPyRelation:
    """Run one query in DuckDB's SQL and return a DuckDB relation. Each call opens its own connection.

    Name a table ``table`` (in ``database``), ``database.table`` or ``paimon.database.table``. Quote system tables:
    ``"orders$files"``, or within backquotes. ``VERSION AS OF``, ``TIMESTAMP AS OF`` and ``/*+ OPTIONS(...) */`` follow
    a name as in ``lake.sql``; versions and times are literals or parameters, and times are in local time.
    ``parameters`` holds the values of ``$name``. Everything else is DuckDB's: functions, files and errors. The query
    reads the current latest snapshot of each table. Of a view of the catalog, it runs the text in the dialect
    ``duckdb``, or else ``spark``.

    >>> query(catalog, "SELECT state, sum(price) FROM shop.orders GROUP BY ALL").fetchall()  # doctest: +SKIP

    Raises:
        PackageMissing: duckdb is not installed.
        UnsupportedFeature: the statement is not a query; the message names it.
        InvalidInputError: there is more than one statement, a time cannot be parsed, or the query does not name a
            parameter.
        InvalidSql: a time travel clause or a hint cannot be parsed.
        NotFoundError: there is no such database, table, snapshot or tag.
    """
    check_text(text, "text")
    if parameters is not None and not isinstance(parameters, Mapping):
        refuse("parameters", "a mapping from the name in $name to its value", parameters)
    if database != _DEFAULT_DATABASE and not catalog.database_exists(database):
        catalog.list_tables(database)  # raises the error, with the nearest names
    text = without_backquotes(text)
    _check_parameters(text, parameters or {})
    views = _Views(require("duckdb").connect(":memory:"), catalog, database)
    tables = named_tables(text, parameters)
    travels = [table.travel for table in tables if table.travel is not None]
    _check_query(views.connection, edited(text, [Edit(travel.start, travel.end, "") for travel in travels]))
    plain = edited(text, views.edits(text, tables, parameters))
    used = {name: value for name, value in (parameters or {}).items() if _names(plain, name)}
    relation: duckdb.DuckDBPyRelation = views.connection.sql(plain, params=used or None)
    return relation


def _names(text: str, parameter: str) -> bool:
    return re.search(rf"\${re.escape(parameter)}\b", text) is not None


def _check_parameters(text: str, parameters: Mapping[str, object]) -> None:
    unused = [name for name in parameters if not _names(text, name)]
    if unused:
        message = f"the query does not name the parameters {', '.join(f'${name}' for name in unused)}; remove them"
        raise InvalidInputError(message)


def _check_query(connection: Any, text: str) -> None:  # noqa: ANN401 - a connection of DuckDB
    statements = connection.extract_statements(text)
    # DuckDB 1 divides a PIVOT into several statements, which have no text.
    is_pivot = len(statements) > 1 and not any(statement.query for statement in statements)
    if len(statements) != 1 and not is_pivot:
        message = f"expected one query, found {len(statements)}"
        raise InvalidInputError(message)
    kind = "MULTI" if is_pivot else statements[0].type.name.removesuffix("_STATEMENT")
    if kind not in _QUERIES or (kind == "EXPLAIN" and _EXPLAINED.search(text) is None):
        feature = kind.replace("_", " ")
        message = f"{feature} is not supported: DuckDB only reads; use lake.sql on Spark, or the methods of the table"
        raise UnsupportedFeature(feature, message)


@dataclass(frozen=True, slots=True)
class _Replaced:
    """A table of the catalog in a query, and the view that replaces it if the query reads another state or has options
    for it.
    """

    table: NamedTable
    full_name: tuple[str, ...]
    view: str | None

    def alias(self, shared: Collection[str]) -> str:
        """Return the alias; it has the database if tables of two databases share the name."""
        name = self.table.parts[-1]
        return ".".join(self.full_name[1:]) if name.lower() in shared else name

    def edits(self, shared: Collection[str]) -> list[Edit]:
        """Return the edits of the name of the table."""
        table = self.table
        needs_alias = not table.has_alias and (self.view is not None or table.parts[-1].lower() in shared)
        alias = f" AS {in_double_quotes(self.alias(shared))}" if needs_alias else ""
        if self.view is None:
            return [Edit(table.end, table.end, alias)]
        return [Edit(table.start, table.end, f"{self.view}{alias}")]


@dataclass(slots=True)
class _Views:
    """One view for each state of a table that a query names."""

    connection: Any
    catalog: Catalog
    database: str
    _made: dict[tuple[str, str, tuple[tuple[str, str], ...]], str] = field(default_factory=dict)
    _within: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.connection.execute(f"ATTACH ':memory:' AS {CATALOG_NAME}")
        self.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {CATALOG_NAME}.{in_double_quotes(self.database)}")
        self.connection.execute(f"USE {CATALOG_NAME}.{in_double_quotes(self.database)}")

    def edits(self, text: str, tables: Sequence[NamedTable], parameters: Mapping[str, object] | None) -> list[Edit]:
        """Create the views for the table names in a query, and return the edits that the query text needs.

        A table with time travel or options gets an alias, by which the query then qualifies its columns.
        """
        replaced = [found for table in tables if (found := self._replaced(table)) is not None]
        if all(each.view is None for each in replaced):
            return []
        unnamed = [each for each in replaced if not each.table.has_alias]
        latest = {each.full_name for each in unnamed if each.view is None}
        shared = {
            name for name, count in Counter(name[-1] for name in {e.full_name for e in unnamed}).items() if count > 1
        }
        edits = [edit for each in replaced for edit in each.edits(shared)]
        # If the query also reads the latest state of a table, the name of the table means that.
        relations = [
            Relation(each.full_name, each.alias(shared), each.table.start)
            for each in unnamed
            if each.full_name[-1] in shared or (each.view is not None and each.full_name not in latest)
        ]
        return [*edits, *column_edits(text, relations, parameters)]

    def _replaced(self, table: NamedTable) -> _Replaced | None:
        """Create the view for one table name; ``None`` if only DuckDB may know the name."""
        found = self._find(table)
        if found is None:
            if table.travel is not None or table.options:
                message = f"time travel or options: there is no table '{'.'.join(table.parts)}' in the catalog"
                raise TableNotFound(message)
            return None
        database, name = found
        travel = {} if table.travel is None else _travel_options(table.travel)
        for key_of_both in table.options.keys() & travel.keys():
            message = f"AS OF and the option '{key_of_both}' both name a state of '{name}'; use one of them"
            raise InvalidInputError(message)
        options = {**table.options, **travel}
        key = (database, name, tuple(sorted(options.items())))
        if key not in self._made:
            self._made[key] = self._make(database, name, options)
        full_name = (CATALOG_NAME, database.lower(), name.lower())
        view = f"{CATALOG_NAME}.{in_double_quotes(database)}.{in_double_quotes(self._made[key])}"
        return _Replaced(table, full_name, view if options else None)

    def _find(self, table: NamedTable) -> tuple[str, str] | None:
        """Return the database and table name in the catalog; ``None`` if only DuckDB may know the name.

        Raises:
            TableNotFound: the catalog has the database but not the table.
        """
        parts = table.parts
        if len(parts) == 3 and parts[0].lower() == CATALOG_NAME:
            database, name = parts[1:]
        elif len(parts) == 2:
            database, name = parts
        elif len(parts) == 1:
            database, name = self.database, parts[0]
        else:
            return None
        try:
            if not self.catalog.database_exists(database):
                return None
            is_there = self.catalog.table_exists(f"{database}.{name.partition('$')[0]}")
            is_there = is_there or find_view(self.catalog, f"{database}.{name}") is not None
        except InvalidInputError:
            return None
        if not is_there and table.is_certain and len(parts) > 1:
            message = f"table '{database}.{name}' does not exist"
            raise TableNotFound(message)
        return (database, name) if is_there else None

    def _make(self, database: str, name: str, options: Mapping[str, str]) -> str:
        """Create a view of one state of a table, or of a view of the catalog, and return its name."""
        stored = find_view(self.catalog, f"{database}.{name}")
        if stored is not None:
            if options:
                message = f"'{stored.identifier}' is a view; write time travel and hints in its query"
                raise InvalidInputError(message)
            self._make_stored(stored)
            return name
        opened = self.catalog.load_any(f"{database}.{name}")
        if isinstance(opened, SystemTable):
            rows: object = opened.scan(options=options).to_arrow()
        else:
            rows = opened.scan(options=options).to_dataset()
        number = len(self._made)
        view = f"{name} {number}" if options else name
        given = f"__paimon_{number}"
        self.connection.register(given, rows)
        schema = f"{CATALOG_NAME}.{in_double_quotes(database)}"
        self.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        self.connection.execute(f"CREATE VIEW {schema}.{in_double_quotes(view)} AS SELECT * FROM temp.main.{given}")  # noqa: S608
        return view

    def _make_stored(self, view: View) -> None:
        """Create a view of the catalog in DuckDB, with the columns that it declares.

        Raises:
            InvalidInputError: the view refers to itself, DuckDB cannot run its text, or its columns have changed.
            TableNotFound: a table in the text does not exist.
        """
        name = str(view.identifier)
        text = view.text_in(_DIALECT) or without_backquotes(text_for(view, SPARK_DIALECT))
        if name in self._within:
            circle = " -> ".join((*self._within[self._within.index(name) :], name))
            message = f"view '{name}' refers to itself: {circle}"
            raise InvalidInputError(message)
        self._within.append(name)
        try:
            plain = edited(text, self.edits(text, named_tables(text), None))
            found = self.connection.sql(f"SELECT * FROM ({plain}\n) LIMIT 0").types  # noqa: S608
        except NotFoundError as error:
            message = f"view '{name}': {error}"
            raise TableNotFound(message) from error
        except (InvalidSql, require("duckdb").Error) as error:
            reason = " ".join(str(error).split())
            message = (
                f"view '{name}': DuckDB cannot run its text ({reason}); query the view with Spark, or add a text in "
                f"the dialect '{_DIALECT}' with CALL sys.alter_view_dialect"
            )
            raise InvalidInputError(message) from error
        self._within.pop()
        if len(found) < len(view.fields):
            message = f"view '{name}' has {counted(len(view.fields), 'column')}, but its query now has {len(found)}"
            raise InvalidInputError(message)
        for declared, kind in zip(view.fields, found, strict=False):
            if not is_same_kind(declared.type, kind.id):
                message = (
                    f"view '{name}' declares column '{declared.name}' as {declared.type}, "
                    f"but its query now has {kind}; create the view again"
                )
                raise InvalidInputError(message)
        shown = ", ".join(f"c{number} AS {in_double_quotes(field.name)}" for number, field in enumerate(view.fields))
        numbered = ", ".join(f"c{number}" for number in range(len(found)))
        schema = f"{CATALOG_NAME}.{in_double_quotes(view.identifier.database)}"
        query = f"SELECT {shown} FROM ({plain}\n) AS q({numbered})"  # noqa: S608
        self.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        self.connection.execute(f"CREATE VIEW {schema}.{in_double_quotes(view.identifier.table)} AS {query}")


def _travel_options(travel: TimeTravel) -> dict[str, str]:
    if travel.is_version:
        return {"scan.version": str(travel.value)}
    return {"scan.timestamp-millis": str(round(_seconds(travel.value) * 1000))}


def _seconds(time: object) -> float:
    """Return a time as seconds since 1970; a number already is one."""
    if isinstance(time, int) and not isinstance(time, bool):
        return time
    if isinstance(time, date) and not isinstance(time, datetime):
        time = time.isoformat()
    try:
        return (time if isinstance(time, datetime) else datetime.fromisoformat(str(time))).timestamp()
    except ValueError as error:
        message = f"TIMESTAMP AS OF '{time}': expected a time such as '2026-01-31 12:00:00'"
        raise InvalidInputError(message) from error
