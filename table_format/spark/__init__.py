"""The table format on Spark, without a connector JAR. The only package that imports pyspark.

``paimon(spark, {"warehouse": ...})`` works with any session, classic or Connect. Spark shuffles, scans files that
need no merge and runs the tasks. This library plans, merges, writes files inside the tasks and commits once.
"""

from __future__ import annotations

from table_format.extras import require

require("pyspark")  # otherwise its modules would only report a missing module

from table_format.spark.dml.runner import SparkStatements  # noqa: E402
from table_format.spark.lake import Lake, paimon  # noqa: E402
from table_format.spark.table_writer import TableWriter  # noqa: E402

__all__ = ["Lake", "SparkStatements", "TableWriter", "paimon"]
