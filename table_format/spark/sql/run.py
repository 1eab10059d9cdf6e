"""Runs a script: all statements are parsed first, then executed one by one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from table_format.errors import InvalidSql
from table_format.spark.sql.registry import STATEMENTS, StatementKind
from table_format.spark.sql.session import SqlSession
from table_format.sql.grammar import grammar_of
from table_format.sql.hints import refuse_idle_hint
from table_format.sql.reader import Reader
from table_format.sql.script import statements_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run_script(session: SqlSession, text: str) -> tuple[DataFrame, ...]:
    """Run a script and return the results of its statements in order.

    Raises:
        InvalidSql: a statement cannot be parsed, or the script is empty. Nothing was executed.
        UnsupportedFeature: a clause is not supported. Nothing was executed.
    """
    works = [_work(session, statement) for statement in statements_of(text)]
    if not works:
        message = "the text contains no statement"
        raise InvalidSql(message, line=1, column=1)
    return tuple(work() for work in works)


def _work(session: SqlSession, text: str) -> Callable[[], DataFrame]:
    reader = Reader.of(text, session.parameters)
    kinds: dict[int, StatementKind] = {id(kind.grammar): kind for kind in STATEMENTS.values()}
    grammar = grammar_of(reader, [kind.grammar for kind in kinds.values()])
    if grammar is None:
        reader.expected("a statement")
    statement = grammar.read(reader)
    refuse_idle_hint(reader)
    return partial(kinds[id(grammar)].run, session, statement)
