"""Binds the clauses of a MERGE to its table and its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from table_format.errors import ColumnNotFound, InvalidInputError
from table_format.spark.dml.clauses import BoundClause, Clause, bound_values, condition_column, named
from table_format.spark.dml.matching import Matching, Relations, same_column
from table_format.spark.types import spark_type
from table_format.spark.write.merged_schema import filled
from table_format.table.changes.merge_into import Delete, Insert, Update
from table_format.table.facts import TableFacts

if TYPE_CHECKING:
    from pyspark.sql import Column


def texts_of(clause: Clause) -> Sequence[object]:
    """Return the condition and the values of a clause as given."""
    values = clause.values if isinstance(clause, Insert) else clause.set if isinstance(clause, Update) else None
    return [clause.condition, *(values.values() if isinstance(values, Mapping) else ())]


def bound_clause(clause: Clause, facts: TableFacts, relations: Relations, matching: Matching | None) -> BoundClause:
    """Bind a clause to columns. ``matching`` is given for matching rows, whose clauses may use all columns of the
    source.

    Raises:
        ColumnNotFound: a column does not exist.
        InvalidInputError: no column to set is given.
    """
    condition = condition_column(clause.condition)
    if isinstance(clause, Delete):
        return BoundClause(condition, None)
    schema = facts.schema
    pairs = matching.pairs if matching is not None else {}
    given = clause.values if isinstance(clause, Insert) else clause.set
    if given is None and (matching is not None or isinstance(clause, Insert)):
        wanted = [name for name in schema.field_names if name not in pairs]
        return BoundClause(condition, _all_of_source(facts, relations, wanted, updates=not isinstance(clause, Insert)))
    if not given:
        message = f"a clause {type(clause).__name__} of a merge into {facts.name}: no column is given"
        raise InvalidInputError(message)
    target = None if isinstance(clause, Insert) else relations.target
    values = dict(bound_values(given, schema, relations.names, target))
    if not isinstance(clause, Insert):
        # Assigning a key the value that it equals changes nothing.
        for name, value in given.items():
            found = relations.names.find(name, schema.primary_keys)
            if found is not None and _is_same(found, value, relations, pairs):
                del values[found]
    return BoundClause(condition, values)


def _is_same(name: str, value: object, relations: Relations, pairs: Mapping[str, str]) -> bool:
    same = same_column(value, relations)
    return same is not None and same in (("target", name), ("source", pairs.get(name)))


def _all_of_source(
    facts: TableFacts, relations: Relations, wanted: Sequence[str], *, updates: bool
) -> Mapping[str, Column]:
    """Return the columns of the source.

    With ``write.merge-schema``, columns of the table may be missing. They keep their values, or are null in a new row.
    """
    found = {name: relations.names.find(name, relations.source_columns) for name in wanted}
    values = {name: named(relations.source, of_source) for name, of_source in found.items() if of_source is not None}
    if facts.options.write.merge_schema:
        return {name: _whole(facts, relations, name, value, updates=updates) for name, value in values.items()}
    missing = [name for name, of_source in found.items() if of_source is None]
    if missing:
        message = (
            f"merge into {facts.name}: the source has no column {', '.join(missing)}; its columns are "
            f"{', '.join(relations.source_columns)}. With write.merge-schema = true, columns may be missing"
        )
        raise ColumnNotFound(message)
    return values


def _whole(facts: TableFacts, relations: Relations, name: str, value: Column, *, updates: bool) -> Column:
    """Return a value with all fields of its ROW types."""
    of_source = relations.names.find(name, relations.source_columns) or name
    wanted = spark_type(facts.schema.field(name).type, name)
    before = named(relations.target, name) if updates else None
    return filled(value, relations.source_schema[of_source].dataType, wanted, before)
