"""Scans of many small files of wide tables in one process: ``python -m benchmarks.small_files``.

Each query alternates with pyarrow, which reads the same columns of the same data files and merges nothing. The cost of
a file counts here rather than the cost of its rows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from benchmarks.measure import Cost, least, timed
from table_format import Schema, Table, load_catalog

TABLE = "bench.small_files"
FILE_ROWS = 1000
KEYS = 10_000
_FEW = ["k", "c1"]


@dataclass(frozen=True)
class Query:
    """A scan of some columns, of all rows or of those with ``k`` below a number."""

    name: str
    columns: list[str] | None = None
    below: int | None = None

    def of_table(self, table: Table) -> pa.Table:
        """Scan the table."""
        condition = None if self.below is None else f"k < {self.below}"
        return table.scan(columns=self.columns, filter=condition).to_arrow()

    def of_files(self, files: list[str], file_format: str) -> pa.Table:
        """Read the files with pyarrow."""
        condition = None if self.below is None else pc.field("k") < self.below
        return ds.dataset(files, format=file_format).to_table(columns=self.columns, filter=condition)


QUERIES = (Query("all columns"), Query("2 columns", _FEW), Query("2 columns where k < 100", _FEW, below=100))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=100)
    arguments.add_argument("--columns", type=int, default=60)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "lakehouse-bench")
    chosen = arguments.parse_args()
    print(f"{chosen.files} files of {FILE_ROWS} rows and {chosen.columns} columns; wall, and wall / CPU to pyarrow")
    for keyed in (False, True):
        for file_format in ("parquet", "orc"):
            warehouse = chosen.scratch / "small-files"
            shutil.rmtree(warehouse, ignore_errors=True)
            table = _make(warehouse, chosen.files, chosen.columns, file_format, keyed=keyed)
            files = [str(path) for path in Path(table.location).rglob("data-*")]
            for query in QUERIES:
                ours, plain = _costs(table, query, files, file_format, chosen.rounds)
                what = f"{'primary-key' if keyed else 'append'} table, {file_format}"
                ratio = f"{ours.wall_s / plain.wall_s:5.2f} / {ours.cpu_s / plain.cpu_s:5.2f}"
                print(f"{what:28} {query.name:24} {1000 * ours.wall_s:7.1f} ms  {ratio}")


def _costs(table: Table, query: Query, files: list[str], file_format: str, rounds: int) -> tuple[Cost, Cost]:
    """Return the cost of the scan, and that of reading the files: the minimum of each after a round to warm up."""
    ours, plain = [], []
    for _ in range(rounds + 1):
        ours.append(timed(lambda: [os.getpid()], lambda: query.of_table(table))[0])
        plain.append(timed(lambda: [os.getpid()], lambda: query.of_files(files, file_format))[0])
    return least(ours[1:]), least(plain[1:])


def _make(warehouse: Path, files: int, columns: int, file_format: str, *, keyed: bool) -> Table:
    """Create a table with one commit for each file. Half of the other columns are texts."""
    names = ["k", *(f"c{i}" for i in range(1, columns))]
    types = [pa.string() if i % 2 else pa.int64() for i in range(columns)]
    schema = pa.schema([pa.field(n, t, nullable=n != "k") for n, t in zip(names, types, strict=True)])
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_database(TABLE.partition(".")[0])
    options = {"file.format": file_format, "write-only": "true", "bucket": "4" if keyed else "-1"}
    keys = {"primary_keys": ["k"]} if keyed else {}
    table = catalog.create_table(TABLE, Schema.from_arrow(schema, options=options, **keys))
    for number in range(files // 4 if keyed else files):
        rows = FILE_ROWS * 4 if keyed else FILE_ROWS
        numbers = pa.array([(number * rows + i) * 7919 % KEYS for i in range(rows)], pa.int64())
        texts = numbers.cast(pa.string())
        table.append(pa.table([texts if t == pa.string() else numbers for t in types], schema=schema))
    return table


if __name__ == "__main__":
    main()
