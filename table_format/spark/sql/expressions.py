"""Expressions of UPDATE, DELETE and MERGE: in their subqueries views stand in the places of our tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from table_format.spark.names import quoted
from table_format.spark.sql.queries import spliced
from table_format.spark.sql.session import SqlSession
from table_format.sql.parameters import with_parameters

_SELECT: Final = "SELECT "
_NUMBERS: Final = count()


@dataclass(frozen=True, slots=True)
class Expressions:
    """Gives the expressions of one statement the form in which Spark evaluates them."""

    session: SqlSession
    _views: list[str] = field(default_factory=list)

    def readable(self, text: str) -> str:
        """The expression with literals for parameters, and names of views for those of tables in subqueries.

        Raises:
            InvalidSql: it names a table of the catalog and cannot be read.
            NotFoundError: there is no such table, snapshot or tag.
        """
        given = with_parameters(text, self.session.parameters)
        found, frames = spliced(self.session, _SELECT + given)
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
def expressions_of(session: SqlSession) -> Iterator[Expressions]:
    """The expressions of one statement; their views are gone after it."""
    expressions = Expressions(session)
    try:
        yield expressions
    finally:
        expressions.forget()
