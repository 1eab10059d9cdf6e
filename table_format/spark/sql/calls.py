"""Executes CALL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from table_format.errors import UnsupportedFeature
from table_format.model.identifier import SYSTEM_DATABASE
from table_format.procedures.arguments import Argument
from table_format.procedures.declare import Procedure
from table_format.procedures.registry import PROCEDURES
from table_format.procedures.run import bound_arguments, find_procedure, run_procedure
from table_format.spark.operations import OnSpark
from table_format.spark.sql.results import arrow_rows, rows_of
from table_format.spark.sql.session import SqlSession
from table_format.sql.calls import CallProcedure
from table_format.sql.reader import CATALOG_NAME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_HELP = "help"
_TABLE = "table"


def run_call(session: SqlSession, statement: CallProcedure) -> DataFrame:
    """Run a procedure, with its heavy work as Spark jobs, and return its rows.

    Raises:
        UnsupportedFeature: the procedure does not exist.
        InvalidInputError: an argument is unknown, missing or malformed.
    """
    name = _procedure(statement)
    if name == _HELP:
        return _help(session, statement)
    procedure = find_procedure(name)
    named = _with_database(session, procedure, statement)
    return arrow_rows(session.spark, run_procedure(OnSpark(session.spark, session.catalog), name, named))


def _procedure(statement: CallProcedure) -> str:
    parts = tuple(part.lower() for part in statement.name.parts)
    if parts[:-1] not in ((SYSTEM_DATABASE,), (CATALOG_NAME, SYSTEM_DATABASE)):
        feature = f"CALL {statement.name}"
        message = f"{feature} is not supported; procedures are called as CALL {SYSTEM_DATABASE}.{parts[-1]}(...)"
        raise UnsupportedFeature(feature, message)
    return parts[-1]


def _with_database(session: SqlSession, procedure: Procedure, statement: CallProcedure) -> dict[str, object]:
    """Return the arguments by name. A table without a database is in the current database."""
    # This checks the number of arguments.
    bound_arguments(procedure, _placeless(statement), statement.positional)
    named: dict[str, object] = dict(
        zip((argument.name for argument in procedure.arguments), statement.positional, strict=False)
    )
    named.update(statement.named)
    for key, value in named.items():
        if key.lower() == _TABLE and isinstance(value, str):
            plain = value.replace("`", "").strip()
            if "." not in plain:
                plain = f"{session.state.database}.{plain}"
            parts = plain.split(".")
            named[key] = ".".join(parts[1:]) if len(parts) == 3 and parts[0].lower() == CATALOG_NAME else plain
    return named


def _placeless(statement: CallProcedure) -> dict[str, object]:
    return dict(statement.named)


def _help(session: SqlSession, statement: CallProcedure) -> DataFrame:
    wanted = [*statement.positional, *statement.named.values()]
    chosen = [find_procedure(str(name)) for name in wanted] or list(PROCEDURES.values())
    columns = "procedure string, argument string, type string, required boolean, default string, help string"
    return rows_of(session.spark, columns, (row for procedure in chosen for row in _help_rows(procedure)))


def _help_rows(procedure: Procedure) -> Iterator[tuple[object, ...]]:
    yield (procedure.name, None, None, None, None, procedure.summary)
    for argument in procedure.arguments:
        yield (procedure.name, argument.name, argument.type.words, argument.required, _default(argument), argument.help)


def _default(argument: Argument) -> str | None:
    return None if argument.default is None else str(argument.default).lower()
