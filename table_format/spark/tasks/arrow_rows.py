"""Converts Arrow rows of the driver to a DataFrame, with any batch size setting of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from table_format.spark.tasks.code_shipping import is_connect
from table_format.spark.tasks.read_work import for_spark
from table_format.spark.tasks.worker import map_in_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_BATCH_ROWS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ZONE: Final = "spark.sql.session.timeZone"


def frame_of_rows(spark: SparkSession, rows: pa.Table, schema: StructType | str) -> DataFrame:
    """Return the rows as a DataFrame.

    On Spark Connect, ``createDataFrame`` infers nothing from an empty table. A classic session fails on Arrow rows if
    the number of rows per batch is unlimited, which is a valid setting; in that case, a task produces the rows.
    Otherwise, the driver holds the rows, and Spark shows them without a job.
    """
    is_bounded = is_connect(spark) or int(spark.conf.get(_BATCH_ROWS) or 1) > 0
    if not rows.num_rows and (is_connect(spark) or not is_bounded):
        return spark.createDataFrame([], schema)
    if is_bounded:
        return spark.createDataFrame(rows, schema)
    zone = spark.conf.get(_ZONE) or "UTC"
    batches = [for_spark(batch, zone=zone) for batch in rows.to_batches()]
    return map_in_workers(spark.range(0, 1, 1, 1), lambda _: iter(batches), schema)
