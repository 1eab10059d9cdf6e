"""The columns of a streaming query: those of the table, preceded by the row kind with ``read.changelog``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from table_format.errors import InvalidInputError
from table_format.model.split import DataSplit
from table_format.model.types import DataField
from table_format.options.spark_stream import READ_CHANGELOG
from table_format.spark.types import spark_schema
from table_format.table.facts import TableFacts
from table_format.table.read.changelog_rows import read_changes, read_rows
from table_format.table.read.plan import Plan
from table_format.table.rows.row_kinds import ROW_KIND, kind_texts


def with_row_kind(facts: TableFacts, columns: StructType) -> StructType:
    """Return the columns, with ``rowkind`` first if the options request it. No table has a column with this name."""
    if not facts.options.spark_stream.read_changelog:
        return columns
    kind = StructField(ROW_KIND.name, spark_schema((ROW_KIND,)).fields[0].dataType, nullable=False)
    return StructType([kind, *columns.fields])


def shown_fields(facts: TableFacts, wanted: Sequence[str]) -> tuple[DataField, ...]:
    """Return the columns for a schema of the user.

    Raises:
        InvalidInputError: ``read.changelog`` is set, but the schema lacks ``rowkind`` to mark deleted rows.
    """
    if not facts.options.spark_stream.read_changelog:
        return facts.schema.fields
    if ROW_KIND.name not in wanted:
        message = (
            f"with '{READ_CHANGELOG.key}' = true, the column '{ROW_KIND.name}' holds the kind of each change, but the "
            f"schema lacks it; add '{ROW_KIND.name} STRING' to it, or read without the option"
        )
        raise InvalidInputError(message)
    return (replace(ROW_KIND, type=replace(ROW_KIND.type, nullable=False)), *facts.schema.fields)


def rows_of(facts: TableFacts, plan: Plan, split: DataSplit) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one split of a plan: changes with their kinds, or the rows that changes add."""
    arguments = facts.store, plan.schemas, plan.schema, facts.options, split, plan.fields, plan.pruning
    if not facts.options.spark_stream.read_changelog:
        yield from read_rows(*arguments)
        return
    for batch in read_changes(*arguments, keep_deletes=False):
        yield kind_texts(batch, plan.fields)
