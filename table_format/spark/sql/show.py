"""Executes SHOW and DESCRIBE."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from table_format.catalog.views import require_views, text_for, views_in
from table_format.errors import ColumnNotFound, UnsupportedFeature
from table_format.format_table.table import FormatTable
from table_format.materialized.table import MaterializedTable, materialized_table, materialized_tables
from table_format.model.column_names import no_such_column
from table_format.model.snapshot import shown_time
from table_format.model.types import DataField
from table_format.model.view import SPARK_DIALECT, View
from table_format.options.kind import is_materialized_table
from table_format.options.materialized import freshness_text
from table_format.secrets import shown_options
from table_format.spark.names import quoted
from table_format.spark.sql.databases import require_database
from table_format.spark.sql.queries import frame_of_query
from table_format.spark.sql.results import rows_of
from table_format.spark.sql.session import SqlSession
from table_format.spark.sql.tables import spelled, spelled_partition, table_partition
from table_format.spark.sql.views import temporary_views_of_spark
from table_format.spark.types import spark_type
from table_format.sql.definitions import create_table_sql, create_view_sql, type_sql
from table_format.sql.reader import SqlName
from table_format.sql.show import (
    DescribeQuery,
    DescribeTable,
    ShowCurrentDatabase,
    ShowDatabases,
    ShowMaterializedTables,
    ShowOfTable,
    ShowOptions,
    ShowStatement,
    ShowTables,
    ShowViews,
)
from table_format.table.rows.partition_values import partition_spec
from table_format.table.system.partitions import partition_totals
from table_format.table.system.table import SystemTable
from table_format.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMNS = "col_name string, data_type string, comment string"


def run_show_statement(session: SqlSession, statement: ShowStatement) -> DataFrame:
    """Return the rows of SHOW or DESCRIBE. Errors are those of the catalog."""
    match statement:
        case ShowDatabases(pattern):
            names = _fitting(session.catalog.list_databases(), pattern)
            return rows_of(session.spark, "namespace string", [(name,) for name in names])
        case ShowCurrentDatabase():
            row = ("paimon", session.state.database)
            return rows_of(session.spark, "catalog string, namespace string", [row])
        case ShowTables():
            return _tables(session, statement)
        case ShowOptions(name, key):
            return _options(session, _described_table(session, session.table_name(name)), key)
        case ShowViews():
            return _views(session, statement)
        case ShowMaterializedTables():
            return _materialized_tables(session, statement)
        case DescribeQuery(query):
            return _described_frame(session, frame_of_query(session, query))
        case DescribeTable():
            return _described(session, statement)
        case ShowOfTable():
            return _of_table(session, statement)


def _fitting(names: Sequence[str], pattern: str | None) -> list[str]:
    """Return the names that match a Spark pattern: ``*`` for any text, ``|`` between alternatives."""
    if pattern is None:
        return list(names)
    parts = [".*".join(map(re.escape, part.strip().split("*"))) for part in pattern.split("|")]
    return [name for name in names if any(re.fullmatch(part, name, re.IGNORECASE) for part in parts)]


def _tables(session: SqlSession, statement: ShowTables) -> DataFrame:
    database = session.state.database if statement.database is None else session.database_name(statement.database)
    require_database(session, database)
    known = session.catalog.list_tables(database) if session.has_database(database) else ()
    found = [(database, name, False) for name in _fitting(known, statement.pattern)]
    if statement.database is None:
        found += [("", name, True) for name in _fitting(sorted(session.state.views), statement.pattern)]
    return rows_of(session.spark, "namespace string, tableName string, isTemporary boolean", found)


def _views(session: SqlSession, statement: ShowViews) -> DataFrame:
    """Return the views of a database, then the temporary views of the lake and of the session."""
    database = session.state.database if statement.database is None else session.database_name(statement.database)
    require_database(session, database)
    stored = views_in(session.catalog, database) if session.has_database(database) else ()
    known = temporary_views_of_spark(session)
    found = [(database, name, False) for name in _fitting(stored, statement.pattern)]
    found += [("", name, True) for name in _fitting(sorted(known | session.state.views.keys()), statement.pattern)]
    return rows_of(session.spark, "namespace string, viewName string, isTemporary boolean", found)


def _materialized_tables(session: SqlSession, statement: ShowMaterializedTables) -> DataFrame:
    database = session.state.database if statement.database is None else session.database_name(statement.database)
    require_database(session, database)
    known = materialized_tables(session.catalog, database) if session.has_database(database) else ()
    names = frozenset(_fitting([_table_of(table) for table in known], statement.pattern))
    rows = [
        (
            database,
            _table_of(table),
            freshness_text(opened.schema.options),
            _status(table),
            None if table.refresh is None else shown_time(table.refresh.time_ms),
            table.is_stale(_now_ms(opened)),
        )
        for table in known
        if _table_of(table) in names
        for opened in (session.data_table(table.name),)
    ]
    columns = "namespace string, tableName string, freshness string, status string, lastRefresh string, isStale boolean"
    return rows_of(session.spark, columns, rows)


def _table_of(table: MaterializedTable) -> str:
    return table.name.partition(".")[2]


def _status(table: MaterializedTable) -> str:
    return "SUSPENDED" if table.is_suspended else "ACTIVATED"


def _now_ms(opened: Table) -> int:
    return opened.store.runtime.clock.now_ms()


def _materialized_details(session: SqlSession, name: str, opened: Table) -> Iterator[tuple[str, str, str | None]]:
    table = materialized_table(session.catalog, name)
    yield "", "", ""
    yield "# Materialized Table", "", ""
    yield "Query", table.query, ""
    yield "Freshness", freshness_text(opened.schema.options), ""
    yield "Status", _status(table), ""
    yield "Reads", ", ".join(table.sources), ""
    if table.problem is not None:
        yield "Problem", table.problem, ""
    yield "Last Refresh", "" if table.refresh is None else shown_time(table.refresh.time_ms), ""
    yield "Changed Since", ", ".join(table.changed_sources), ""
    yield "Is Stale", str(table.is_stale(_now_ms(opened))).lower(), ""


def _options(session: SqlSession, table: Table | FormatTable, key: str | None) -> DataFrame:
    options = shown_options(table.schema.options)
    for name, columns in (("primary-key", table.schema.primary_keys), ("partition", table.schema.partition_keys)):
        if columns:
            options[name] = ",".join(columns)
    if key is not None:
        options = {key: options.get(key, f"Table {table.identifier} does not have property: {key}")}
    return rows_of(session.spark, "key string, value string", sorted(options.items()))


def _of_table(session: SqlSession, statement: ShowOfTable) -> DataFrame:
    if statement.what == "COLUMNS":
        view = _view(session, statement.name)
        names = [f.name for f in _fields(session, session.table_name(statement.name))] if view is None else view.columns
        return rows_of(session.spark, "col_name string", [(name,) for name in names])
    name = session.table_name(statement.name)
    stored = session.view(name)
    if statement.what == "CREATE VIEW" and stored is None:
        stored = require_views(session.catalog).load_view(name)  # raises the error
    if stored is not None and statement.what in ("CREATE VIEW", "CREATE TABLE"):
        text = create_view_sql(stored, text_for(stored, SPARK_DIALECT))
        return rows_of(session.spark, "createtab_stmt string", [(text,)])
    if statement.what == "CREATE TABLE":
        text = create_table_sql(name, _described_table(session, name).schema)
        return rows_of(session.spark, "createtab_stmt string", [(text,)])
    opened = session.catalog.load_any(name)
    if statement.what == "PARTITIONS" and isinstance(opened, FormatTable):
        wanted = None if statement.partition is None else spelled_partition(opened.schema, statement.partition)
        return rows_of(session.spark, "partition string", [(text,) for text in opened.list_partitions(wanted)])
    table = session.data_table(name)
    match statement.what:
        case "TAGS":
            return rows_of(session.spark, "tag string", [(tag,) for tag in sorted(table.tags())])
        case "BRANCHES":
            return rows_of(session.spark, "branch string", [(branch,) for branch in sorted(table.branches())])
    wanted = None if statement.partition is None else table_partition(session, name, statement.partition)
    return rows_of(session.spark, "partition string", [(text,) for text in _partitions(table, wanted)])


def _partitions(table: Table, wanted: dict[str, object] | None) -> list[str]:
    facts = table.facts
    if not facts.schema.partition_keys:
        message = f"SHOW PARTITIONS: {facts.name} has no partition columns"
        raise ColumnNotFound(message)
    spec = partition_spec(facts.schema, wanted or {})
    return sorted(map(facts.partitions.spec_text, filter(facts.partitions.test((spec,)), partition_totals(facts))))


def _described_table(session: SqlSession, name: str) -> Table | FormatTable:
    opened = session.catalog.load_any(name)
    return opened if isinstance(opened, FormatTable) else session.data_table(name)


def _fields(session: SqlSession, name: str) -> Sequence[DataField]:
    view = session.view(name)
    if view is not None:
        return view.fields
    opened = session.catalog.load_any(name)
    return opened.fields if isinstance(opened, SystemTable) else opened.schema.fields


def _view(session: SqlSession, name: SqlName) -> DataFrame | None:
    """Return the rows of a temporary view of the lake or of Spark; ``None`` if the name is not one."""
    if len(name.parts) != 1:
        return None
    is_ours = str(name).lower() in session.state.views
    if not is_ours and (session.find(name) is not None or not session.spark.catalog.tableExists(quoted(str(name)))):
        return None
    return frame_of_query(session, f"TABLE {quoted(name.parts[0])}")


def _described_frame(session: SqlSession, frame: DataFrame) -> DataFrame:
    return rows_of(session.spark, _COLUMNS, [(f.name, f.dataType.simpleString(), None) for f in frame.schema.fields])


def _described(session: SqlSession, statement: DescribeTable) -> DataFrame:
    view = _view(session, statement.name)
    if view is not None and statement.column is None:
        return _described_frame(session, view)
    name = session.table_name(statement.name)
    fields = _fields(session, name)
    if statement.column is not None:
        return _described_column(session, fields, statement.column)
    rows = [_row(field) for field in fields]
    stored = session.view(name)
    opened = session.catalog.load_any(name) if stored is None else None
    if isinstance(opened, Table | FormatTable):
        rows += _details(opened, extended=statement.extended)
        if statement.extended and isinstance(opened, Table) and is_materialized_table(opened.schema.options):
            rows += _materialized_details(session, name, opened)
    if stored is not None and statement.extended:
        rows += _view_details(stored)
    return rows_of(session.spark, _COLUMNS, rows)


def _described_column(session: SqlSession, fields: Sequence[DataField], column: str) -> DataFrame:
    known = tuple(field.name for field in fields)
    wanted = spelled(column, known)
    for field in fields:
        if field.name == wanted:
            name, data_type, comment = _row(field)
            rows = [("col_name", name), ("data_type", data_type), ("comment", comment or "NULL")]
            return rows_of(session.spark, "info_name string, info_value string", rows)
    raise no_such_column(column, known)


def _row(field: DataField) -> tuple[str, str, str | None]:
    try:
        data_type = spark_type(field.type, field.name).simpleString()
    except UnsupportedFeature:
        data_type = type_sql(field.type.with_nullable(True)).lower()
    return field.name, data_type, field.description


def _view_details(view: View) -> Iterator[tuple[str, str, str | None]]:
    options = shown_options(view.options)
    yield "", "", ""
    yield "# Detailed View Information", "", ""
    yield "Name", str(view.identifier), ""
    yield "Comment", view.comment or "", ""
    yield "View Text", view.text_in(SPARK_DIALECT) or view.query, ""
    yield "View Query Output Columns", f"[{', '.join(field.name for field in view.fields)}]", ""
    yield "View Properties", f"[{', '.join(f'{key}={value}' for key, value in sorted(options.items()))}]", ""


def _details(table: Table | FormatTable, *, extended: bool) -> Iterator[tuple[str, str, str | None]]:
    schema = table.schema
    if schema.partition_keys:
        yield "# Partition Information", "", ""
        yield "# col_name", "data_type", "comment"
        yield from (_row(field) for field in schema.partition_fields)
    if not extended:
        return
    yield "", "", ""
    yield "# Detailed Table Information", "", ""
    yield "Name", f"paimon.{table.identifier}", ""
    is_materialized = is_materialized_table(schema.options)
    kind = "FORMAT" if isinstance(table, FormatTable) else "MATERIALIZED" if is_materialized else "MANAGED"
    yield "Type", kind, ""
    if schema.comment is not None:
        yield "Comment", schema.comment, ""
    yield "Location", table.location, ""
    yield "Provider", table.options.file_format if isinstance(table, FormatTable) else "paimon", ""
    options = shown_options(schema.options)
    if schema.primary_keys:
        options["primary-key"] = ",".join(schema.primary_keys)
    shown = ",".join(f"{key}={value}" for key, value in sorted(options.items()))
    yield "Table Properties", f"[{shown}]", ""
