"""Implements ``write.merge-schema`` of a MERGE: finds the columns of the source that are first added to the table.

Java ``MergeSchemaEvolutionHelper``. ``UPDATE SET *`` and ``INSERT *`` take all columns of the source. Other clauses add
the columns that they assign and that the table does not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql.types import StructField, StructType

from table_format.errors import UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.options.write import MERGE_SCHEMA
from table_format.spark.dml.clauses import Clause
from table_format.spark.names import Names
from table_format.spark.write.merged_schema import changes_for
from table_format.table.changes.merge_into import Delete, Insert, MatchedClause, Update
from table_format.table.changes.row_actions import listed_clauses
from table_format.table.facts import TableFacts


def columns_to_hold(
    schema: TableSchema,
    source: StructType,
    names: Names,
    when_matched: MatchedClause | Sequence[MatchedClause],
    when_not_matched: Insert | Sequence[Insert],
) -> StructType:
    """Return the columns of a source that the table of a MERGE must have, with the names of existing columns.

    Raises:
        InvalidInputError: a clause has the wrong type.
    """
    matched = listed_clauses(when_matched, "when_matched", Update, Delete)
    inserted = listed_clauses(when_not_matched, "when_not_matched", Insert)
    assigned = [_assigned(clause) for clause in (*matched, *inserted)]
    wanted = source.fields
    if None not in assigned:
        new = [name for values in assigned for name in values or () if names.find(name, schema.field_names) is None]
        wanted = [field for field in source.fields if any(names.find(name, [field.name]) for name in new)]
    return StructType(
        [StructField(names.find(f.name, schema.field_names) or f.name, f.dataType, nullable=True) for f in wanted]
    )


def check_held(facts: TableFacts, rows: StructType) -> None:
    """Refuse a MERGE if the table lacks columns of the source, which only the catalog can add.

    Raises:
        UnsupportedFeature: columns are missing; the message names them.
        InvalidData: a column of the source and of the table have no common type.
    """
    changes = changes_for(facts, rows)
    if changes:
        feature = f"{MERGE_SCHEMA.key} without a catalog"
        names = ", ".join(sorted({".".join(change.name) for change in changes}))
        message = f"merge into {facts.name}: {feature} is not supported, and {names} would change; use Lake.merge"
        raise UnsupportedFeature(feature, message)


def _assigned(clause: Clause) -> Sequence[str] | None:
    """Return the columns that a clause assigns; ``None`` for all columns of the source."""
    if isinstance(clause, Delete):
        return ()
    values = clause.values if isinstance(clause, Insert) else clause.set
    return tuple(values) if isinstance(values, Mapping) else None
