"""Lists the families of statements and the functions that execute them.

A new family needs a grammar in ``table_format/sql/<name>.py``, a function in a module of this package, and a line in
``STATEMENTS``. Programs add their own with ``register_statement``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_format.registry import Registry
from table_format.spark.sql import (
    alter,
    alter_view,
    calls,
    changes,
    databases,
    insert,
    materialized_tables,
    queries,
    show,
    tables,
    views,
)
from table_format.spark.sql.session import SqlSession
from table_format.sql import alter as alter_grammar
from table_format.sql import alter_view as alter_view_grammar
from table_format.sql import calls as call_grammar
from table_format.sql import changes as change_grammar
from table_format.sql import databases as database_grammar
from table_format.sql import insert as insert_grammar
from table_format.sql import materialized_tables as materialized_grammar
from table_format.sql import queries as query_grammar
from table_format.sql import show as show_grammar
from table_format.sql import tables as table_grammar
from table_format.sql import views as view_grammar
from table_format.sql.grammar import Grammar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class StatementKind:
    """A family of statements. ``run`` executes the statement that the grammar has read, and returns the result."""

    name: str
    grammar: Grammar
    run: Callable[[SqlSession, Any], DataFrame]


STATEMENTS: Final = Registry(
    "SQL statement",
    (
        StatementKind("query", query_grammar.GRAMMAR, queries.run_query),
        StatementKind("database", database_grammar.GRAMMAR, databases.run_database_statement),
        StatementKind("table", table_grammar.GRAMMAR, tables.run_table_statement),
        StatementKind(
            "materialized table", materialized_grammar.GRAMMAR, materialized_tables.run_materialized_table_statement
        ),
        StatementKind("alter", alter_grammar.GRAMMAR, alter.run_alter_statement),
        StatementKind("show", show_grammar.GRAMMAR, show.run_show_statement),
        StatementKind("view", view_grammar.GRAMMAR, views.run_view_statement),
        StatementKind("alter view", alter_view_grammar.GRAMMAR, alter_view.run_alter_view_statement),
        StatementKind("insert", insert_grammar.GRAMMAR, insert.run_insert),
        StatementKind("change", change_grammar.GRAMMAR, changes.run_change_statement),
        StatementKind("call", call_grammar.GRAMMAR, calls.run_call),
    ),
    name_of=lambda kind: kind.name,
)


def register_statement(kind: StatementKind) -> None:
    """Register a family of statements for ``Lake.sql`` in this process.

    Raises:
        AlreadyExistsError: a family with this name is registered.
    """
    STATEMENTS.register(kind)
