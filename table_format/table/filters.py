"""Filters as callers give them, as predicates over the columns of one schema."""

from __future__ import annotations

from collections.abc import Sequence

from table_format.errors import ColumnNotFound
from table_format.model.predicate import Predicate, columns_of
from table_format.model.types import DataField


def bound_filter(condition: str | Predicate | None, fields: Sequence[DataField]) -> Predicate | None:
    """Parse SQL text, or check a predicate's columns.

    Raises:
        InvalidFilter: the text cannot be parsed or does not fit the columns.
        ColumnNotFound: a column does not exist.
    """
    if condition is None:
        return None
    if isinstance(condition, str):
        # The SQL parser takes longer to import than the rest of the library; most programs never filter by text.
        from table_format.codecs.filter_sql import parse_filter

        return parse_filter(condition, fields)
    names = [f.name for f in fields]
    for column in sorted(columns_of(condition)):
        if column not in names:
            message = f"column '{column}' does not exist; the columns are {', '.join(names)}"
            raise ColumnNotFound(message)
    return condition
