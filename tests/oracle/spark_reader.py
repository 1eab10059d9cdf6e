"""Runs in the older Spark's environment: prints every row of every table of a warehouse as Paimon 0.9.0 reads it.

Imports nothing of this project; ``plain`` is shared with the test, which imports it from here.
"""

from __future__ import annotations

import json
import sys
from datetime import date, datetime
from decimal import Decimal


def plain(value: object) -> object:
    """A value of a row as JSON: the same for both readers."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="microseconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    return value


def main(jar: str, warehouse: str, tables: list[str]) -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", jar)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.catalog.paimon", "org.apache.paimon.spark.SparkCatalog")
        .config("spark.sql.catalog.paimon.warehouse", warehouse)
        .config("spark.sql.extensions", "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for name in tables:
        frame = spark.table(f"paimon.{name}")
        rows = [[plain(value) for value in row] for row in frame.collect()]
        print("TABLE " + json.dumps({"name": name, "columns": frame.columns, "rows": rows}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
