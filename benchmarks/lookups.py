"""The cost of looking up one key in many files: ``python -m benchmarks.lookups``.

The append table has two hundred files, each with keys of the whole range, so statistics cannot prune files, but bloom
filters can. Plain Spark reads the same rows from two hundred Parquet files. No file contains odd keys.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.make_source import make
from benchmarks.measure import cpu_seconds
from benchmarks.source import Source
from benchmarks.spark_session import session
from table_format import Schema, load_catalog
from table_format.spark import paimon

TABLE = "bench.lookups"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--files", type=int, default=200)
    arguments.add_argument("--times", type=int, default=7)
    arguments.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "lakehouse-bench")
    chosen = arguments.parse_args()
    source = Source(chosen.scratch / f"source-{chosen.rows}", chosen.rows)
    make(source)
    tables = chosen.scratch / "lookups"
    shutil.rmtree(tables, ignore_errors=True)
    (tables / "plain").mkdir(parents=True)
    rows = pq.read_table(source.base)
    at = rows.schema.get_field_index("k")
    _write(rows.set_column(at, rows.schema.field(at), pc.multiply(rows["k"], 2)), chosen.files, tables)
    spark = session(chosen.scratch)
    lake = paimon(spark, {"warehouse": str(tables)})
    table = load_catalog({"warehouse": str(tables)}).load_table(TABLE)
    engines: dict[str, Callable[[str], int]] = {
        "plain Spark": lambda where: len(spark.read.parquet(str(tables / "plain")).where(where).collect()),
        "this project on Spark": lambda where: len(lake.table(TABLE, filter=where).collect()),
        "this project, one process": lambda where: table.scan(filter=where).to_arrow().num_rows,
    }
    present = chosen.rows // 3 * 2
    for what, key, expected in (("an absent key", present + 1, 0), ("a present key", present, 1)):
        figures = {name: _figures(look, f"k = {key}", expected, chosen.times) for name, look in engines.items()}
        wall, cpu = figures["plain Spark"]
        for name, (own_wall, own_cpu) in figures.items():
            print(
                f"{what:14} {name:26} {1000 * own_wall:8.1f} ms, CPU {1000 * own_cpu:8.1f} ms, "
                f"ratio {own_wall / wall:.3f} / {own_cpu / max(cpu, 0.001):.3f}",
                flush=True,
            )
    spark.stop()


def _write(rows: pa.Table, files: int, tables: Path) -> None:
    options = {
        "file-index.bloom-filter.columns": "k",
        "file-index.bloom-filter.k.items": str(rows.num_rows // files),
        "file-index.bloom-filter.k.fpp": "0.01",
    }
    catalog = load_catalog({"warehouse": str(tables)})
    catalog.create_database(TABLE.partition(".")[0])
    table = catalog.create_table(TABLE, Schema.from_arrow(rows.schema, options=options))
    # Keys of the source are not sorted.
    size = -(-rows.num_rows // files)
    for number in range(files):
        part = rows.slice(number * size, size)
        table.append(part)
        pq.write_table(part, tables / "plain" / f"{number}.parquet", compression="zstd")


def _figures(look: Callable[[str], int], where: str, expected: int, times: int) -> tuple[float, float]:
    """Return the median of wall and CPU seconds, after one call to warm up."""
    walls, cpus = [], []
    for _ in range(times + 1):
        cpu, wall = cpu_seconds(os.getpid()), time.perf_counter()
        found = look(where)
        walls.append(time.perf_counter() - wall)
        cpus.append(cpu_seconds(os.getpid()) - cpu)
        if found != expected:
            message = f"expected {expected} rows with {where}, found {found}"
            raise SystemExit(message)
    return statistics.median(walls[1:]), statistics.median(cpus[1:])


if __name__ == "__main__":
    main()
