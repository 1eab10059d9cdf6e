"""The engines of ``benchmarks.file_indexes``. Each runs the same queries over the same Parquet files."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

import duckdb
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.index_tables import TABLE, Aggregation, FirstRows, Query, SalesTable
from benchmarks.measure import process_tree
from table_format.spark import paimon
from tests.oracle.install import class_path

Rows = list[tuple[object, ...]]

PAIMON_VERSION = "1.4.2"
_SOURCE = Path(__file__).parent / "engines" / "PaimonQueries.java"
_OPENED = ("java.base/java.nio", "java.base/java.lang", "java.base/java.util")


class Engine(Protocol):
    """One way to read a table."""

    name: str

    def processes(self) -> Sequence[int]:
        """Return its processes. The cost of other processes is not counted."""
        ...

    def find(self, query: Query) -> Rows | None:
        """Return the rows of a query in any order."""
        ...

    def aggregate(self, wanted: Aggregation) -> Rows | None:
        """Return the rows of an aggregate; ``None`` if the engine does not support it."""
        ...

    def first(self, wanted: FirstRows) -> Rows | None:
        """Return the first rows in an order; ``None`` if the engine does not sort."""
        ...


class InProcess:
    """This project without Spark, with indexes or without."""

    def __init__(self, table: SalesTable, *, uses_indexes: bool) -> None:
        self.name = "this project, one process" if uses_indexes else "without indexes, one process"
        self.table = table.open().copy({"file-index.read.enabled": str(uses_indexes).lower()})

    def processes(self) -> Sequence[int]:
        return [os.getpid()]

    def find(self, query: Query) -> Rows:
        return list(zip(*self.table.scan(filter=query.sql).to_arrow().to_pydict().values(), strict=True))

    def aggregate(self, wanted: Aggregation) -> Rows:
        scan = self.table.scan(filter=wanted.where and wanted.where.sql)
        return [tuple(row.values()) for row in scan.aggregate(wanted.functions, group_by=wanted.group_by).rows]

    def first(self, wanted: FirstRows) -> Rows:
        found = self.table.scan(order_by=wanted.order, limit=wanted.count).to_arrow()
        return list(zip(*found.to_pydict().values(), strict=True))


class DuckDb:
    """DuckDB on the Parquet files. Like all engines here, it caches no file content between queries."""

    name = f"DuckDB {duckdb.__version__}"

    def __init__(self, table: SalesTable) -> None:
        self._files = f"read_parquet('{table.plain}/*.parquet')"
        self._connection = duckdb.connect()
        self._connection.execute(f"SET threads = {os.cpu_count()}")
        self._connection.execute("SET enable_external_file_cache = false")

    def processes(self) -> Sequence[int]:
        return [os.getpid()]

    def find(self, query: Query) -> Rows:
        return self._connection.execute(f"SELECT * FROM {self._files} WHERE {query.sql}").fetchall()  # noqa: S608

    def aggregate(self, wanted: Aggregation) -> Rows:
        where = f" WHERE {wanted.where.sql}" if wanted.where else ""
        group = f" GROUP BY {wanted.group_by}" if wanted.group_by else ""
        return self._connection.execute(
            f"SELECT {', '.join(wanted.select)} FROM {self._files}{where}{group}"  # noqa: S608
        ).fetchall()

    def first(self, wanted: FirstRows) -> Rows:
        order = ", ".join(wanted.order)
        return self._connection.execute(
            f"SELECT * FROM {self._files} ORDER BY {order} LIMIT {wanted.count}"  # noqa: S608
        ).fetchall()


class _OnSpark:
    """The common part of engines on Spark. Its processes are this one and the Java process with its workers."""

    name: str

    def __init__(self, spark: SparkSession) -> None:
        self._java = spark.sparkContext._gateway.proc.pid

    def processes(self) -> Sequence[int]:
        return [os.getpid(), *process_tree(self._java)]

    def frame(self, query: Query | None) -> DataFrame:
        raise NotImplementedError

    def find(self, query: Query) -> Rows:
        return [tuple(row) for row in self.frame(query).collect()]

    def aggregate(self, wanted: Aggregation) -> Rows:
        frame, functions = self.frame(wanted.where), [F.expr(each) for each in wanted.select]
        if wanted.group_by:
            frame, functions = frame.groupBy(wanted.group_by), functions[1:]
        return [tuple(row) for row in frame.agg(*functions).collect()]

    def first(self, wanted: FirstRows) -> Rows:
        frame = self.frame(None).orderBy(*wanted.columns, ascending=not wanted.descending)
        return [tuple(row) for row in frame.limit(wanted.count).collect()]


class PlainSpark(_OnSpark):
    """Spark on the Parquet files, without a table format."""

    name = "plain Spark"

    def __init__(self, spark: SparkSession, table: SalesTable) -> None:
        super().__init__(spark)
        self._spark, self._plain = spark, str(table.plain)

    def frame(self, query: Query | None) -> DataFrame:
        frame = self._spark.read.parquet(self._plain)
        return frame if query is None else frame.where(query.sql)


class OnSpark(_OnSpark):
    """This project on Spark, with indexes."""

    name = "this project on Spark"

    def __init__(self, spark: SparkSession, table: SalesTable) -> None:
        super().__init__(spark)
        self._lake = paimon(spark, {"warehouse": table.warehouse})

    def frame(self, query: Query | None) -> DataFrame:
        return self._lake.table(TABLE, filter=query and query.sql)

    def first(self, wanted: FirstRows) -> Rows:
        return [tuple(row) for row in self._lake.table(TABLE, order_by=wanted.order, limit=wanted.count).collect()]


class RealPaimon:
    """The Java Paimon in a separate process. Its index files have the same bytes, so it reads the same table."""

    name = f"Apache Paimon {PAIMON_VERSION}"

    def __init__(self, table: SalesTable, oracle: Path, scratch: Path) -> None:
        jars = ":".join(map(str, class_path(oracle, PAIMON_VERSION)))
        subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", str(scratch), str(_SOURCE)], check=True)
        opens = [f"--add-opens={module}=ALL-UNNAMED" for module in _OPENED]
        self._process = subprocess.Popen(
            ["java", "-Xmx2g", *opens, "-cp", f"{scratch}:{jars}", _SOURCE.stem, table.warehouse, TABLE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def processes(self) -> Sequence[int]:
        return [self._process.pid]

    def find(self, query: Query) -> Rows:
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018
        self._process.stdin.write(json.dumps([asdict(condition) for condition in query.conditions]) + "\n")
        self._process.stdin.flush()
        return [tuple(row) for row in json.loads(self._process.stdout.readline())]

    def aggregate(self, wanted: Aggregation) -> None:  # noqa: ARG002 - its core does not aggregate
        return None

    def first(self, wanted: FirstRows) -> None:  # noqa: ARG002 - its core leaves the final limit to an engine
        return None

    def close(self) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]
        self._process.wait(30)


def in_order(rows: Iterable[tuple[object, ...]]) -> Rows:
    """Sort rows for comparisons. Sums are ``Decimal`` in some engines and ``int`` in others."""
    return sorted(tuple(value if isinstance(value, str) else int(value) for value in row) for row in rows)  # type: ignore[call-overload]
