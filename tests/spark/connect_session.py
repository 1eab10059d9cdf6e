"""What runs through Spark Connect, in a process of its own: a process has one kind of session."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from table_format import Schema
from table_format.errors import InvalidData
from table_format.spark import paimon
from tests.support.spark_session import SETTINGS, prepare_environment


def main(warehouse: Path) -> None:
    prepare_environment()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote("local[2]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    lake = paimon(spark, {"warehouse": str(warehouse)})
    lake = paimon(spark, {"warehouse": str(warehouse)})
    lake.catalog.create_database("s")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    lake.catalog.create_table("s.t", Schema.from_arrow(schema, ["id"], options={"bucket": "2", "write-only": "true"}))
    lake.write(spark.range(50).selectExpr("id", "'a' AS v"), "s.t")
    lake.write(spark.range(40, 60).selectExpr("id", "'b' AS v"), "s.t", commit_user="u", identifier=1)
    merged = lake.table("s.t", filter="id >= 10")
    print("merged", sorted(merged.groupBy("v").count().collect()))
    try:
        lake.write(spark.sql("SELECT CAST(NULL AS BIGINT) AS id, 'x' AS v"), "s.t")
    except InvalidData as error:
        print("refused", error)
    print("compacted", len(lake.compact("s.t", full=True)))
    print("native", sorted(lake.table("s.t").where("id < 45").groupBy("v").count().collect()))
    path = lake.catalog.load_table("s.t").store.paths.root
    spark.range(1).selectExpr("id", "'c' AS v").write.format("paimon").mode("append").save(path)
    print("source", spark.read.format("paimon").load(path).where("v = 'c'").collect())
    print("snapshots", lake.table("s.t$snapshots").count())
    lake.table("s.t$snapshots").createOrReplaceTempView("snapshots")
    lake.table("s.t$schemas").createOrReplaceTempView("schemas")
    print("joined", spark.sql("SELECT commit_kind, schema_id FROM snapshots JOIN schemas USING (schema_id)").first())
    print("empty", lake.table("s.t$table_indexes").count())
    print("audited", lake.table("s.t$audit_log", columns=["rowkind"], filter="id = 7").collect())
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
