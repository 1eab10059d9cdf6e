"""Computes the rows of a micro-batch that is already committed.

A query with aggregations, joins or other state stores the state of a micro-batch when its rows are computed. If a write
skipped a repeated micro-batch without computing it, that state would be missing, and the query could never continue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_format.spark.stream.commit_users import QUERY_ID
from table_format.spark.tasks.code_shipping import is_connect
from table_format.spark.write.unmeasured import belongs_to_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def compute_repeated(frame: DataFrame) -> None:
    """Compute the rows of a repeated micro-batch and drop them. A DataFrame outside of queries is not computed."""
    if _is_of_micro_batch(frame):
        frame.write.format("noop").mode("overwrite").save()


def _is_of_micro_batch(frame: DataFrame) -> bool:
    spark = frame.sparkSession
    if is_connect(spark):
        return belongs_to_session(frame)  # also true for checkpoints, which are cheap to compute
    return spark.sparkContext.getLocalProperty(QUERY_ID) is not None
