"""Converts expressions of UPDATE, DELETE and MERGE: views replace the tables of the catalog in subqueries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from table_format.spark.names import quoted
from table_format.spark.sql.queries import spliced
from table_format.spark.sql.session import SqlSession
from table_format.sql.parameters import with_parameters
from table_format.sql.qualifiers import Relation

_SELECT: Final = "SELECT "
_NUMBERS: Final = count()


@dataclass(frozen=True, slots=True)
class Expressions:
    """Converts the expressions of one statement to a form that Spark can evaluate. ``relations`` are its tables."""

    session: SqlSession
    relations: Sequence[Relation] = ()
    _views: list[str] = field(default_factory=list)

    def readable(self, text: str) -> str:
        """Return the expression with literals for parameters, and with names of views for tables in subqueries.

        Raises:
            InvalidSql: the expression names a table of the catalog and cannot be parsed.
            NotFoundError: a table, snapshot or tag does not exist.
        """
        given = with_parameters(text, self.session.parameters)
        found, frames = spliced(self.session, _SELECT + given, self.relations)
        views = {}
        for place, frame in frames.items():
            views[place] = f"__paimon_expression_{next(_NUMBERS)}"
            frame.createOrReplaceTempView(views[place])
            self._views.append(views[place])
        return found.format(**{place: quoted(view) for place, view in views.items()})[len(_SELECT) :]

    def forget(self) -> None:
        """Drop the views."""
        for view in self._views:
            self.session.spark.catalog.dropTempView(view)


@contextmanager
def expressions_of(session: SqlSession, relations: Sequence[Relation] = ()) -> Iterator[Expressions]:
    """Return the expressions of one statement on these tables. Their views are dropped afterwards."""
    expressions = Expressions(session, relations)
    try:
        yield expressions
    finally:
        expressions.forget()
