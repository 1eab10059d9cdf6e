"""Runs as a Spark Connect client of a server on a standalone cluster. Prints one line of JSON.

``python -m tests.spark.cluster.connect_job <address of the server> <warehouse>``
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from table_format import Insert, Update
from table_format.spark import paimon
from tests.spark.cluster.places import places
from tests.support.spark_session import INTERPRETED

ROWS = 20_000


def main(address: str, warehouse: Path) -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(address).getOrCreate()
    for key, value in INTERPRETED.items():
        spark.conf.set(key, value)
    lake = paimon(spark, {"warehouse": str(warehouse)})
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
    print("CONNECT " + json.dumps(facts))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
