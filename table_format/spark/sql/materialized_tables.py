"""Executes CREATE, ALTER and DROP MATERIALIZED TABLE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from table_format.counted import counted
from table_format.errors import AlreadyExistsError, InvalidInputError, InvalidOption, TableNotFound, UnsupportedFeature
from table_format.materialized.sources import source_states, sources_of
from table_format.materialized.table import circle_through, materialized_table
from table_format.model.schema import Schema
from table_format.model.schema_change import AddColumn, SchemaChange, SetOption
from table_format.model.types import DataField
from table_format.options import materialized as options
from table_format.options.kind import MATERIALIZED_TABLE, TYPE, is_materialized_table
from table_format.spark.names import Names
from table_format.spark.sql.refresh import query_rows, refresh
from table_format.spark.sql.results import nothing
from table_format.spark.sql.session import SqlSession
from table_format.spark.sql.tables import spelled
from table_format.spark.types import fields_of_spark
from table_format.spark.write.new_tables import create_filled
from table_format.sql.materialized_tables import (
    CreateMaterializedTable,
    DropMaterializedTable,
    Freshness,
    MaterializedTableStatement,
    RefreshMaterializedTable,
    SetFreshness,
    SetQuery,
    SuspendMaterializedTable,
)
from table_format.sql.parameters import with_parameters
from table_format.sql.reader import CATALOG_NAME
from table_format.sql.references import tables_of
from table_format.sql.splices import Edit, edited, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CONNECTOR: Final = "connector"
_BY_CLAUSE: Final = frozenset({TYPE.key, *(option.key for option in options.OF_THE_QUERY)})


def run_materialized_table_statement(session: SqlSession, statement: MaterializedTableStatement) -> DataFrame:
    """Create, refresh, change or drop a materialized table. Errors are those of the catalog and of ``Lake.refresh``."""
    name = session.table_name(statement.name)
    match statement:
        case CreateMaterializedTable():
            session.prepare_database(name)
            session.check_attached(name)
            _create(session, name, statement)
            session.keep_attached(name)
        case RefreshMaterializedTable(partition=partition):
            refresh(session, name, partition=partition)
        case SuspendMaterializedTable(suspends=suspends):
            _require(session, name)
            status = options.SUSPENDED if suspends else options.ACTIVATED
            session.catalog.alter_table(name, SetOption(options.REFRESH_STATUS.key, status.upper()))
        case SetFreshness(freshness=freshness):
            _require(session, name)
            session.catalog.alter_table(name, [SetOption(*pair) for pair in _freshness(freshness).items()])
        case SetQuery(query=query):
            _require(session, name)
            _set_query(session, name, query)
            session.keep_attached(name)
        case DropMaterializedTable(if_exists=if_exists):
            _drop(session, name, if_exists=if_exists)
            session.keep_attached(name)
    return nothing(session.spark)


def _create(session: SqlSession, name: str, statement: CreateMaterializedTable) -> None:
    if session.catalog.table_exists(name):
        if statement.if_not_exists:
            return
        message = f"table '{name}' already exists; use CREATE MATERIALIZED TABLE IF NOT EXISTS, or drop it first"
        raise AlreadyExistsError(message)
    given = {key: value for key, value in statement.options.items() if key != _CONNECTOR}
    for key in sorted(_BY_CLAUSE & given.keys()):
        raise InvalidOption(key, "is set by a clause of CREATE MATERIALIZED TABLE; leave it out")
    query = _stored_query(session, statement.query)
    fields = _fields(session, name, query)
    known = tuple(field.name for field in fields)
    Names.of(session.spark).check_new(known)
    schema = Schema(
        fields,
        tuple(spelled(key, known) for key in statement.partition_keys),
        tuple(spelled(key, known) for key in statement.primary_keys),
        {**given, **_options(statement, query)},
        statement.comment,
    )
    create_filled(session.catalog, name, schema, lambda place: refresh(session, place))


def _options(statement: CreateMaterializedTable, query: str) -> dict[str, str]:
    """Return the options of a new table, with values as Flink writes them."""
    mode = options.FULL if statement.is_full else options.AUTOMATIC
    return {
        TYPE.key: MATERIALIZED_TABLE,
        options.DEFINITION_QUERY.key: query,
        **_freshness(statement.freshness),
        options.LOGICAL_REFRESH_MODE.key: mode.upper(),
        options.REFRESH_MODE.key: options.FULL.upper(),
        options.REFRESH_STATUS.key: options.ACTIVATED.upper(),
    }


def _freshness(freshness: Freshness) -> Mapping[str, str]:
    return {
        options.INTERVAL_FRESHNESS.key: str(freshness.interval),
        options.TIME_UNIT.key: freshness.unit.upper(),
    }


def _stored_query(session: SqlSession, query: str) -> str:
    """Return the text to store: with literals in place of parameters, and with the database of each table.

    Raises:
        InvalidInputError: a name is not a table or a view of the catalog.
    """
    text = with_parameters(query, session.parameters).strip()
    edits = []
    for use in tables_of(text, database=(CATALOG_NAME, session.state.database)).tables:
        written = str(use.name)
        name = None if written.lower() in session.state.views else session.find(use.name)
        if name is None:
            message = (
                f"'{written}' is not a table of the catalog; the query of a materialized table reads only tables and "
                "views of the catalog, because a later refresh has no others"
            )
            raise InvalidInputError(message)
        edits.append(Edit(use.name.start, use.name.end, ".".join(map(quoted, name.split(".", 1)))))
    return edited(text, edits)


def _fields(session: SqlSession, name: str, query: str) -> tuple[DataField, ...]:
    """Return the columns of a query. As in Spark, all of them may contain nulls."""
    sources = sources_of(session.catalog, query, name.partition(".")[0])
    circle = circle_through(session.catalog, name, sources.tables)
    if circle:
        message = f"materialized table '{name}' cannot read itself: {' -> '.join((name, *circle))}"
        raise InvalidInputError(message)
    rows = query_rows(session, name, query, source_states(session.catalog, sources.tables))
    return tuple(
        DataField(f.id, f.name, f.type.with_nullable(True), f.description) for f in fields_of_spark(rows.schema)
    )


def _require(session: SqlSession, name: str) -> None:
    """Require a materialized table that this library refreshes."""
    found = materialized_table(session.catalog, name)
    if found.problem is not None and found.query:
        feature = f"changing '{name}'"
        message = f"materialized table '{name}' cannot be changed here: {found.problem}"
        raise UnsupportedFeature(feature, message)


def _set_query(session: SqlSession, name: str, query: str) -> None:
    text = _stored_query(session, query)
    changes: list[SchemaChange] = [*_added(session, name, text), SetOption(options.DEFINITION_QUERY.key, text)]
    session.catalog.alter_table(name, changes)


def _added(session: SqlSession, name: str, query: str) -> Sequence[SchemaChange]:
    """Return the changes that add the last columns of a query to a table, which has the first ones.

    Raises:
        UnsupportedFeature: the query lacks a column of the table, or has it with another type or in another place.
    """
    old, new = session.data_table(name).schema.fields, _fields(session, name, query)
    before, after = ([(f.name, f.type.with_nullable(True)) for f in fields] for fields in (old, new))
    if after[: len(before)] != before:
        feature = "ALTER MATERIALIZED TABLE ... AS with other columns"
        shown = ", ".join(f"{column} {data_type}" for column, data_type in before)
        message = (
            f"{feature} is not supported: the first {counted(len(before), 'column')} of the query must be those of "
            f"'{name}': {shown}. Drop the table, and create it again"
        )
        raise UnsupportedFeature(feature, message)
    Names.of(session.spark).check_new(tuple(field.name for field in new))
    return [AddColumn((field.name,), field.type, field.description) for field in new[len(old) :]]


def _drop(session: SqlSession, name: str, *, if_exists: bool) -> None:
    is_there = session.has_database(name.partition(".")[0]) and session.catalog.table_exists(name)
    if not is_there and if_exists:
        return
    if not is_there:
        message = f"materialized table '{name}' does not exist"
        raise TableNotFound(message)
    opened = session.data_table(name)
    if not is_materialized_table(opened.schema.options):
        message = f"'{name}' is a table, not a materialized table; use DROP TABLE"
        raise InvalidInputError(message)
    session.catalog.drop_table(name)
