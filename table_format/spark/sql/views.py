"""Executes statements about views.

The text of a temporary view becomes part of the queries that name it. The catalog keeps all other views.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from table_format.catalog.views import require_views
from table_format.counted import counted
from table_format.errors import AlreadyExistsError, InvalidInputError, InvalidSql, ViewNotFound
from table_format.model.types import DataField
from table_format.model.view import View
from table_format.spark.sql.queries import frame_of_query, names_known_table
from table_format.spark.sql.results import nothing
from table_format.spark.sql.session import SqlSession
from table_format.spark.types import fields_of_spark
from table_format.sql.parameters import with_parameters
from table_format.sql.reader import CATALOG_NAME, SqlName
from table_format.sql.references import names_in, tables_of
from table_format.sql.views import CreateStoredView, CreateView, DropView, ViewStatement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Columns: TypeAlias = tuple[tuple[str, str | None], ...]
"""The names of columns with their comments."""


def run_view_statement(session: SqlSession, statement: ViewStatement) -> DataFrame:
    """Create or drop a view. Spark manages temporary views that read no table of the catalog.

    Raises:
        AlreadyExistsError: the view exists. ViewNotFound: it does not.
        UnsupportedFeature: the catalog keeps no views.
    """
    key = str(statement.name).lower()
    match statement:
        case CreateStoredView():
            _store(session, statement)
        case DropView():
            if session.state.views.pop(key, None) is None and not _drop_stored(session, statement):
                return session.spark.sql(statement.text)
        case CreateView(or_replace=or_replace):
            if key in session.state.views and not or_replace:
                message = f"view '{key}' already exists; use CREATE OR REPLACE TEMPORARY VIEW"
                raise AlreadyExistsError(message)
            # There are views of Spark and of this library, and a name means one of them.
            if not statement.query or not names_known_table(session, statement.query):
                created = session.spark.sql(statement.text, dict(session.parameters) or None)
                session.state.views.pop(key, None)
                return created
            create_temporary_view(session, key, statement)
            if or_replace:
                session.spark.catalog.dropTempView(key)
    return nothing(session.spark)


def create_temporary_view(session: SqlSession, key: str, statement: CreateView) -> None:
    """Keep a temporary view in the session under its name in lower case, also in the place of another one."""
    check_temporary_name(statement.name)
    # A later query of the view has other parameters.
    statement = replace(statement, query=with_parameters(statement.query, session.parameters))
    found = len(frame_of_query(session, statement.query).columns)
    if statement.columns and len(statement.columns) != found:
        message = f"view '{key}' names {counted(len(statement.columns), 'column')}, but its query has {found}"
        raise InvalidInputError(message)
    session.state.views[key] = (statement, session.state.database)


def check_temporary_name(name: SqlName) -> None:
    """Refuse a name with a database.

    Raises:
        InvalidInputError: a temporary view has no database.
    """
    if len(name.parts) != 1:
        message = f"'{name}': the name of a temporary view has no database; leave it out"
        raise InvalidInputError(message)


def stored_view(session: SqlSession, name: str, *, of_tables: str) -> View | None:
    """Return the view ``database.view`` of the catalog; ``None`` if there is none.

    Raises:
        ViewNotFound: there is a table of this name; ``of_tables`` is the statement for tables.
    """
    view = session.view(name)
    if view is None and session.catalog.table_exists(name):
        message = f"view '{name}' does not exist: '{name}' is a table; use {of_tables}"
        raise ViewNotFound(message)
    return view


def _drop_stored(session: SqlSession, statement: DropView) -> bool:
    """Drop a view of the catalog. Return ``False`` if Spark may know the name."""
    name = session.find(statement.name)
    if name is None:
        return False
    is_there = stored_view(session, name, of_tables="DROP TABLE") is not None
    if is_there or not statement.if_exists:
        require_views(session.catalog).drop_view(name, ignore_if_not_exists=statement.if_exists)
    return True


def _store(session: SqlSession, statement: CreateStoredView) -> None:
    catalog = require_views(session.catalog)
    name = session.table_name(statement.name)
    session.prepare_database(name)
    if statement.if_not_exists and catalog.view_exists(name):
        return
    view = view_of_query(session, name, statement.query, statement.columns, statement.comment, statement.options)
    catalog.create_view(view, ignore_if_exists=statement.if_not_exists, replace=statement.or_replace)


def view_of_query(
    session: SqlSession,
    name: str,
    query: str,
    columns: Columns = (),
    comment: str | None = None,
    options: Mapping[str, str] | None = None,
) -> View:
    """Return a view that the catalog can keep: a query with its parameters as literals, and its columns now.

    ``columns`` are names with comments; without them, the view has the names and comments of the query.

    Raises:
        InvalidInputError: the query reads a temporary view, or does not have these columns.
    """
    used = _temporary(session, query)
    if used is not None:
        message = f"view '{name}' cannot read '{used}', a temporary view, which ends with the session"
        raise InvalidInputError(message)
    # A later query of the view has other parameters.
    text = with_parameters(query, session.parameters)
    found = fields_of_spark(frame_of_query(session, text, (name,)).schema)
    return View.of(name, _named(name, columns, found), text.strip(), comment=comment, options=options)


def temporary_views_of_spark(session: SqlSession) -> frozenset[str]:
    """Return the temporary views of the session that Spark manages."""
    return frozenset(row["viewName"] for row in session.spark.sql("SHOW VIEWS").collect() if row["isTemporary"])


def _temporary(session: SqlSession, query: str) -> str | None:
    """Return a temporary view that a query names, of this library or of Spark. Names in a WITH clause are not views."""
    try:
        place = (CATALOG_NAME, session.state.database)
        names = [use.name for use in tables_of(query, session.parameters, database=place).tables]
    except InvalidSql:
        names = list(names_in(query))
    single = [str(name) for name in names if len(name.parts) == 1 and session.find(name) is None]
    own = [name for name in single if name.lower() in session.state.views]
    if own or not single:
        return own[0] if own else None
    of_spark = {name.lower() for name in temporary_views_of_spark(session)}
    return next((name for name in single if name.lower() in of_spark), None)


def _named(name: str, columns: Columns, found: tuple[DataField, ...]) -> list[DataField]:
    """Return the columns of a query under the names, and with the comments, of the statement."""
    columns = columns or tuple((field.name, field.description) for field in found)
    if len(columns) != len(found):
        message = f"view '{name}' names {counted(len(columns), 'column')}, but its query has {len(found)}"
        raise InvalidInputError(message)
    names = [column.lower() for column, _ in columns]
    repeated = next((column for column in names if names.count(column) > 1), None)
    if repeated is not None:
        message = f"view '{name}' has two columns '{repeated}'; name its columns: CREATE VIEW {name} (a, b, ...) AS ..."
        raise InvalidInputError(message)
    return [
        replace(field, id=number, name=column, description=comment, default_value=None)
        for number, (field, (column, comment)) in enumerate(zip(found, columns, strict=True))
    ]
