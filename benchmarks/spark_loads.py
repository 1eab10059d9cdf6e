"""Writes on Spark compared with plain Spark, in alternating pairs of one process: ``python -m benchmarks.spark_loads``.

Each line compares a write of this project with a write of the same rows by plain Spark, in turns. Ratios are medians
over the pairs, so that other work on the machine affects both sides. The first pair of a line is not counted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.make_source import make_batches
from benchmarks.measure import cpu_seconds
from benchmarks.source import BUCKETS, COPYING, DYNAMIC, MODES, Source
from benchmarks.spark_session import session
from table_format import Schema
from table_format.spark import Lake, paimon

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WRITE_ONLY: Mapping[str, str] = {"bucket": str(BUCKETS), "write-only": "true"}
MANY_FILES = 500
FEW_ROWS = 50
"""A small upsert has one of this many rows of the table."""

Work = Callable[[], object]


@dataclass(frozen=True)
class Pair:
    """One write of each kind. ``prepare`` creates both and is not measured."""

    prepare: Callable[[], tuple[Work, Work]]


class Loads:
    """The lines of the table, by name."""

    def __init__(self, lake: Lake, source: Source, scratch: Path) -> None:
        self._lake = lake
        self._scratch = scratch
        self._source = source
        self._schema = pq.read_schema(source.base)
        self._numbers = count()
        self._filled: dict[str, str] = {}

    @property
    def lines(self) -> dict[str, Pair]:
        """Return the lines that can be measured."""
        ways = ("auto", "shuffle", "storage", "none")
        return {
            **{f"load, {way}": Pair(lambda way=way: self._load({"spark.write.exchange": way})) for way in ways},
            "upsert": Pair(lambda: self._upsert("upsert", WRITE_ONLY)),
            **{f"upsert, {mode}": Pair(lambda m=mode: self._upsert(m, MODES[m])) for mode in MODES},
            f"upsert, {COPYING}, beside plain Spark writing all rows": Pair(self._copy_on_write),
            f"upsert of 2 %, {DYNAMIC}": Pair(lambda: self._upsert("small", MODES[DYNAMIC], rows=self._few)),
            "copy of a merged table": Pair(self._copy),
            f"{MANY_FILES} files": Pair(self._many_files),
        }

    def _load(self, options: Mapping[str, str]) -> tuple[Work, Work]:
        rows = self._read(self._source.base)
        return self._plain(rows), self._into(self._table({**WRITE_ONLY, **options}), rows)

    def _upsert(
        self, mode: str, options: Mapping[str, str], rows: Callable[[], DataFrame] | None = None
    ) -> tuple[Work, Work]:
        """Upsert rows, by default the first upsert, into a table with the base rows. Plain Spark appends them."""
        if mode not in self._filled:
            self._filled[mode] = self._table({"bucket": str(BUCKETS), **options})
            self._lake.write(self._read(self._source.base), self._filled[mode])
        frame = self._read(self._source.upsert(0)) if rows is None else rows()
        return self._plain(frame), self._into(self._filled[mode], frame)

    def _copy_on_write(self) -> tuple[Work, Work]:
        """Upsert rows into a copy-on-write table. Plain Spark writes the base rows and the new rows, unsorted."""
        _, upsert = self._upsert(COPYING, MODES[COPYING])
        return self._plain(self._read(self._source.base, self._source.upsert(0))), upsert

    def _few(self) -> DataFrame:
        """Return 2 % of the base rows, with keys of the whole range."""
        return self._read(self._source.base).where(f"k % {FEW_ROWS} = 7")

    def _copy(self) -> tuple[Work, Work]:
        if "copied" not in self._filled:
            self._filled["copied"] = name = self._table(WRITE_ONLY)
            self._lake.write(self._read(self._source.base), name)
            self._lake.write(self._read(self._source.upsert(0)), name)
        merged = self._read(self._source.base)
        return self._plain(merged), self._into(self._table(WRITE_ONLY), self._lake.table(self._filled["copied"]))

    def _many_files(self) -> tuple[Work, Work]:
        """Commit a file for each of many partitions, with 1 % of the rows. The table grows with each commit."""
        rows = self._read(self._source.base).where("k % 20 = 7")
        rows = rows.selectExpr("*", f"cast(k % {MANY_FILES * 20} / 20 AS int) AS p")
        if "many" not in self._filled:
            schema = self._schema.append(pa.field("p", pa.int32(), nullable=False))
            self._filled["many"] = self._table({"bucket": "1", "write-only": "true"}, schema, partitioned=True)
        path = self._path()
        plain = rows.repartition("p").write.partitionBy("p").mode("overwrite")
        return lambda: plain.parquet(path), self._into(self._filled["many"], rows)

    def _read(self, *paths: Path) -> DataFrame:
        return self._lake.spark.read.parquet(*map(str, paths))

    def _path(self) -> str:
        return str(self._scratch / "plain" / str(next(self._numbers)))

    def _plain(self, rows: DataFrame) -> Work:
        path = self._path()
        return lambda: rows.write.parquet(path)

    def _into(self, table: str, rows: DataFrame) -> Work:
        return lambda: self._lake.write(rows, table)

    def _table(self, options: Mapping[str, str], schema: pa.Schema | None = None, *, partitioned: bool = False) -> str:
        name = f"bench.t{next(self._numbers)}"
        keys, parts = (["p", "k"], ["p"]) if partitioned else (["k"], [])
        made = Schema.from_arrow(schema or self._schema, primary_keys=keys, partition_keys=parts, options=options)
        self._lake.catalog.create_table(name, made)
        return name


def measured(pair: Pair, times: int) -> str:
    """Return the cells of a line: seconds of plain Spark, and the ratios of wall and CPU time."""
    walls, cpus, plain = [], [], []
    for number in range(times + 1):
        found = []
        for work in pair.prepare():
            cpu, wall = cpu_seconds(os.getpid()), time.perf_counter()
            work()
            found.append((time.perf_counter() - wall, cpu_seconds(os.getpid()) - cpu))
        (plain_wall, plain_cpu), (own_wall, own_cpu) = found
        if number:
            plain.append((plain_wall, plain_cpu))
            walls.append(own_wall / plain_wall)
            cpus.append(own_cpu / max(plain_cpu, 0.01))
    seconds = " / ".join(f"{statistics.median(column):.2f}" for column in zip(*plain, strict=True))
    return f"{seconds} | {statistics.median(walls):.2f} / {statistics.median(cpus):.2f}"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--times", type=int, default=5, help="pairs of each line")
    arguments.add_argument("--only", default="", help="lines that contain this text")
    arguments.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "lakehouse-bench")
    chosen = arguments.parse_args()
    source = Source(chosen.scratch / f"source-{chosen.rows}", chosen.rows)
    make_batches(source)
    tables = chosen.scratch / f"loads-{os.getpid()}"
    tables.mkdir(parents=True)
    spark = session(tables)
    try:
        lake = paimon(spark, {"warehouse": str(tables / "lake")})
        lake.catalog.create_database("bench", ignore_if_exists=True)
        print(f"{chosen.rows:,} rows, medians of {chosen.times} alternating pairs\n")
        print("| workload | plain Spark: wall s / CPU s | ratio, wall / CPU |\n|---|---|---|")
        for name, pair in Loads(lake, source, tables).lines.items():
            if chosen.only in name:
                print(f"| {name} | {measured(pair, chosen.times)} |", flush=True)
    finally:
        spark.stop()
        shutil.rmtree(tables, ignore_errors=True)


if __name__ == "__main__":
    main()
