"""Recognizes filters that look up single values of a column with bloom filters. They select few rows."""

from __future__ import annotations

from table_format.model.predicate import And, Compare, CompareOp, In, Or, Predicate
from table_format.model.schema import TableSchema
from table_format.options.index_types import BLOOM_FILTERS


def has_look_up(predicate: Predicate, schema: TableSchema) -> bool:
    """Return whether a part of a predicate is = or IN on a column that has a bloom filter by the options of the schema.

    The predicate has NOT only at its leaves.

    >>> options = {"file-index.bloom-filter.columns": "a, b"}
    >>> schema = TableSchema(id=0, fields=(), highest_field_id=0, options=options)
    >>> [has_look_up(Compare(column, CompareOp.EQ, 1), schema) for column in "bc"]
    [True, False]
    """
    filtered = frozenset(map(str.strip, schema.options.get(BLOOM_FILTERS.columns_key, "").split(",")))
    return _has_look_up(predicate, filtered)


def _has_look_up(predicate: Predicate, filtered: frozenset[str]) -> bool:
    match predicate:
        case And(parts) | Or(parts):
            return any(_has_look_up(part, filtered) for part in parts)
        case Compare(column=column, op=CompareOp.EQ) | In(column=column):
            return column in filtered
        case _:
            return False
