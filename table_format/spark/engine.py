"""Functions for integrations on Spark besides ``Lake``: DataFrames of a plan, commit messages of a DataFrame, types,
conditions.

``write_frame`` is the first phase of a write, as a Spark job; ``table_format.engine.new_commit`` is the second one.
"""

from __future__ import annotations

from table_format.spark.names import column
from table_format.spark.read.conditions import condition, literal
from table_format.spark.read.frames import frame_of
from table_format.spark.sql.session import SqlState
from table_format.spark.table_writer import Destination
from table_format.spark.tasks.code_shipping import ship_code
from table_format.spark.types import fields_of_spark, spark_type
from table_format.spark.write.frames import write_frame

__all__ = [
    "Destination",
    "SqlState",
    "column",
    "condition",
    "fields_of_spark",
    "frame_of",
    "literal",
    "ship_code",
    "spark_type",
    "write_frame",
]
