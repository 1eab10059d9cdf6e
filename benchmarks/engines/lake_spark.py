"""This project on Spark: Spark shuffles rows, and its tasks write and merge files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import Recorder
from benchmarks.modes import measure_modes, measure_moves
from benchmarks.source import BUCKETS, MERGED_UPSERTS, MERGING, PARTITION, UPSERTS, Source
from benchmarks.spark_session import aggregate, session
from table_format import Schema
from table_format.spark import Lake, paimon


@dataclass(frozen=True)
class SparkTables:
    """Writes tables in Spark tasks."""

    compacts_what_is_due: ClassVar[bool] = True
    lake: Lake
    schema: pa.Schema

    def create(self, name: str, options: Mapping[str, str]) -> None:
        schema = Schema.from_arrow(self.schema, primary_keys=["k"], options=options)
        self.lake.catalog.create_table(f"bench.{name}", schema)

    def create_moving(self, name: str, options: Mapping[str, str]) -> None:
        columns = self.schema.append(pa.field(PARTITION, pa.int32()))
        schema = Schema.from_arrow(columns, ["k"], [PARTITION], options)
        self.lake.catalog.create_table(f"bench.{name}", schema)

    def write(self, name: str, rows: Path) -> None:
        self.lake.write(self.lake.spark.read.parquet(str(rows)), f"bench.{name}")

    def compact(self, name: str, *, full: bool) -> None:
        self.lake.compact(f"bench.{name}", full=full)

    def scan(self, name: str) -> str:
        return aggregate(self.lake.table(f"bench.{name}"))


def main(source: Source, scratch: Path) -> None:
    spark = session(scratch)
    record = Recorder()
    lake = paimon(spark, {"warehouse": str(scratch / "lake"), "local-cache.dir": str(scratch / "cache")})
    lake.catalog.create_database("bench", ignore_if_exists=True)
    arrow_schema = pq.read_schema(source.base)
    keyed = {"bucket": str(BUCKETS), "write-only": "true"}
    for name in ("warm", "load-0", "load-1", "load-2"):
        lake.catalog.create_table(f"bench.{name}", Schema.from_arrow(arrow_schema, primary_keys=["k"], options=keyed))
    rows = spark.read.parquet(str(source.base))
    lake.write(rows, "bench.warm")
    lake.write(spark.read.parquet(str(source.upsert(0))), "bench.warm")
    aggregate(lake.table("bench.warm"))
    for number in range(3):
        record.run("load", lambda number=number: lake.write(rows, f"bench.load-{number}") and None)
    table = "bench.load-2"
    for number in range(UPSERTS):
        batch = spark.read.parquet(str(source.upsert(number)))
        record.run("upsert", lambda batch=batch: lake.write(batch, table) and None)
    record.best_of(3, "merge-on-read scan", lambda: aggregate(lake.table(table)))
    record.run("full compaction", lambda: lake.compact(table, full=True) and None)
    record.best_of(3, "scan after compaction", lambda: aggregate(lake.table(table)))
    for number, (workload, options) in enumerate(MERGING.items()):
        name, given = f"bench.m-{number}", {**keyed, **options}
        lake.catalog.create_table(name, Schema.from_arrow(arrow_schema, primary_keys=["k"], options=given))
        for batch in (source.base, *map(source.upsert, range(MERGED_UPSERTS))):
            lake.write(spark.read.parquet(str(batch)), name)
        record.best_of(3, workload, lambda name=name: aggregate(lake.table(name)))
    measure_modes(record, source, SparkTables(lake, arrow_schema))
    measure_moves(record, source, SparkTables(lake, arrow_schema))
    for number in range(3):
        lake.catalog.create_table(f"bench.append-{number}", Schema.from_arrow(arrow_schema))
        record.run("append write", lambda number=number: lake.write(rows, f"bench.append-{number}") and None)
    record.best_of(3, "append scan", lambda: aggregate(lake.table("bench.append-2")))
    spark.stop()


if __name__ == "__main__":
    main(Source(Path(sys.argv[1]), int(sys.argv[2])), Path(sys.argv[3]))
