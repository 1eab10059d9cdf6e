"""Executes statements about temporary views. The text of a view becomes part of the queries that name it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from table_format.counted import counted
from table_format.errors import AlreadyExistsError, InvalidInputError
from table_format.spark.sql.queries import frame_of_query, names_known_table
from table_format.spark.sql.results import nothing
from table_format.spark.sql.session import SqlSession
from table_format.sql.parameters import with_parameters
from table_format.sql.views import CreateView, DropView, ViewStatement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run_view_statement(session: SqlSession, statement: ViewStatement) -> DataFrame:
    """Create or drop a temporary view. Spark manages views that read no table of the catalog.

    Raises:
        AlreadyExistsError: the view exists.
    """
    key = str(statement.name).lower()
    match statement:
        case DropView():
            if session.state.views.pop(key, None) is None:
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
            _create(session, key, statement)
            if or_replace:
                session.spark.catalog.dropTempView(key)
    return nothing(session.spark)


def _create(session: SqlSession, key: str, statement: CreateView) -> None:
    if len(statement.name.parts) != 1:
        message = f"'{statement.name}': the name of a temporary view has no database; leave it out"
        raise InvalidInputError(message)
    # A later query of the view has other parameters.
    statement = replace(statement, query=with_parameters(statement.query, session.parameters))
    found = len(frame_of_query(session, statement.query).columns)
    if statement.columns and len(statement.columns) != found:
        message = f"view '{key}' names {counted(len(statement.columns), 'column')}, but its query has {found}"
        raise InvalidInputError(message)
    session.state.views[key] = (statement, session.state.database)
