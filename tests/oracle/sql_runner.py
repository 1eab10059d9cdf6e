"""Runs in the older Spark's environment: carries out SQL by Spark 3.5 with Paimon 0.9.0, one statement for each line.

A line of the input is a statement as JSON; the line of the output is ``RESULT`` with its rows, sorted, or the error.
Imports nothing of this project but what stands beside it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from spark_reader import plain  # type: ignore[import-not-found]


def main(jar: str, warehouse: str) -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", jar)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "1")
        # Many small statements: Spark interprets its plans, and plans once.
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.catalog.paimon", "org.apache.paimon.spark.SparkCatalog")
        .config("spark.sql.catalog.paimon.warehouse", warehouse)
        .config("spark.sql.extensions", "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.sql("USE paimon")
    for line in sys.stdin:
        result: dict[str, object] = {}
        try:
            rows = [[plain(value) for value in row] for row in spark.sql(json.loads(line)).collect()]
            result["rows"] = sorted(rows, key=json.dumps)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the result
            result["error"] = str(error)[:300]
        print("RESULT " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
