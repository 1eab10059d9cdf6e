"""Runs as a Spark Connect client whose server uses a standalone cluster. Prints one line of JSON.

``python -m tests.spark.cluster.connect_job <master> <directory>``
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from table_format import Insert, Update
from table_format.spark import paimon
from tests.spark.cluster.job import CONF, ROWS, places
from tests.support.spark_session import INTERPRETED


def main(master: str, directory: Path) -> None:
    from pyspark.sql import SparkSession

    # Spark starts the server in the JVM of this process, which uses it like any client.
    builder = SparkSession.builder.config("spark.master", master).config("spark.api.mode", "connect")
    for key, value in {**CONF, **INTERPRETED}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    lake = paimon(spark, {"warehouse": str(directory / "warehouse")})
    facts: dict[str, Any] = {"session": type(spark).__module__, "places": places(lake)}
    lake.sql("CREATE DATABASE s; CREATE TABLE s.t (id BIGINT, v BIGINT) TBLPROPERTIES ('primary-key' = 'id')")
    lake.write(spark.range(ROWS).selectExpr("id", "id AS v"), "s.t")
    facts["read"] = lake.sql("SELECT count(*), sum(v) FROM s.t WHERE id >= 10").collect()[0][:]
    changes = spark.range(ROWS - 5, ROWS + 5).selectExpr("id", "-1L AS v")
    merged = lake.merge("s.t", changes, on="t.id = s.id", when_matched=Update(), when_not_matched=Insert())
    facts["merged"] = [merged.updated, merged.inserted]
    path = lake.catalog.load_table("s.t").store.paths.root  # type: ignore[union-attr]
    facts["source"] = spark.read.format("paimon").load(path).where("v = -1").count()
    spark.stop()
    print("FACTS " + json.dumps(facts))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
