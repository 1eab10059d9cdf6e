"""The rows of many frames by one job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql.classic.dataframe import DataFrame


def united(spark: Any, frames: Sequence[Any]) -> Any:
    """The rows of all frames; made at once, since Spark looks at all of a union for each frame that is put to it.

    Each frame is planned by itself, as if it were collected alone.
    """
    jvm = spark._jvm
    plans = jvm.PythonUtils.toSeq([frame._jdf.queryExecution().analyzed() for frame in frames])
    union = jvm.org.apache.spark.sql.catalyst.plans.logical.Union(plans, False, False)
    dataset = getattr(jvm.org.apache.spark.sql.classic, "Dataset$").__getattr__("MODULE$")
    return DataFrame(dataset.ofRows(spark._jsparkSession, union), spark)
