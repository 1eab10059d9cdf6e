"""Writes the tables of a benchmark as Parquet files, and its queries, which extensions of DuckDB contain.

``python generate.py tpcds 0.01 DIRECTORY``
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb
from duckdb_extensions import import_extension  # type: ignore[import-not-found]  # only in the other environment

GENERATORS = {"tpch": "dbgen", "tpcds": "dsdgen"}


def main(benchmark: str, scale: str, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        import_extension(benchmark, con=connection)
        connection.load_extension(benchmark)
        connection.execute(f"CALL {GENERATORS[benchmark]}(sf={float(scale)})")
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            connection.execute(f"COPY {table} TO '{directory / table}.parquet'")
        queries = connection.table_function(f"{benchmark}_queries").fetchall()
    (directory / "queries.json").write_text(json.dumps(dict(queries)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
