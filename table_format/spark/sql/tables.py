"""Executes CREATE, REPLACE, DROP, TRUNCATE, ANALYZE and REFRESH TABLE."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from table_format.errors import (
    AlreadyExistsError,
    InvalidInputError,
    InvalidOption,
    TableFormatError,
    TableNotFound,
    UnsupportedFeature,
)
from table_format.format_table.table import no_format_table
from table_format.model.schema import Schema, TableSchema
from table_format.model.types import DataField, LocalZonedTimestampType
from table_format.options.format_table import is_format_table
from table_format.options.kind import TYPE, is_materialized_table, is_object_table
from table_format.options.materialized import OF_THE_QUERY
from table_format.spark.names import Names
from table_format.spark.sql.queries import frame_of_query
from table_format.spark.sql.results import nothing
from table_format.spark.sql.session import SqlSession
from table_format.spark.types import fields_of_spark
from table_format.spark.write.new_tables import create_filled, replace_table
from table_format.sql.tables import (
    AnalyzeTable,
    CreateTable,
    DropTable,
    RefreshTable,
    TableStatement,
    TruncateTable,
)
from table_format.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PROVIDER: Final = "paimon"
_CONNECTOR: Final = "connector"
_COMMENT: Final = "comment"
_MICROSECONDS: Final = 6
"""The precision of the times of Spark."""


def run_table_statement(session: SqlSession, statement: TableStatement) -> DataFrame:
    """Execute a statement about a whole table. Errors are those of the catalog."""
    name = session.table_name(statement.name)
    match statement:
        case CreateTable():
            session.prepare_database(name)
            session.check_attached(name)
            _create(session, name, statement)
            session.keep_attached(name)
        case DropTable(if_exists=if_exists):
            _drop(session, name, if_exists=if_exists)
            session.keep_attached(name)
        case TruncateTable(partition=None):
            session.data_table(name).truncate()
        case TruncateTable(partition=partition):
            table = session.data_table(name)
            table.drop_partitions([table_partition(session, name, partition or {})])
        case AnalyzeTable(columns=columns):
            table = session.data_table(name)
            table.analyze(table.schema.field_names if columns is None else column_names(session, name, columns))
        case RefreshTable():
            session.catalog.load_any(name)
    return nothing(session.spark)


def column_names(session: SqlSession, name: str, columns: tuple[str, ...]) -> list[str]:
    """Return the column names as the table spells them. Case is ignored if only one column matches."""
    known = session.data_table(name).schema.field_names
    return [spelled(column, known) for column in columns]


def spelled(column: str, known: tuple[str, ...]) -> str:
    """Return a column name as the table spells it.

    >>> spelled("ID", ("id", "v"))
    'id'
    """
    if column in known:
        return column
    alike = [name for name in known if name.lower() == column.lower()]
    return alike[0] if len(alike) == 1 else column


def table_partition(session: SqlSession, name: str, partition: Mapping[str, object]) -> dict[str, object]:
    """Return the values of partition columns, with names as the table spells them."""
    schema = session.data_table(name).schema
    return in_session_zone(session.spark, schema, spelled_partition(schema, partition))


def spelled_partition(schema: TableSchema, partition: Mapping[str, object]) -> dict[str, object]:
    """Return the values of partition columns, with names as the schema spells them."""
    return {spelled(column, schema.field_names): value for column, value in partition.items()}


def in_session_zone(spark: SparkSession, schema: TableSchema, partition: Mapping[str, object]) -> dict[str, object]:
    """Return the values of partition columns: a text without a time zone is a time in the zone of the session."""
    found = dict(partition)
    for field in schema.partition_fields:
        text, kind = found.get(field.name), field.type
        if isinstance(text, str) and isinstance(kind, LocalZonedTimestampType) and kind.precision <= _MICROSECONDS:
            row = spark.range(1).select(F.unix_micros(F.lit(text).try_cast("timestamp"))).first()
            if row is not None and row[0] is not None:  # a text of another kind may be the name of null
                found[field.name] = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=row[0])
    return found


def _drop(session: SqlSession, name: str, *, if_exists: bool) -> None:
    if if_exists and not session.has_database(name.partition(".")[0]):
        return
    is_materialized = False
    with suppress(TableFormatError, OSError):  # a table that cannot be opened can be dropped
        is_materialized = _is_materialized(session.catalog.load_any(name))
    if is_materialized:
        message = f"'{name}' is a materialized table; use DROP MATERIALIZED TABLE"
        raise InvalidInputError(message)
    session.catalog.drop_table(name, ignore_if_not_exists=if_exists)


def _create(session: SqlSession, name: str, statement: CreateTable) -> None:
    _check_provider(statement)
    exists = session.catalog.table_exists(name)
    if statement.must_exist and not exists:
        message = f"table '{name}' does not exist; use CREATE OR REPLACE TABLE"
        raise TableNotFound(message)
    if exists and statement.if_not_exists:
        return
    if exists and not statement.or_replace:
        message = f"table '{name}' already exists; use CREATE TABLE IF NOT EXISTS or CREATE OR REPLACE TABLE"
        raise AlreadyExistsError(message)
    rows = None if statement.query is None else frame_of_query(session, statement.query)
    schema = _schema(session, statement, rows)
    if rows is not None and is_object_table(schema.options):
        feature = "CREATE TABLE ... AS of an object table"
        message = f"{feature} is not supported: its rows are the files of its location; leave the query out"
        raise UnsupportedFeature(feature, message)

    def fill(place: str) -> None:
        if rows is not None:
            session.tables.write(rows, place, "append")

    if is_materialized_table(schema.options):
        feature = "CREATE TABLE with 'type' = 'materialized-table'"
        raise UnsupportedFeature(feature, f"{feature} is not supported; use CREATE MATERIALIZED TABLE")
    if exists:
        present = session.catalog.load_any(name)
        _refuse_replacing(present)
        no_format_table(present, "CREATE OR REPLACE (drop it first)")
        if is_format_table(schema.options):
            feature = "CREATE OR REPLACE TABLE of a format table"
            raise UnsupportedFeature(feature)
    make = replace_table if exists else create_filled
    make(session.catalog, name, schema, fill)


def _is_materialized(opened: object) -> bool:
    return isinstance(opened, Table) and is_materialized_table(opened.schema.options)


def _refuse_replacing(present: object) -> None:
    if _is_materialized(present):
        feature = "CREATE OR REPLACE TABLE of a materialized table"
        raise UnsupportedFeature(feature, f"{feature} is not supported; drop it first with DROP MATERIALIZED TABLE")


def _check_provider(statement: CreateTable) -> None:
    if statement.provider not in (None, _PROVIDER):
        feature = f"CREATE TABLE ... USING {statement.provider}"
        message = f"{feature} is not supported: the catalog has only Paimon tables; use spark.sql for other tables"
        raise UnsupportedFeature(feature, message)
    connector = statement.options.get(_CONNECTOR, _PROVIDER)
    if connector != _PROVIDER:
        feature = f"'connector' = '{connector}'"
        message = f"{feature} is not supported: the catalog has only Paimon tables; read the source with Spark"
        raise UnsupportedFeature(feature, message)
    if "path" in statement.options and not is_format_table(statement.options):
        key = "path"
        raise InvalidOption(key, "tables are stored in the warehouse of the catalog; leave this option out")


def _options_to_copy(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options for a table LIKE another one. A copy of a materialized table is an ordinary table."""
    left_out = {option.key for option in (TYPE, *OF_THE_QUERY)} if is_materialized_table(options) else frozenset()
    return {key: value for key, value in options.items() if key not in left_out}


def _schema(session: SqlSession, statement: CreateTable, rows: DataFrame | None) -> Schema:
    options = {key: value for key, value in statement.options.items() if key not in (_CONNECTOR, _COMMENT)}
    comment = statement.comment if statement.comment is not None else statement.options.get(_COMMENT)
    if statement.like is not None:
        source = session.data_table(session.table_name(statement.like)).schema
        return Schema(
            source.fields,
            source.partition_keys,
            source.primary_keys,
            {**_options_to_copy(source.options), **options},
            source.comment if comment is None else comment,
        )
    if rows is not None:
        # As in Spark, all columns of a query may contain nulls.
        fields = tuple(
            DataField(f.id, f.name, f.type.with_nullable(True), f.description) for f in fields_of_spark(rows.schema)
        )
    else:
        fields = tuple(
            DataField(number, column.name, column.type, column.comment, column.default)
            for number, column in enumerate(statement.columns)
        )
    known = tuple(field.name for field in fields)
    Names.of(session.spark).check_new(known)
    return Schema(
        fields,
        tuple(spelled(key, known) for key in statement.partition_keys),
        tuple(spelled(key, known) for key in statement.primary_keys),
        options,
        comment,
    )
