"""This project in one process, without Spark."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.arrow_aggregate import aggregate
from benchmarks.measure import Recorder
from benchmarks.modes import measure_modes, measure_moves
from benchmarks.source import BUCKETS, MERGED_UPSERTS, MERGING, PARTITION, UPSERTS, Source
from table_format import Schema, load_catalog
from table_format.catalog.protocol import Catalog


@dataclass(frozen=True)
class ProcessTables:
    """Writes tables in this process."""

    compacts_what_is_due: ClassVar[bool] = True
    catalog: Catalog
    schema: pa.Schema

    def create(self, name: str, options: Mapping[str, str]) -> None:
        self.catalog.create_table(f"bench.{name}", Schema.from_arrow(self.schema, primary_keys=["k"], options=options))

    def create_moving(self, name: str, options: Mapping[str, str]) -> None:
        columns = self.schema.append(pa.field(PARTITION, pa.int32()))
        self.catalog.create_table(f"bench.{name}", Schema.from_arrow(columns, ["k"], [PARTITION], options))

    def write(self, name: str, rows: Path) -> None:
        self.catalog.load_table(f"bench.{name}").append(pq.read_table(rows))

    def compact(self, name: str, *, full: bool) -> None:
        self.catalog.load_table(f"bench.{name}").compact(full=full)

    def scan(self, name: str) -> str:
        return aggregate(self.catalog.load_table(f"bench.{name}").scan().to_batches())


SMALL_COMMITS = int(os.environ.get("BENCH_COMMITS", "1000"))


def main(source: Source, scratch: Path) -> None:
    record = Recorder()
    catalog = load_catalog({"warehouse": str(scratch / "process"), "local-cache.dir": str(scratch / "cache")})
    catalog.create_database("bench", ignore_if_exists=True)
    arrow_schema = pq.read_schema(source.base)
    keyed = {"bucket": str(BUCKETS), "write-only": "true"}
    for name in ("warm", "load-0", "load-1", "load-2"):
        catalog.create_table(f"bench.{name}", Schema.from_arrow(arrow_schema, primary_keys=["k"], options=keyed))
    catalog.load_table("bench.warm").append(pq.read_table(source.upsert(0)))
    for number in range(3):
        table = catalog.load_table(f"bench.load-{number}")
        record.run("load", lambda table=table: table.append(pq.read_table(source.base)) and None)
    for number in range(UPSERTS):
        record.run("upsert", lambda number=number: table.append(pq.read_table(source.upsert(number))) and None)
    record.best_of(3, "merge-on-read scan", lambda: aggregate(table.scan().to_batches()))
    record.run("full compaction", lambda: table.compact(full=True) and None)
    record.best_of(3, "scan after compaction", lambda: aggregate(table.scan().to_batches()))
    _merging(record, source, catalog, arrow_schema)
    measure_modes(record, source, ProcessTables(catalog, arrow_schema))
    measure_moves(record, source, ProcessTables(catalog, arrow_schema))
    _append(record, source, catalog, arrow_schema)
    if SMALL_COMMITS:
        _small_commits(record, catalog)


def _merging(record: Recorder, source: Source, catalog, arrow_schema: pa.Schema) -> None:  # noqa: ANN001
    for number, (workload, options) in enumerate(MERGING.items()):
        given = {"bucket": str(BUCKETS), "write-only": "true", **options}
        catalog.create_table(f"bench.m-{number}", Schema.from_arrow(arrow_schema, primary_keys=["k"], options=given))
        table = catalog.load_table(f"bench.m-{number}")
        for batch in (source.base, *map(source.upsert, range(MERGED_UPSERTS))):
            table.append(pq.read_table(batch))
        record.best_of(3, workload, lambda table=table: aggregate(table.scan().to_batches()))


def _append(record: Recorder, source: Source, catalog, arrow_schema: pa.Schema) -> None:  # noqa: ANN001
    for number in range(3):
        catalog.create_table(f"bench.append-{number}", Schema.from_arrow(arrow_schema))
        table = catalog.load_table(f"bench.append-{number}")
        record.run("append write", lambda table=table: table.append(pq.read_table(source.base)) and None)
    record.best_of(3, "append scan", lambda: aggregate(table.scan().to_batches()))


def _small_commits(record: Recorder, catalog) -> None:  # noqa: ANN001
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
    catalog.create_table("bench.small", Schema.from_arrow(schema, primary_keys=["k"], options={"bucket": "1"}))
    table = catalog.load_table("bench.small")
    times: list[float] = []

    def commits() -> str:
        for number in range(SMALL_COMMITS):
            row = pa.table({"k": [number % 50], "v": [str(number)]}, schema=schema)
            began = time.perf_counter()
            table.append(row)
            times.append(time.perf_counter() - began)
        first, last = median(times[:100]), median(times[-100:])
        return f"{1000 * first:.1f} ms -> {1000 * last:.1f} ms"

    record.run(f"{SMALL_COMMITS} one-row commits", commits)


if __name__ == "__main__":
    main(Source(Path(sys.argv[1]), int(sys.argv[2])), Path(sys.argv[3]))
