"""Matches the column names of rows with those of a table. As in Spark, case does not matter by default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from table_format.model.row_kind import ROW_KIND_COLUMN
from table_format.spark.arguments import spark_frame
from table_format.spark.names import Names
from table_format.table.facts import TableFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WITHOUT_SESSION: Final = Names(is_case_sensitive=False)
"""A data source cannot ask the session whether case matters."""


def with_names_of_table(rows: DataFrame, facts: TableFacts) -> DataFrame:
    """Return the rows with the column names of the table, if the session ignores case.

    Raises:
        InvalidInputError: the rows are not a DataFrame of Spark.
    """
    rows = spark_frame(rows, "frame")
    names = Names.of(rows.sparkSession).spelled(rows.columns, _known(facts))
    return rows if names == rows.columns else rows.toDF(*names)


def schema_with_names_of_table(rows: StructType, facts: TableFacts) -> StructType:
    """Return the schema of the rows of a data source with the column names of the table."""
    names = _WITHOUT_SESSION.spelled(rows.names, _known(facts))
    fields = zip(names, rows.fields, strict=True)
    return StructType([StructField(name, field.dataType, field.nullable, field.metadata) for name, field in fields])


def batches_with_names_of_table(batches: Iterable[pa.RecordBatch], facts: TableFacts) -> Iterator[pa.RecordBatch]:
    """Return the rows of a data source with the column names of the table."""
    for batch in batches:
        yield batch.rename_columns(_WITHOUT_SESSION.spelled(batch.schema.names, _known(facts)))


def _known(facts: TableFacts) -> tuple[str, ...]:
    names = facts.schema.field_names
    kind = facts.options.merge.rowkind_field or ROW_KIND_COLUMN
    return names if kind in names else (*names, kind)
