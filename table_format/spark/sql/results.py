"""Converts the results of statements to DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import StructType

from table_format.model.arrow_types import fields_from_arrow
from table_format.spark.types import frame_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def nothing(spark: SparkSession) -> DataFrame:
    """Return the result of a statement without rows: no rows and no columns, as in Spark."""
    return spark.createDataFrame([], StructType([]))


def rows_of(spark: SparkSession, columns: str, rows: Iterable[Sequence[object]]) -> DataFrame:
    """Return rows with columns such as ``"name string, number int"``."""
    return spark.createDataFrame([tuple(row) for row in rows], columns)


def arrow_rows(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Return the rows of an Arrow table."""
    schema = frame_schema(fields_from_arrow(rows.schema))
    return spark.createDataFrame([tuple(row.values()) for row in rows.to_pylist()], schema)
