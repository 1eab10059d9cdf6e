"""One Spark session for measurements: two cores, no UI, the same settings for every engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from table_format.java import default_launchers, find_java

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def session(scratch: Path, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return a new local session with additional settings."""
    os.environ["JAVA_HOME"] = str(find_java(os.environ, launchers=default_launchers()).home)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.local.dir", str(scratch))
        .config("spark.sql.warehouse.dir", str(scratch / "spark-warehouse"))
        .config("spark.sql.parquet.compression.codec", "zstd")
    )
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def aggregate(frame: DataFrame) -> str:
    """Aggregate every column. Equal rows give equal text."""
    from pyspark.sql import functions as F

    row = frame.agg(
        F.count("*"), F.sum("k"), F.sum("i1"), F.sum("i2"), F.sum("i3"), F.max("d1"), F.min("d2"),
        F.sum(F.length("s1")), F.max("s2"), F.min("s3"), F.sum("amount"), F.max("ts"),
    ).collect()[0]  # fmt: skip
    return f"{row[0]} {row[1]} {row[3]} {row[4]} {row[10]}"
