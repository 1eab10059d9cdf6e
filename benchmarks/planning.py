"""The cost of planning: ``python -m benchmarks.planning``.

- The plan of 20,000 files in one process: cold, after the table was opened by a new catalog, and warm, after it was
  opened once more by the same one. Metadata alone: no file is there.
- With ``--spark``, a frame over 5,000 small files and ``format("paimon")`` over 500 partitions, beside plain Spark
  reading the same files. All of them count their rows, in turns.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benchmarks.many_files import TABLE, many_files
from benchmarks.measure import cpu_seconds
from benchmarks.spark_session import session
from table_format import Schema, load_catalog
from table_format.counted import counted
from table_format.spark import paimon

T = TypeVar("T")

PARTITIONS = 500
SMALL = "bench.small_files"
KEYED = "bench.keyed"
_CASES = {
    "all files": None,
    "one partition": "dt = '2026-0042'",
    "one key": "k = 4711",
    "a partition and a key": "dt = '2026-0042' and k = 4711",
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=20_000)
    arguments.add_argument("--frame-files", type=int, default=5_000)
    arguments.add_argument("--times", type=int, default=5)
    arguments.add_argument("--spark", action="store_true")
    arguments.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "lakehouse-bench")
    chosen = arguments.parse_args()
    if chosen.spark:
        _frames(chosen.scratch, chosen.frame_files, chosen.times)
    else:
        _plans(chosen.scratch / "many-files", chosen.files, chosen.times)


def _plans(warehouse: Path, files: int, times: int) -> None:
    many_files(warehouse, files)
    options = {"warehouse": str(warehouse)}
    for name, where in _CASES.items():
        cold: list[tuple[float, float]] = []
        warm: list[tuple[float, float]] = []
        count = 0
        for _ in range(times):
            catalog = load_catalog(options)
            for found in (cold, warm):
                table = catalog.load_table(TABLE)
                cost, plan = _cost(table.scan(filter=where).plan)
                found.append(cost)
                count = plan.file_count
        for kind, costs in (("cold", cold), ("warm", warm)):
            wall, cpu = (statistics.median(side) for side in zip(*costs, strict=True))
            print(f"plan, {name:22} {kind} {wall:7.3f} s, CPU {cpu:7.3f} s, {counted(count, 'file')}", flush=True)


def _frames(scratch: Path, files: int, times: int) -> None:
    warehouse = scratch / "small-files"
    shutil.rmtree(warehouse, ignore_errors=True)
    _write(warehouse, files)
    spark = session(scratch)
    lake = paimon(spark, {"warehouse": str(warehouse)})
    database = warehouse / "bench.db"
    small, keyed = (database / name.rpartition(".")[2] for name in (SMALL, KEYED))
    _compare(
        f"frame of {files} files",
        {
            "plain Spark": lambda: _plain(spark, small).count(),
            "lake.table": lambda: lake.table(SMALL).count(),
        },
        times,
    )
    _compare(
        f"{PARTITIONS} partitions",
        {
            "plain Spark": lambda: _plain(spark, keyed).selectExpr("sum(v)").collect(),
            "lake.table": lambda: lake.table(KEYED).selectExpr("sum(v)").collect(),
            "format": lambda: spark.read.format("paimon").load(str(keyed)).selectExpr("sum(v)").collect(),
        },
        times,
    )
    spark.stop()


def _plain(spark: SparkSession, directory: Path) -> DataFrame:
    """All Parquet files below a directory, whose metadata are none."""
    return (
        spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", "*.parquet").parquet(str(directory))
    )


def _compare(what: str, engines: dict[str, Callable[[], object]], times: int) -> None:
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in engines}
    for _ in range(times + 1):
        results = {}
        for name, run in engines.items():
            cost, results[name] = _cost(run)
            costs[name].append(cost)
        if len(set(map(str, results.values()))) > 1:
            message = f"different results: {results}"
            raise SystemExit(message)
    for name, found in costs.items():
        # The first time is for warming up.
        wall, cpu = (statistics.median(side) for side in zip(*found[1:], strict=True))
        print(f"{what}, {name:14} {wall:7.3f} s, CPU {cpu:7.3f} s", flush=True)


def _cost(run: Callable[[], T]) -> tuple[tuple[float, float], T]:
    cpu, wall = cpu_seconds(os.getpid()), time.perf_counter()
    result = run()
    return (time.perf_counter() - wall, cpu_seconds(os.getpid()) - cpu), result


def _write(warehouse: Path, files: int) -> None:
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database("bench")
    columns = pa.schema(
        [pa.field("dt", pa.string(), nullable=False), pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())]
    )
    appended = catalog.create_table(SMALL, Schema.from_arrow(columns, partition_keys=["dt"]))
    keyed = catalog.create_table(
        KEYED,
        Schema.from_arrow(columns, primary_keys=["dt", "k"], partition_keys=["dt"], options={"bucket": "2"}),
    )
    days = list(chain.from_iterable([f"2026-{i:04d}"] * 20 for i in range(PARTITIONS)))
    keys = np.tile(np.arange(20), PARTITIONS)
    rows = pa.table({"dt": days, "k": keys, "v": keys}, schema=columns)
    for _ in range(files // PARTITIONS):
        appended.append(rows)
    keyed.append(rows)


if __name__ == "__main__":
    main()
