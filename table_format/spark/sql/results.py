"""Converts the results of statements to DataFrames, whose rows the driver holds: showing them takes no Spark job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from table_format.model.arrow_types import fields_from_arrow
from table_format.spark.tasks.arrow_rows import frame_of_rows
from table_format.spark.tasks.code_shipping import is_connect
from table_format.spark.types import frame_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def nothing(spark: SparkSession) -> DataFrame:
    """Return the result of a statement without rows: no rows and no columns, as in Spark."""
    return spark.range(0).select()


def rows_of(spark: SparkSession, columns: str, rows: Iterable[Sequence[object]]) -> DataFrame:
    """Return rows with columns such as ``"name string, number int"``."""
    if is_connect(spark):
        return spark.createDataFrame([tuple(row) for row in rows], columns)
    # From a list, a classic session makes an RDD, which a job reads.
    schema = cast("StructType", StructType.fromDDL(columns))
    fields = to_arrow_schema(schema, timezone="UTC", prefers_large_types=False)
    named = [dict(zip(fields.names, row, strict=True)) for row in rows]
    return frame_of_rows(spark, pa.Table.from_pylist(named, schema=fields), schema)


def arrow_rows(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Return the rows of an Arrow table."""
    return frame_of_rows(spark, rows, frame_schema(fields_from_arrow(rows.schema)))
