"""Executes INSERT INTO and INSERT OVERWRITE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from table_format.counted import counted
from table_format.errors import InvalidData, InvalidInputError
from table_format.format_table.table import FormatTable, refuse_arguments
from table_format.model.arguments import shown
from table_format.model.column_names import does_not_exist
from table_format.model.schema import TableSchema
from table_format.model.types import DataField
from table_format.options.unread import Reader
from table_format.spark.dml.changed_rows import explaining_values
from table_format.spark.names import column
from table_format.spark.sql.expressions import expressions_of
from table_format.spark.sql.queries import frame_of_query
from table_format.spark.sql.results import nothing
from table_format.spark.sql.session import SqlSession
from table_format.spark.sql.stored_types import stored
from table_format.spark.sql.tables import in_session_zone, spelled
from table_format.spark.types import spark_type
from table_format.sql.definitions import default_literal
from table_format.sql.insert import OF_QUERY, Insert
from table_format.sql.qualifiers import Relation
from table_format.sql.reader import CATALOG_NAME
from table_format.sql.references import full_name
from table_format.sql.values import NO_DEFAULT, without_defaults

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_OVERWRITE_MODE: Final = "spark.sql.sources.partitionOverwriteMode"
_DYNAMIC: Final = "dynamic-partition-overwrite"


def run_insert(session: SqlSession, statement: Insert) -> DataFrame:
    """Write the rows of a query. Values are cast by Spark's store assignment.

    Raises:
        InvalidData: columns or values do not fit the table. Nothing was committed.
        InvalidInputError: the condition of REPLACE WHERE does not select whole partitions. Nothing was committed.
    """
    name = session.table_name(statement.name)
    opened = session.catalog.load_any(name)
    with explaining_values():
        if isinstance(opened, FormatTable):
            return _insert_files(session, opened, statement)
        return _insert_rows(session, name, statement)


def _insert_rows(session: SqlSession, name: str, statement: Insert) -> DataFrame:
    """Write the rows of a query to a data table."""
    options = dict(statement.options)
    table = session.data_table(name).for_reader(Reader.WRITE, options)
    table.facts.require_changeable()
    schema = table.schema
    given, named = _partition(schema, statement)
    rows = _rows(session, name, schema, statement, given, merges_schema=table.options.write.merge_schema)
    if statement.replaces is not None:
        target = Relation(full_name(statement.name, (CATALOG_NAME, session.state.database)), statement.name.parts[-1])
        with expressions_of(session, [target]) as texts:
            where = texts.readable(statement.replaces)
            session.tables.write(rows, name, "overwrite", where=where, options=options)
        return nothing(session.spark)
    if not statement.overwrites:
        session.tables.write(rows, name, "append", options=options)
        return nothing(session.spark)
    dynamic = str(session.spark.conf.get(_OVERWRITE_MODE, "STATIC")).upper() == "DYNAMIC"
    options.setdefault(_DYNAMIC, "true" if dynamic else "false")
    partition = in_session_zone(session.spark, schema, given) if named and given and not dynamic else None
    session.tables.write(rows, name, "overwrite", partition=partition, options=options)
    return nothing(session.spark)


def _insert_files(session: SqlSession, table: FormatTable, statement: Insert) -> DataFrame:
    """Write the rows of a query to new files of a format table."""
    refuse_arguments(table, {"REPLACE WHERE": statement.replaces, "an OPTIONS hint": statement.options or None})
    name = str(table.identifier)
    given, named = _partition(table.schema, statement)
    rows = _rows(session, name, table.schema, statement, given, merges_schema=False)
    if not statement.overwrites:
        session.tables.write(rows, name, "append")
        return nothing(session.spark)
    # As for a data table: by default, all that the PARTITION clause names; in dynamic mode, what the rows belong to.
    dynamic = str(session.spark.conf.get(_OVERWRITE_MODE, "STATIC")).upper() == "DYNAMIC"
    partition = None if dynamic else given if named else {}
    session.tables.write(rows, name, "overwrite", partition=partition)
    return nothing(session.spark)


def _partition(schema: TableSchema, statement: Insert) -> tuple[dict[str, object], bool]:
    """Return the values of partition columns in the statement, and whether it has a PARTITION clause."""
    listed: Mapping[str, Any] = statement.partition or {}
    spelt = {spelled(key, schema.field_names): value for key, value in listed.items()}
    for key in spelt:
        if key not in schema.partition_keys:
            keys = ", ".join(schema.partition_keys) or "none"
            message = f"'{key}' is not a partition column; the partition columns are {keys}"
            raise InvalidInputError(message)
    return {key: value for key, value in spelt.items() if value is not OF_QUERY}, statement.partition is not None


def _rows(
    session: SqlSession,
    name: str,
    schema: TableSchema,
    statement: Insert,
    given: Mapping[str, object],
    *,
    merges_schema: bool,
) -> DataFrame:
    wanted = [field for field in schema.fields if field.name not in given]
    found = frame_of_query(session, without_defaults(statement.query, _defaults(wanted, statement)))
    if merges_schema and statement.columns is None:
        return _merged_rows(found, wanted, given, by_name=statement.by_name)
    if statement.by_name:
        listed = _by_name(name, wanted, found.columns)
    elif statement.columns is not None:
        listed = _listed(name, wanted, statement.columns)
    else:
        listed = wanted
    if len(found.columns) != len(listed):
        names = ", ".join(field.name for field in listed)
        message = (
            f"INSERT INTO {name}: expected {counted(len(listed), 'column')} ({names}), found {len(found.columns)} "
            f"({', '.join(found.columns)})"
        )
        raise InvalidData(message)
    rows = stored(found, listed, by_name=statement.by_name)
    present = {field.name for field in listed}
    for field in schema.fields:
        if field.name not in present:
            rows = rows.withColumn(field.name, _constant(name, field, given))
    return rows.select(*(column(field.name) for field in schema.fields))


def _constant(name: str, field: DataField, given: Mapping[str, object]) -> Column:
    """Return the value of a column in the PARTITION clause, or its default value."""
    wanted = spark_type(field.type, field.name)
    value = given.get(field.name)
    if field.name not in given:
        return F.expr(default_literal(field)).cast(wanted)
    if value is None:
        return F.lit(None).cast(wanted)
    # Without ANSI mode, a plain cast would give another value, or null.
    text = f"table {name}: partition column '{field.name}' is {field.type}, which cannot hold {shown(value)}"
    return F.coalesce(F.lit(value).try_cast(wanted), F.raise_error(F.lit(text)).cast(wanted))


def _defaults(wanted: Sequence[DataField], statement: Insert) -> list[str]:
    """Return the default values of the columns that the query fills, in the order of the query."""
    by_name = {field.name: field for field in wanted}
    names = [field.name for field in wanted] if statement.columns is None else statement.columns
    fields = [by_name.get(spelled(name, tuple(by_name))) for name in names]
    return [NO_DEFAULT if field is None else default_literal(field) for field in fields]


def _merged_rows(
    found: DataFrame, wanted: Sequence[DataField], given: Mapping[str, object], *, by_name: bool
) -> DataFrame:
    """Return the rows with their own types and additional columns, named like the table by position or by name."""
    known = tuple(field.name for field in wanted)
    if by_name:
        names = [spelled(written, known) for written in found.columns]
    else:
        names = [*known[: len(found.columns)], *found.columns[len(known) :]]
    rows = found.toDF(*names)
    return rows.select("*", *(F.lit(value).alias(key) for key, value in given.items()))


def _by_name(name: str, wanted: Sequence[DataField], columns: Sequence[str]) -> list[DataField]:
    return _listed(name, wanted, tuple(columns))


def _listed(name: str, wanted: Sequence[DataField], columns: Sequence[str]) -> list[DataField]:
    by_name = {field.name: field for field in wanted}
    found = []
    for written in columns:
        field = by_name.get(spelled(written, tuple(by_name)))
        if field is None:
            message = f"INSERT INTO {name}: column '{written}' {does_not_exist(written, by_name)}"
            raise InvalidData(message)
        if field in found:
            message = f"INSERT INTO {name}: column '{field.name}' is given twice"
            raise InvalidData(message)
        found.append(field)
    return found
