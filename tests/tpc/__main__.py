"""``python -m tests.tpc``: run all queries of TPC-H and TPC-DS with ``lake.sql`` and with DuckDB.

The tables have several commits: keyed tables are merged while they are read, some have deletion vectors, some are
compacted. The same queries run on the plain rows. The exit code is 1 when a result differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import sqlglot
from uv import find_uv_bin

from table_format import Catalog, Schema, duckdb_sql
from table_format.spark import paimon
from tests.support.spark_session import local_session

PACKAGES: Final = tuple(
    f"{name}==1.5.5" for name in ("duckdb", "duckdb-extensions", "duckdb-extension-tpch", "duckdb-extension-tpcds")
)
"""The generators exist for some releases of DuckDB only."""
BENCHMARKS: Final = ("tpch", "tpcds")
DATABASE: Final = "b"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tpc", description=__doc__)
    parser.add_argument("--scale", type=float, default=0.01, help="the scale factor of the tables")
    parser.add_argument("--only", nargs="*", choices=BENCHMARKS, default=BENCHMARKS)
    arguments = parser.parse_args()
    different = 0
    with tempfile.TemporaryDirectory(prefix="tpc-") as scratch:
        root = Path(scratch)
        generator = _generator(root / "environment")
        spark = local_session(root / "spark", {"spark.sql.shuffle.partitions": "2"})
        for benchmark in arguments.only:
            source = root / benchmark
            script = Path(__file__).parent / "generate.py"
            subprocess.run([generator, script, benchmark, str(arguments.scale), source], check=True)
            lake = paimon(spark, {"warehouse": str(root / f"{benchmark}-lake")})
            tables = {file.stem: _rows(file) for file in sorted(source.glob("*.parquet"))}
            lake.catalog.create_database(DATABASE)
            for number, (name, rows) in enumerate(tables.items()):
                _fill(lake.catalog, f"{DATABASE}.{name}", rows, number)
            queries: Mapping[str, str] = json.loads((source / "queries.json").read_text())
            for engine, outcomes in (
                ("Spark", _on_spark(lake, tables, queries)),
                ("DuckDB", _on_duckdb(lake.catalog, tables, queries)),
            ):
                wrong = [number for number, equal in outcomes if not equal]
                print(f"{benchmark} with {engine}: {len(queries)} queries, different: {wrong or 'none'}", flush=True)
                different += len(wrong)
        spark.stop()
    return 1 if different else 0


def _generator(environment: Path) -> str:
    """Return the Python of a new environment with the generators."""
    uv = find_uv_bin()
    python = str(environment / "bin" / "python")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *PACKAGES], check=True)
    return python


def _rows(file: Path) -> pa.Table:
    rows = pq.read_table(file)
    types = {pa.time64("us"): pa.string()}
    return rows.cast(pa.schema([pa.field(f.name, types.get(f.type, f.type)) for f in rows.schema]))


def _fill(catalog: Catalog, name: str, rows: pa.Table, number: int) -> None:
    """Write the rows in two commits. A table whose first column is unique has it as its primary key."""
    key, count = rows.column_names[0], rows.num_rows
    is_keyed = pc.count_distinct(rows[key], mode="all").as_py() == count and not rows[key].null_count
    options = {"deletion-vectors.enabled": "true"} if number % 2 else {}
    if not is_keyed:
        table = catalog.create_table(name, Schema.from_arrow(rows.schema, options={"bucket": "-1", **options}))
        table.append(rows.slice(0, count // 2))
        table.append(rows.slice(count // 2))
        return
    columns = pa.schema([f.with_nullable(f.name != key) for f in rows.schema])
    table = catalog.create_table(name, Schema.from_arrow(columns, [key], options={"bucket": "2", **options}))
    superseded = rows.slice(0, count // 3 + 1)
    nulls = {f.name: pa.nulls(superseded.num_rows, f.type) for f in rows.schema}
    table.append(pa.table({**nulls, key: superseded[key]}))
    table.append(rows)
    if number % 3 == 0:
        table.compact(full=True)


def _on_spark(lake: Any, tables: Mapping[str, pa.Table], queries: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    for name, rows in tables.items():
        lake.spark.createDataFrame(rows).createOrReplaceTempView(name)
    lake.sql(f"USE {DATABASE}")
    for number, query in queries.items():
        text = sqlglot.transpile(query, read="duckdb", write="spark")[0]
        yield number, _shown(lake.sql(text).collect()) == _shown(lake.spark.sql(text).collect())


def _on_duckdb(
    catalog: Catalog, tables: Mapping[str, pa.Table], queries: Mapping[str, str]
) -> Iterator[tuple[str, bool]]:
    with duckdb.connect() as plain:
        for name, rows in tables.items():
            plain.register(name, rows)
        for number, query in queries.items():
            found = duckdb_sql.query(catalog, query, database=DATABASE).fetchall()
            yield number, _shown(found) == _shown(plain.sql(query).fetchall())


def _shown(rows: Any) -> list[str]:
    """The rows as texts in one order. The last digits of sums of floats depend on the order of the rows."""
    return sorted(" | ".join(map(_text, row)) for row in rows)


def _text(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float | Decimal) else str(value)


if __name__ == "__main__":
    sys.exit(main())
