"""Runs as a driver on a standalone cluster, in a separate process. Prints one line of JSON.

``python -m tests.spark.cluster.job <master> <directory>``; the environment variable ``SHOP_SECRET_KEY`` holds a secret.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from dagster_paimon.resources.spark import SparkResource
from table_format.errors import TableFormatError
from table_format.spark import Lake, paimon
from tests.spark.cluster.connect_job import ROWS
from tests.spark.cluster.places import places
from tests.support.shared_classes import java_options
from tests.support.spark_session import INTERPRETED

CONF = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": java_options(),
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.task.maxFailures": "1",
    **INTERPRETED,
}


def keyed(lake: Lake, facts: dict[str, Any]) -> None:
    """Write, upsert, read merged rows, MERGE, compact."""
    spark = lake.spark
    lake.sql(
        "CREATE DATABASE s; CREATE TABLE s.t (id BIGINT, v BIGINT, pt STRING) PARTITIONED BY (pt) "
        "TBLPROPERTIES ('primary-key' = 'id,pt', 'bucket' = '2', 'write-only' = 'true')"
    )
    rows = spark.range(ROWS).selectExpr("id", "id AS v", "IF(id % 2 = 0, 'a', 'b') AS pt")
    lake.write(rows, "s.t")
    lake.write(rows.where("id < 100").selectExpr("id", "-id AS v", "pt"), "s.t")
    scan = lake.table("s.t")
    facts["merged"] = scan.selectExpr("count(*)", "sum(v)").collect()[0][:]
    facts["plan"] = scan._jdf.queryExecution().toString()
    rows.where("id % 1000 = 0").selectExpr("id", "7L AS v", "pt").createOrReplaceTempView("changes")
    lake.sql(
        "MERGE INTO s.t USING (SELECT * FROM changes UNION ALL SELECT :new, 1, 'a') c ON t.id = c.id AND t.pt = c.pt "
        "WHEN MATCHED AND c.id = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        new=ROWS,
    )
    facts["after merge"] = lake.sql("SELECT count(*), count_if(v = 7), max(id) FROM s.t").collect()[0][:]
    facts["compacted"] = [snapshot.commit_kind for snapshot in lake.compact("s.t", full=True)]
    facts["levels"] = [row[0] for row in lake.sql("SELECT DISTINCT level FROM s.t$files").collect()]
    facts["at the end"] = lake.sql("SELECT count(*), count_if(v = 7), max(id) FROM s.t").collect()[0][:]


def appended(lake: Lake, facts: dict[str, Any]) -> None:
    """Use an append table with deletion vectors, a table with dynamic buckets, and the data source."""
    lake.sql("CREATE TABLE s.a (id BIGINT, v STRING) TBLPROPERTIES ('deletion-vectors.enabled' = 'true')")
    lake.sql("INSERT INTO s.a SELECT id, 'x' FROM range(1000); DELETE FROM s.a WHERE id % 10 = 0")
    lake.sql("CREATE TABLE s.d (id BIGINT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '-1')")
    lake.sql("INSERT INTO s.d SELECT id, 'x' FROM range(1000); INSERT INTO s.d SELECT id, 'y' FROM range(500, 1500)")
    facts["marked"] = lake.sql("SELECT count(*) FROM s.a").collect()[0][0]
    facts["dynamic"] = lake.sql("SELECT count(*), count_if(v = 'y') FROM s.d").collect()[0][:]
    path = lake.catalog.load_table("s.d").store.paths.root  # type: ignore[union-attr]
    facts["source"] = lake.spark.read.format("paimon").load(path).count()


def streamed(lake: Lake, directory: Path) -> list[int]:
    """Return the rows and the commits that a streaming query has written to a table with dynamic buckets."""
    lake.sql("CREATE TABLE s.copy (id BIGINT, v BIGINT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '-1')")
    rows = lake.read_stream("s.t").groupBy("id").agg({"v": "max"}).toDF("id", "v")
    checkpoint = str(directory / "checkpoint")
    query = lake.write_stream(
        rows, "s.copy", checkpoint=checkpoint, output_mode="update", trigger={"availableNow": True}
    )
    query.awaitTermination()
    return [lake.table("s.copy").count(), lake.table("s.copy$snapshots").count()]


def without_packages(lake: Lake) -> str:
    """Return the error of a job whose tasks run a Python without the packages."""
    lake.spark.sparkContext.pythonExec = os.environ["EMPTY_PYTHON"]
    try:
        lake.table("s.t", columns=["v"]).count()
        lake.write(lake.spark.range(1).selectExpr("id", "'x' AS v"), "s.a")
    except TableFormatError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def main(master: str, directory: Path) -> None:
    conf = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{directory}/events", **CONF}
    resource = SparkResource(
        master=master,
        driver_memory="512m",
        progress=False,
        conf=conf,
        secret_conf=dict.fromkeys(("spark.hadoop.fs.s3a.secret.key", "spark.executorEnv.S3_TOKEN"), "SHOP_SECRET_KEY"),
    )
    facts: dict[str, Any] = {}
    lake = paimon(resource.session(print), {"warehouse": str(directory / "warehouse")})
    facts["places"] = places(lake)
    keyed(lake, facts)
    appended(lake, facts)
    facts["streamed"] = streamed(lake, directory)
    facts["without packages"] = without_packages(lake)
    lake.spark.stop()
    print("FACTS " + json.dumps(facts))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
