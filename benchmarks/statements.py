"""MERGE, UPDATE and DELETE of 1 % of 5 million rows: as Spark jobs, in one process, and by Delta Lake.

    python -m benchmarks.statements spark process
    DELTA_JARS=delta-spark.jar,delta-storage.jar python -m benchmarks.statements delta

Delta needs a PySpark release that it supports, in a separate environment, which need not have this library. A small
round warms up; in the second round, each engine changes its own table, one statement after the other. A line has wall
and CPU seconds. If the machine does other work, the CPU seconds are more reliable.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.measure import cpu_seconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROUNDS: Final = (100_000, 5_000_000)
COLUMNS: Final = (
    "id",
    "concat('name-', id % 100000) AS name",
    "cast(id % 100 AS int) AS n",
    "cast(id AS double) / 7 AS amount",
    "timestamp_micros(id * 1000000) AS at",
    "concat('text ', sha2(cast(id AS string), 256)) AS text",
)
SET: Final = {"amount": "amount + 1"}
UPDATED, DELETED = "n = 7", "n = 13"
MERGE: Final = "MERGE INTO t USING c ON t.id = c.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
TABLES: Final[Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]]] = {
    "keyed": (("id",), {"bucket": "4"}),
    "append, vectors": ((), {"deletion-vectors.enabled": "true"}),
    "append": ((), {}),
}
DELTA: Final = {"delta": "false", "delta, vectors": "true"}


def rows(spark: SparkSession, count: int) -> DataFrame:
    """The rows of the table."""
    return spark.range(0, count, 1, 4).selectExpr(*COLUMNS)


def changes(spark: SparkSession, count: int) -> DataFrame:
    """Return 1 % as many rows: four fifths with existing ids over the whole range, the rest with new ids."""
    key = f"IF(id % 5 < 4, id * 100 + (id * 7919) % 100, id + {count}) AS id"
    return spark.range(0, count // 100, 1, 2).selectExpr(key).selectExpr(*COLUMNS)


def measured(name: str, work: Callable[[], object]) -> None:
    """Run a statement and print its cost."""
    wall, cpu = time.perf_counter(), cpu_seconds(os.getpid())
    found = work()
    wall, cpu = time.perf_counter() - wall, cpu_seconds(os.getpid()) - cpu
    print(f"{name:36} {wall:8.2f} s wall {cpu:8.2f} s CPU  {found}", flush=True)


def ours(engine: str, scratch: Path) -> None:
    """Run statements of this library, on Spark or in one process."""
    from benchmarks.spark_session import session
    from table_format.spark import paimon

    spark = session(scratch)
    lake = paimon(spark, {"warehouse": str(scratch / "w")})
    lake.catalog.create_database("b")
    for count in ROUNDS:
        for name, work in _our_statements(lake, engine, count):
            measured(f"{count}, {name}, {engine}", work)
    spark.stop()


def _our_statements(lake: Any, engine: str, count: int) -> Iterator[tuple[str, Callable[[], object]]]:  # noqa: ANN401
    from table_format import Insert, Schema, Update

    clauses = {"when_matched": Update(), "when_not_matched": Insert()}
    for name, (keys, options) in TABLES.items():
        lake.catalog.drop_table("b.t", ignore_if_not_exists=True)
        frame = rows(lake.spark, count)
        arrow = frame.limit(1).toArrow().schema
        lake.catalog.create_table("b.t", Schema.from_arrow(arrow, keys, options=options))
        lake.write(frame, "b.t")
        if keys:
            lake.compact("b.t", full=True)
        table = lake.catalog.load_table("b.t")
        if engine == "spark":
            source = changes(lake.spark, count)
            yield f"{name}: merge", lambda s=source: _shown(lake.merge("b.t", s, "t.id = s.id", **clauses))
            yield f"{name}: update", lambda: _shown(lake.update("b.t", SET, UPDATED))
            yield f"{name}: delete", lambda: _shown(lake.delete("b.t", DELETED))
            continue
        listed = changes(lake.spark, count).toArrow()
        yield f"{name}: merge", lambda t=table, a=listed: _shown(t.merge(a, "id", **clauses))
        yield f"{name}: update", lambda t=table: _shown(t.update(SET, UPDATED))
        yield f"{name}: delete", lambda t=table: _shown(t.delete(DELETED))


def _shown(changed: Any) -> tuple[int, int, int]:  # noqa: ANN401
    return changed.inserted, changed.updated, changed.deleted


def delta(scratch: Path) -> None:
    """Run the same statements as SQL of Delta Lake."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.jars": os.environ["DELTA_JARS"],
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(scratch),
        "spark.local.dir": str(scratch),
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.compression.codec": "zstd",
    }
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for count in ROUNDS:
        rows(spark, count).createOrReplaceTempView("r")
        changes(spark, count).createOrReplaceTempView("c")
        for name, vectors in DELTA.items():
            spark.sql("DROP TABLE IF EXISTS t")
            properties = f"TBLPROPERTIES ('delta.enableDeletionVectors' = '{vectors}')"
            spark.sql(f"CREATE TABLE t USING delta {properties} AS SELECT * FROM r")  # noqa: S608
            (update,) = (f"{column} = {value}" for column, value in SET.items())
            texts = {
                "merge": MERGE,
                "update": f"UPDATE t SET {update} WHERE {UPDATED}",  # noqa: S608
                "delete": f"DELETE FROM t WHERE {DELETED}",  # noqa: S608
            }
            for statement, text in texts.items():
                measured(f"{count}, {name}: {statement}", lambda t=text: tuple(*spark.sql(t).collect()))
    spark.stop()


if __name__ == "__main__":
    for wanted in sys.argv[1:] or ("spark", "process"):
        directory = Path(tempfile.mkdtemp(prefix="statements-"))
        try:
            delta(directory) if wanted == "delta" else ours(wanted, directory)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
