"""The table format on Spark, without a connector JAR: the only package that knows pyspark.

``paimon(spark, {"warehouse": ...})`` works with any session, classic or Connect. Spark shuffles, scans what needs no
merge and runs the tasks; this library plans, merges, writes the files inside the tasks and commits once.
"""

from __future__ import annotations

from table_format.spark.lake import Lake, paimon

__all__ = ["Lake", "paimon"]
