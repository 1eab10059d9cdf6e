"""The bytes that a conjunction of common values reads from large files: ``python -m benchmarks.index_pages``.

The files have many pages and the rows of a region are adjacent, as after a load shop by shop. Columns with few values
have bitmaps. The pages with rows of the result are the minimum that must be read of all columns.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.index_engines import DuckDb, InProcess, PlainSpark, in_order
from benchmarks.index_tables import TABLE, Condition, Query, SalesTable, link_data_files, sales
from benchmarks.measure import medians, timed
from benchmarks.spark_session import session
from table_format import Schema, load_catalog
from table_format.formats.parquet_footer import read_footer
from table_format.formats.parquet_pages import PagedFile

COLUMNS = ("gender", "status", "region")
QUERY = Query(
    "conjunction",
    (Condition("status", "=", ("sent",)), Condition("region", "=", ("r17",)), Condition("gender", "=", ("x",))),
)
BAR = 1.5


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=8)
    arguments.add_argument("--file-rows", type=int, default=200_000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "lakehouse-bench")
    chosen = arguments.parse_args()
    table = SalesTable(chosen.scratch / "sales-pages", chosen.files, chosen.file_rows)
    _make(table)
    spark = session(chosen.scratch)
    engines = [InProcess(table, uses_indexes=True), InProcess(table, uses_indexes=False), DuckDb(table)]
    engines.append(PlainSpark(spark, table))
    rounds = [
        {engine.name: timed(engine.processes, lambda engine=engine: engine.find(QUERY)) for engine in engines}
        for _ in range(chosen.rounds + 1)
    ]
    spark.stop()
    if len({str(in_order(rows)) for _, rows in rounds[0].values()}) != 1:
        message = "the engines found different rows"
        raise SystemExit(message)
    least = sum(map(_bytes_of_pages_with_rows, sorted(table.plain.glob("*.parquet"))))
    everything = sum(path.stat().st_size for path in table.plain.iterdir())
    indexes = sum(path.stat().st_size for path in Path(table.warehouse).rglob("*.index"))
    rows = len(rounds[0][engines[0].name][1])
    print(f"{rows} rows; {least / 1e6:.2f} MB of pages hold them, of {everything / 1e6:.2f} MB of data files")
    print(f"the index files have {indexes / 1e6:.2f} MB")
    for engine in engines:
        cost = medians([each[engine.name][0] for each in rounds[1:]])
        print(
            f"{engine.name:30} {1000 * cost.wall_s:8.1f} ms, CPU {1000 * cost.cpu_s:8.1f} ms, "
            f"{cost.read_bytes / 1e6:8.2f} MB, {cost.read_bytes / least:.2f} of these pages"
        )
    ratio = medians([each[engines[0].name][0] for each in rounds[1:]]).read_bytes / least
    print(f"{'holds' if ratio <= BAR else 'FAILS'} the bar of {BAR}")


def _make(table: SalesTable) -> None:
    shutil.rmtree(table.directory, ignore_errors=True)
    table.plain.mkdir(parents=True)
    catalog = load_catalog({"warehouse": table.warehouse})
    catalog.create_database(TABLE.partition(".")[0])
    options = {"file-index.bitmap.columns": ",".join(COLUMNS)}
    parts = list(_parts(table))
    made = catalog.create_table(TABLE, Schema.from_arrow(parts[0].schema, options=options))
    for part in parts:
        made.append(part)
    link_data_files(made, Path(table.warehouse), table.plain)


def _parts(table: SalesTable) -> Iterator[pa.Table]:
    chance = np.random.default_rng(20260104)
    keys = chance.permutation(table.files * table.file_rows)
    for start in range(0, len(keys), table.file_rows):
        yield sales(chance, keys[start : start + table.file_rows]).sort_by("region")


def _bytes_of_pages_with_rows(path: Path) -> int:
    """Return the bytes of these pages of all columns, including their dictionaries."""
    values = pq.read_table(path, columns=list(COLUMNS))
    each = [pc.equal(values[condition.column], condition.values[0]) for condition in QUERY.conditions]
    rows = np.flatnonzero(pc.and_(pc.and_(each[0], each[1]), each[2]).to_numpy())
    with pa.OSFile(str(path)) as source:
        paged = PagedFile(source, read_footer(source), str(path))
        if pq.read_metadata(path).num_row_groups != 1:
            message = f"{path} has several row groups; choose fewer rows for a file"
            raise SystemExit(message)
        names = pq.read_schema(path).names
        pages = [paged.pages(0, name) for name in names]
        return sum(column.bytes_of(column.holding(rows)) for column in pages) if len(rows) else 0


if __name__ == "__main__":
    main()
