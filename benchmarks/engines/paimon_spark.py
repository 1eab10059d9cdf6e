"""The real Apache Paimon 0.9 on Spark 3.5, in the environment that ``python -m tests.oracle.install`` creates.

That environment has neither NumPy nor PyArrow, so imports of this module must not need them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from benchmarks.measure import Recorder
from benchmarks.modes import measure_modes, measure_moves
from benchmarks.source import BUCKETS, MERGED_UPSERTS, MERGING, PARTITION, UPSERTS, Source
from benchmarks.spark_session import aggregate, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class PaimonTables:
    """Tables in Paimon's catalog. Its writer compacts in its tasks."""

    compacts_what_is_due: ClassVar[bool] = False

    def __init__(self, spark: SparkSession, source: Source) -> None:
        self._spark = spark
        columns = spark.read.parquet(str(source.base)).schema.fields
        # Paimon's key must not be null, and Spark reads every column of a file as nullable.
        self._columns = ", ".join(
            f"{c.name} {c.dataType.simpleString()}{' NOT NULL' * (c.name == 'k')}" for c in columns
        )

    def create(self, name: str, options: Mapping[str, str], *, primary_key: bool = True) -> None:
        given = {**options, **({"primary-key": "k"} if primary_key else {})}
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
        properties = f" TBLPROPERTIES ({listed})" if given else ""
        self._spark.sql(f"CREATE TABLE paimon.bench.`{name}` ({self._columns}){properties}")

    def create_moving(self, name: str, options: Mapping[str, str]) -> None:
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in {**options, "primary-key": "k"}.items())
        columns = f"{self._columns}, {PARTITION} int"
        table = f"paimon.bench.`{name}`"
        self._spark.sql(f"CREATE TABLE {table} ({columns}) PARTITIONED BY ({PARTITION}) TBLPROPERTIES ({listed})")

    def write(self, name: str, rows: Path) -> None:
        self._spark.read.parquet(str(rows)).writeTo(f"paimon.bench.`{name}`").append()

    def compact(self, name: str, *, full: bool) -> None:
        assert full  # noqa: S101 - the procedure of 0.9 always runs a full compaction
        self._spark.sql(f"CALL paimon.sys.compact(table => 'bench.{name}')").collect()

    def scan(self, name: str) -> str:
        return aggregate(self._spark.table(f"paimon.bench.`{name}`"))


def main(source: Source, scratch: Path, jar: str) -> None:
    spark = session(
        scratch,
        {
            "spark.jars": jar,
            "spark.sql.catalog.paimon": "org.apache.paimon.spark.SparkCatalog",
            "spark.sql.catalog.paimon.warehouse": str(scratch / "paimon"),
            "spark.sql.extensions": "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
        },
    )
    record = Recorder()
    spark.sql("CREATE DATABASE paimon.bench")
    tables = PaimonTables(spark, source)
    keyed = {"bucket": str(BUCKETS), "write-only": "true"}
    for name in ("warm", "load_0", "load_1", "load_2"):
        tables.create(name, keyed)
    tables.write("warm", source.base)
    tables.write("warm", source.upsert(0))
    tables.scan("warm")
    for number in range(3):
        record.run("load", lambda number=number: tables.write(f"load_{number}", source.base))
    for batch in map(source.upsert, range(UPSERTS)):
        record.run("upsert", lambda batch=batch: tables.write("load_2", batch))
    record.best_of(3, "merge-on-read scan", lambda: tables.scan("load_2"))
    record.run("full compaction", lambda: tables.compact("load_2", full=True))
    record.best_of(3, "scan after compaction", lambda: tables.scan("load_2"))
    for number, (workload, options) in enumerate(MERGING.items()):
        name = f"merging_{number}"
        tables.create(name, {**keyed, **options})
        for batch in (source.base, *map(source.upsert, range(MERGED_UPSERTS))):
            tables.write(name, batch)
        record.best_of(3, workload, lambda name=name: tables.scan(name))
    measure_modes(record, source, tables)
    measure_moves(record, source, tables)
    for number in range(3):
        tables.create(f"append_{number}", {}, primary_key=False)
        record.run("append write", lambda number=number: tables.write(f"append_{number}", source.base))
    record.best_of(3, "append scan", lambda: tables.scan("append_2"))
    spark.stop()


if __name__ == "__main__":
    main(Source(Path(sys.argv[1]), int(sys.argv[2])), Path(sys.argv[3]), sys.argv[4])
