"""The Python client of Apache Paimon, with or without its Rust core, in a separate environment.

It is started by path and imports only the measuring code of this project.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import pyarrow as pa
import pyarrow.parquet as pq
from pypaimon import CatalogFactory, Schema

from benchmarks.arrow_aggregate import aggregate
from benchmarks.measure import Recorder
from benchmarks.source import BUCKETS, MERGED_UPSERTS, MERGING, UPSERTS, Source

SMALL_COMMITS = int(os.environ.get("BENCH_COMMITS", "1000"))


class PythonTable:
    """Writes and reads through the pure Python client."""

    def __init__(self, warehouse: str, name: str) -> None:
        self.table = CatalogFactory.create({"warehouse": warehouse}).get_table(name)

    def write(self, rows: pa.Table) -> None:
        builder = self.table.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(rows)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def scan(self) -> str:
        builder = self.table.new_read_builder()
        splits = builder.new_scan().plan().splits()
        return aggregate(builder.new_read().to_arrow(splits).to_batches())


class RustTable:
    """Writes and reads through the Rust core."""

    def __init__(self, warehouse: str, name: str) -> None:
        from pypaimon_rust.datafusion import PaimonCatalog

        self.table = PaimonCatalog({"warehouse": warehouse}).get_table(name)

    def write(self, rows: pa.Table) -> None:
        builder = self.table.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        for batch in rows.to_batches():
            write.write_arrow(batch)
        commit.commit(write.prepare_commit())

    def scan(self) -> str:
        builder = self.table.new_read_builder()
        splits = builder.new_scan().plan().splits()
        return aggregate(builder.new_read().read_arrow(splits))


def main(source: Source, scratch: Path, kind: str) -> None:
    record = Recorder()
    warehouse = str(scratch / kind)
    catalog = CatalogFactory.create({"warehouse": warehouse})
    catalog.create_database("bench", True)
    schema = pq.read_schema(source.base)
    keyed = Schema.from_pyarrow_schema(schema, primary_keys=["k"], options={"bucket": str(BUCKETS)})
    catalog.create_table("bench.keyed", keyed, True)
    catalog.create_table("bench.plain", Schema.from_pyarrow_schema(schema), True)
    small = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
    small_schema = Schema.from_pyarrow_schema(small, primary_keys=["k"], options={"bucket": "1"})
    catalog.create_table("bench.small", small_schema, True)
    open_table = PythonTable if kind == "python" else RustTable
    keyed_table = open_table(warehouse, "bench.keyed")
    record.run("load", lambda: keyed_table.write(pq.read_table(source.base)))
    for number in range(UPSERTS):
        record.run("upsert", lambda number=number: keyed_table.write(pq.read_table(source.upsert(number))))
    record.best_of(1 if kind == "python" else 3, "merge-on-read scan", keyed_table.scan)
    for number, (workload, options) in enumerate(MERGING.items()):
        given = {"bucket": str(BUCKETS), "write-only": "true", **options}
        name = f"bench.m-{number}"
        try:
            catalog.create_table(name, Schema.from_pyarrow_schema(schema, primary_keys=["k"], options=given), True)
            table = open_table(warehouse, name)
            for batch in (source.base, *map(source.upsert, range(MERGED_UPSERTS))):
                table.write(pq.read_table(batch))
            record.best_of(1 if kind == "python" else 3, workload, table.scan)
        except Exception as error:  # noqa: BLE001 - a workload that a client cannot run is a result
            print(f"{kind} cannot '{workload}': {error}", file=sys.stderr)
    plain_table = open_table(warehouse, "bench.plain")
    record.run("append write", lambda: plain_table.write(pq.read_table(source.base)))
    record.best_of(3, "append scan", plain_table.scan)
    if SMALL_COMMITS:
        _small_commits(record, open_table(warehouse, "bench.small"), small, SMALL_COMMITS)


def _small_commits(record: Recorder, table: PythonTable | RustTable, schema: pa.Schema, count: int) -> None:
    times: list[float] = []

    def commits() -> str:
        for number in range(count):
            row = pa.table({"k": [number % 50], "v": [str(number)]}, schema=schema)
            began = time.perf_counter()
            table.write(row)
            times.append(time.perf_counter() - began)
        first, last = sorted(times[:100])[50], sorted(times[-100:])[50]
        return f"{1000 * first:.1f} ms -> {1000 * last:.1f} ms"

    record.run(f"{count} one-row commits", commits)


if __name__ == "__main__":
    main(Source(Path(sys.argv[1]), int(sys.argv[2])), Path(sys.argv[3]), sys.argv[4])
