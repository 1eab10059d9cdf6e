"""Executes CREATE, DROP, USE and DESCRIBE DATABASE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_format.errors import DatabaseNotFound
from table_format.nearest_names import did_you_mean
from table_format.spark.names import quoted
from table_format.spark.sql.results import nothing, rows_of
from table_format.spark.sql.session import DEFAULT_DATABASE, SqlSession
from table_format.sql.databases import (
    CreateDatabase,
    DatabaseStatement,
    DescribeDatabase,
    DropDatabase,
    UseDatabase,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run_database_statement(session: SqlSession, statement: DatabaseStatement) -> DataFrame:
    """Execute a statement about a database. Errors are those of the catalog."""
    if len(statement.name.parts) == 1 and statement.name.parts[0] == "paimon" and isinstance(statement, UseDatabase):
        return nothing(session.spark)  # the catalog itself
    name = session.database_name(statement.name)
    match statement:
        case CreateDatabase(if_not_exists=if_not_exists):
            session.catalog.create_database(name, ignore_if_exists=if_not_exists)
        case DropDatabase(if_exists=if_exists, cascade=cascade):
            session.catalog.drop_database(name, ignore_if_not_exists=if_exists, cascade=cascade)
            if name in session.state.attached:
                session.state.attached.remove(name)
                session.spark.sql(f"DROP DATABASE IF EXISTS {quoted(name)} CASCADE")
            if session.state.database == name:
                session.state.database = DEFAULT_DATABASE
        case UseDatabase():
            require_database(session, name)
            session.state.database = name
        case DescribeDatabase():
            require_database(session, name)
            return rows_of(session.spark, "info_name string, info_value string", [("Namespace Name", name)])
    return nothing(session.spark)


def require_database(session: SqlSession, name: str) -> None:
    """Require that a database exists. ``default`` exists even before its first table.

    Raises:
        DatabaseNotFound: the database does not exist.
    """
    if name != DEFAULT_DATABASE and not session.catalog.database_exists(name):
        advice = did_you_mean(name, session.catalog.list_databases()) or "; create it with CREATE DATABASE"
        message = f"database '{name}' does not exist{advice}"
        raise DatabaseNotFound(message)
