"""The cost of scans on Spark compared with plain Spark: ``python -m benchmarks.spark_scans``.

Every query runs on plain Parquet files with the merged rows, as operations on a DataFrame of the table, with
``columns=`` and ``filter=``, and with ``lake.sql``. They take turns in one process. A figure is the median of the
ratios to plain Spark of the same round: wall time / CPU time of the whole process tree. Figures of ``lake.sql`` are
relative to ``columns=`` and ``filter=``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import cpu_seconds
from benchmarks.spark_session import session
from table_format import Schema
from table_format.spark import Lake, paimon

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

UPSERTS = 4
AGGREGATION = {"merge-engine": "aggregation", "fields.default-aggregate-function": "last_non_null_value"}
VECTORS = {"deletion-vectors.enabled": "true", "write-only": "false"}
TABLES: Mapping[str, Mapping[str, str]] = {
    "merge on read": {},
    "compacted": {},
    "deletion vectors": VECTORS,
    "few deletion vectors": VECTORS,
    "aggregation": {**AGGREGATION, "fields.n0.aggregate-function": "sum", "fields.n1.aggregate-function": "max"},
    "partial-update": {"merge-engine": "partial-update"},
}
FEW = frozenset({"few deletion vectors"})
"""Tables with upserts of a hundredth of the rows instead of a tenth."""
SENT = "sent"
"""Finished rows in memory, which Python tasks send to Spark."""
READ_AND_SENT = "read and sent"
"""The same, but tasks read the rows from Parquet files first: what any reader that merges in Python costs at least."""
SENT_AT_ONCE = 65_536
APPENDS = "append, partitioned"
PARTITION = "p"
PARTITIONS = 50


@dataclass(frozen=True)
class Query:
    """A query as operations on a DataFrame, and with ``columns=`` and ``filter=`` if they can express it."""

    run: Callable[[DataFrame], object]
    columns: Sequence[str] | None = None
    filter: str | None = None
    is_told: bool = True
    sql: str = ""
    """The same query in SQL on ``TABLE``. ``result`` converts its rows to the result of ``run``."""
    result: Callable[[Sequence[Row]], object] = lambda rows: rows[0][0]


@dataclass(frozen=True)
class Line:
    """One line of the report: a query of a table, and the limits of its DataFrame."""

    name: str
    table: str
    query: Query
    bar: float | None = None
    is_floor: bool = False
    """Spark reads all rows of the files, deleted ones too, and looks at the file and the position of each."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the base; each upsert has a tenth")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="lines whose name contains this")
    parser.add_argument("--option", action="append", default=[], help="key=value, of every read of the table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spark-scans-") as scratch:
        bench = Bench(Path(scratch), arguments.rows, dict(text.split("=", 1) for text in arguments.option))
        print(f"{arguments.rows:,} base rows, {UPSERTS} upserts, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        print(
            "| query | plain: wall s / CPU s | frame | columns=, filter= | lake.sql | bar |\n|---|---|---|---|---|---|",
            flush=True,
        )
        for line in lines():
            if arguments.only in line.name:
                print(bench.measured(line, arguments.rounds), flush=True)
        bench.lake.spark.stop()


def lines() -> Sequence[Line]:
    """Return the measured lines."""
    every = Query(every_column, is_told=False)
    return [
        Line("all 11 columns, merge on read", "merge on read", every, 1.3),
        Line("2 of 11 columns, merge on read", "merge on read", two_columns()),
        Line("2 % of the rows, merge on read", "merge on read", two_percent()),
        Line("key look-up, merge on read", "merge on read", look_up(), 2.0),
        Line("count(), merge on read", "merge on read", Query(lambda f: f.count(), ["k"])),
        Line("limit(100), merge on read", "merge on read", Query(lambda f: len(f.limit(100).collect()), is_told=False)),
        Line(
            "join of 2 columns, merge on read",
            "merge on read",
            Query(joined, ["k", "n0"], sql="SELECT sum(n0) FROM TABLE t JOIN range(0, 100000, 7) r ON t.k = r.id"),
        ),
        Line(
            "group by, merge on read",
            "merge on read",
            Query(grouped, ["n0", "d0"], sql="SELECT n0 % 100 AS g, max(d0) FROM TABLE GROUP BY n0 % 100", result=len),
        ),
        Line("all 60 columns, merge on read", "merge on read, 60", every, 1.3),
        Line("2 of 60 columns, merge on read", "merge on read, 60", two_columns(), 1.6),
        Line("key look-up in 60 columns, merge on read", "merge on read, 60", look_up(), 2.0),
        Line("all columns, compacted", "compacted", every, 0.9),
        Line("all columns, deletion vectors", "deletion vectors", every, 1.05),
        Line("all columns, few deletion vectors", "few deletion vectors", every),
        Line("all columns, deletion vectors, no bit tested", "deletion vectors", every, is_floor=True),
        Line("all columns, aggregation", "aggregation", every, 1.1),
        Line("all columns, sent by Python tasks", SENT, every),
        Line("all columns, read and sent by Python tasks", READ_AND_SENT, every),
        Line("2 of 11 columns, aggregation", "aggregation", two_columns()),
        Line("all columns, partial-update", "partial-update", every),
        Line("one partition, append table", APPENDS, one_partition()),
    ]


def every_column(frame: DataFrame) -> object:
    from pyspark.sql import functions as F

    tests = [F.sum(n) if n[0] in "kn" else F.max(n) if n[0] in "dt" else F.sum(F.length(n)) for n in frame.columns]
    row = frame.agg(F.count("*"), *tests).collect()[0]
    return row[0], row[1]


def two_columns() -> Query:
    return Query(
        lambda f: tuple(f.select("n0", "s0").selectExpr("sum(n0)", "sum(length(s0))").collect()[0]),
        ["n0", "s0"],
        sql="SELECT sum(n0), sum(length(s0)) FROM TABLE",
        result=lambda rows: tuple(rows[0]),
    )


def two_percent() -> Query:
    return Query(
        lambda f: f.where("n0 < 20").selectExpr("sum(k)", "max(s0)").collect()[0][0],
        ["k", "n0", "s0"],
        "n0 < 20",
        sql="SELECT sum(k), max(s0) FROM TABLE WHERE n0 < 20",
    )


def look_up() -> Query:
    return Query(
        lambda f: [row[0] for row in f.where("k = 4711").collect()],
        None,
        "k = 4711",
        sql="SELECT * FROM TABLE WHERE k = 4711",
        result=lambda rows: [row[0] for row in rows],
    )


def one_partition() -> Query:
    return Query(
        lambda f: f.where(f"{PARTITION} = 7").selectExpr("count(*)", "sum(n0)").collect()[0][1],
        None,
        f"{PARTITION} = 7",
        sql="SELECT sum(n0), count(*) FROM TABLE WHERE p = 7",
    )


def joined(frame: DataFrame) -> object:
    from pyspark.sql import functions as F

    other = frame.sparkSession.range(0, 100_000, 7).withColumnRenamed("id", "k")
    return frame.select("k", "n0").join(other, "k").agg(F.sum("n0")).collect()[0][0]


def grouped(frame: DataFrame) -> object:
    from pyspark.sql import functions as F

    return len(frame.groupBy((F.col("n0") % 100).alias("g")).agg(F.max("d0")).collect())


class Bench:
    """Tables of the same rows, and the merged rows as plain Parquet files."""

    def __init__(self, scratch: Path, rows: int, options: Mapping[str, str]) -> None:
        self._scratch = scratch
        self._rows = rows
        self._options = options
        spark = session(scratch / "spark")
        self.lake = Lake(spark, paimon(spark, {"warehouse": str(scratch / "lake")}).catalog)
        self.lake.catalog.create_database("b", ignore_if_exists=True)
        self._made: set[str] = set()

    def measured(self, line: Line, rounds: int) -> str:
        """Measure a line. It also reports different results."""
        name = self._table(line.table)
        query, spark = line.query, self.lake.spark
        plain = str(self._scratch / f"{name}-plain")
        ways: dict[str, Callable[[], object]] = {
            "plain": lambda: query.run(spark.read.parquet(plain)),
            "frame": lambda: query.run(self._files_of(name) if line.is_floor else self._frame_of(name)),
        }
        if query.is_told:
            ways["told"] = lambda: query.run(self._frame_of(name, query.columns, query.filter))
        if query.sql:
            text = query.sql.replace("TABLE", f"b.{name}")
            ways["sql"] = lambda: query.result(self.lake.sql(text).collect())
        costs: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        results: dict[str, object] = {}
        for number in range(rounds + 2):
            for way, work in ways.items():
                cpu, wall = cpu_seconds(os.getpid()), time.perf_counter()
                results[way] = work()
                cost = time.perf_counter() - wall, cpu_seconds(os.getpid()) - cpu
                if number >= 2:
                    costs[way].append(cost)
        first = [statistics.median(found) for found in zip(*costs["plain"], strict=True)]
        cells = [self._ratio(costs, "frame"), self._ratio(costs, "told"), self._ratio(costs, "sql", to="told")]
        is_equal = line.is_floor or len(set(map(repr, results.values()))) == 1
        differ = "" if is_equal else f" DIFFERENT: {results}"
        bar = "" if line.bar is None else f"{line.bar}"
        return f"| {line.name}{differ} | {first[0]:.2f} / {first[1]:.2f} | {' | '.join(cells)} | {bar} |"

    def _frame_of(self, name: str, columns: Sequence[str] | None = None, filter: str | None = None) -> DataFrame:
        if name in {SENT, _identifier(READ_AND_SENT)}:
            return self._sent_rows(name)
        options: dict[str, Any] = dict(self._options)
        return self.lake.table(f"b.{name}", columns=columns, filter=filter, **options)

    def _files_of(self, name: str) -> DataFrame:
        spark, table = self.lake.spark, self.lake.catalog.load_table(f"b.{name}")
        root = self._scratch / "lake" / "b.db" / name
        names = (file.file_name for split in table.scan().plan() for file in split.files)
        files = spark.read.parquet(*(str(next(root.rglob(file))) for file in names))
        shown = files.select(*table.arrow_schema.names, "_metadata.file_size", "_metadata.row_index")
        return shown.where("file_size + row_index >= 0").drop("file_size", "row_index")

    @staticmethod
    def _ratio(costs: Mapping[str, Sequence[tuple[float, float]]], way: str, to: str = "plain") -> str:
        if way not in costs:
            return ""
        pairs = list(zip(costs[way], costs[to], strict=True))
        wall = statistics.median(mine[0] / plain[0] for mine, plain in pairs)
        return f"{wall:.2f} / {statistics.median(mine[1] / max(plain[1], 0.01) for mine, plain in pairs):.2f}"

    def _table(self, kind: str) -> str:
        name = _identifier(kind)
        if name in self._made:
            return name
        self._made.add(name)
        if kind == APPENDS:
            self._append_table(name)
            return name
        if kind in {SENT, READ_AND_SENT}:
            self._keep_rows_to_send(name)
            return name
        groups, rows = (11, self._rows) if not kind.endswith("60") else (60, self._rows // 4)
        options = {"bucket": "4", "write-only": "true", **TABLES[kind.partition(",")[0]]}
        frames = [self._frame(groups, 0, rows, 0)]
        # Half of the keys of an upsert are known.
        step = rows // (100 if kind in FEW else 10)
        starts = [rows - step // 2 + number * step // 2 for number in range(UPSERTS)]
        frames += [self._frame(groups, start, step, age) for age, start in enumerate(starts, 1)]
        fields = [pa.field(f.name, f.type, nullable=f.name != "k") for f in frames[0].limit(0).toArrow().schema]
        self.lake.catalog.create_table(f"b.{name}", Schema.from_arrow(pa.schema(fields), ["k"], options=options))
        for frame in frames:
            self.lake.write(frame, f"b.{name}")
        if kind == "compacted":
            self.lake.compact(f"b.{name}", full=True)
        merged = self.lake.table(f"b.{name}")
        merged.write.parquet(str(self._scratch / f"{name}-plain"))
        return name

    def _append_table(self, name: str) -> None:
        rows = self._frame(11, 0, self._rows, 0).selectExpr("*", f"cast(k % {PARTITIONS} AS int) AS {PARTITION}")
        schema = Schema.from_arrow(rows.limit(0).toArrow().schema, partition_keys=[PARTITION])
        self.lake.catalog.create_table(f"b.{name}", schema)
        self.lake.write(rows.repartition(PARTITION), f"b.{name}")
        rows.repartition(PARTITION).write.partitionBy(PARTITION).parquet(str(self._scratch / f"{name}-plain"))

    def _keep_rows_to_send(self, name: str) -> None:
        """Write plain Parquet files with Spark, and the same rows as Arrow files and Parquet files for Python tasks."""
        plain = str(self._scratch / f"{name}-plain")
        self._frame(11, 0, self._rows, 0).write.parquet(plain)
        for number, file in enumerate(sorted(Path(plain).glob("*.parquet"))):
            rows = pq.read_table(file)
            instants = rows.schema.get_field_index("t")
            rows = rows.set_column(instants, "t", rows.column("t").cast(pa.timestamp("us", "UTC")))
            kept = self._scratch / f"{name}-{number}"
            pq.write_table(rows, f"{kept}.parquet", compression="zstd")
            # A task maps it into memory.
            with pa.ipc.new_file(f"{kept}.arrow", rows.schema) as mapped:
                mapped.write_table(rows, max_chunksize=SENT_AT_ONCE)

    def _sent_rows(self, name: str) -> DataFrame:
        kind = "arrow" if name == SENT else "parquet"
        files = sorted(map(str, self._scratch.glob(f"{name}-*.{kind}")))

        def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for number in (int(n) for batch in batches for n in batch.column(0).to_numpy()):
                if kind == "parquet":
                    yield from pq.ParquetFile(files[number]).iter_batches(SENT_AT_ONCE, use_threads=False)
                else:
                    rows = pa.ipc.open_file(pa.memory_map(files[number]))
                    yield from map(rows.get_batch, range(rows.num_record_batches))

        schema = self._frame(11, 0, 1, 0).schema
        return self.lake.spark.range(0, len(files), 1, os.cpu_count()).mapInArrow(send, schema)

    def _frame(self, columns: int, start: int, count: int, age: int) -> DataFrame:
        """Return ``k`` and columns of integers, floats, strings and one time. Keys are spread over the known keys."""
        others = [f"cast(pmod(hash(id, {age}, {i}), 1000) AS int) AS n{i}" for i in range((columns - 2) // 3)]
        others += [f"rand({age * 100 + i}) AS d{i}" for i in range((columns - 2) // 3)]
        texts = columns - 2 - len(others)
        others += [f"concat('value-', lpad(hash(id, {age}, {i}), 12, '0')) AS s{i}" for i in range(texts)]
        others.append("timestamp_micros(1700000000000000 + id * 1000) AS t")
        return self.lake.spark.range(start, start + count, 1, 4).selectExpr(f"{self._key(start, count)} AS k", *others)

    def _key(self, start: int, count: int) -> str:
        if start == 0:
            return "id"
        # The first half are known keys in random positions.
        return f"if(id < {start + count // 2}, pmod((id - {start}) * 7919 + {start}, {start}), id)"


def _identifier(kind: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in kind)


if __name__ == "__main__":
    main()
