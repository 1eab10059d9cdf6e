"""The table format on Spark, without a connector JAR. The only package that imports pyspark.

``paimon(spark, {"warehouse": ...})`` works with any session, classic or Connect. Spark shuffles, scans files that
need no merge and runs the tasks. This library plans, merges, writes files inside the tasks and commits once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_format.extras import require_installed
from table_format.late_names import late_names

require_installed("pyspark")  # otherwise its modules would only report a missing module

if TYPE_CHECKING:
    from table_format.spark.dml.runner import SparkStatements
    from table_format.spark.lake import Lake, paimon
    from table_format.spark.table_writer import TableWriter
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "Lake": "table_format.spark.lake:Lake",
            "SparkStatements": "table_format.spark.dml.runner:SparkStatements",
            "TableWriter": "table_format.spark.table_writer:TableWriter",
            "paimon": "table_format.spark.lake:paimon",
        },
    )

__all__ = ["Lake", "SparkStatements", "TableWriter", "paimon"]
