"""The cost of building file indexes during a write: ``python -m benchmarks.index_building``.

It appends the rows of the source in one process, without and with indexes: each type alone over suitable columns, and a
typical mix. The source has eleven columns; with ``--times 3``, a table has each of them three times. The writes
alternate, each into a new table. Figures are the minimum of all rounds, which depends least on other work of the
machine. With ``--rewrite``, ``rewrite_file_index`` builds the indexes for existing files, and the cost of only the
rewrite is compared with that of a write without indexes. With ``--spark``, ``lake.write`` writes the rows.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.make_source import make
from benchmarks.measure import Cost, least, process_tree, timed
from benchmarks.source import Source
from benchmarks.spark_session import session
from table_format import Catalog, Schema, SetOption, load_catalog
from table_format.spark import paimon

NO_INDEX = "without indexes"
MIX = "bloom k, s2; bitmap i1, s1; bsi ts"
BAR = 0.15
"""The maximum fraction of the write cost that the mix may add."""


@dataclass(frozen=True)
class Indexed:
    """Columns by type of index."""

    columns: dict[str, tuple[str, ...]]

    def options(self, rows: int) -> dict[str, str]:
        """Return the options of a table with ``rows`` rows in each file."""
        blooms = self.columns.get("bloom-filter", ())
        return {
            **{f"file-index.{index_type}.columns": ",".join(names) for index_type, names in self.columns.items()},
            **{f"file-index.bloom-filter.{name}.items": str(rows) for name in blooms},
        }


CASES = {
    NO_INDEX: Indexed({}),
    "bloom-filter k (BIGINT)": Indexed({"bloom-filter": ("k",)}),
    "bloom-filter s2 (STRING)": Indexed({"bloom-filter": ("s2",)}),
    "bitmap i1 (INT, 100 values)": Indexed({"bitmap": ("i1",)}),
    "bitmap s1 (STRING, 1,000 values)": Indexed({"bitmap": ("s1",)}),
    "bsi i2 (INT, 20 bits)": Indexed({"bsi": ("i2",)}),
    "bsi ts (TIMESTAMP, 51 bits)": Indexed({"bsi": ("ts",)}),
    "range-bitmap i2 (INT)": Indexed({"range-bitmap": ("i2",)}),
    MIX: Indexed({"bloom-filter": ("k", "s2"), "bitmap": ("i1", "s1"), "bsi": ("ts",)}),
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--times", type=int, default=1, help="how often the table has each column of the source")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--rewrite", action="store_true", help="build the indexes for existing files")
    arguments.add_argument("--spark", action="store_true", help="write the eleven columns of the source on Spark")
    arguments.add_argument(
        "--only", default="", help="cases whose name contains this, besides the write without indexes"
    )
    arguments.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "lakehouse-bench")
    chosen = arguments.parse_args()
    source = Source(chosen.scratch / f"source-{chosen.rows}", chosen.rows)
    make(source)
    rows = _wide(pq.read_table(source.base), chosen.times)
    chance = random.Random(1)
    costs: dict[str, list[Cost]] = {name: [] for name in CASES if name == NO_INDEX or chosen.only in name}
    with tempfile.TemporaryDirectory(dir=chosen.scratch) as directory:
        catalog = load_catalog({"warehouse": directory})
        catalog.create_database("bench")
        written = _by_spark(Path(directory), source) if chosen.spark else _written
        for _ in range(chosen.rounds + 1):
            # The memory state after the previous write affects the cost, so the order changes.
            for name in chance.sample(list(costs), len(costs)):
                options = CASES[name].options(rows.num_rows)
                is_rewrite = chosen.rewrite and name != NO_INDEX
                costs[name].append((_rewritten if is_rewrite else written)(catalog, rows, options))
                catalog.drop_table("bench.t")
    without = least(costs[NO_INDEX][1:])
    print(f"{rows.num_rows:,} rows of {rows.num_columns} columns")
    for name, found in costs.items():
        cost = least(found[1:])
        # The write is not part of a rewrite.
        base = 0 if chosen.rewrite and name != NO_INDEX else 1
        print(
            f"{name:36} {cost.wall_s:6.3f} s, CPU {cost.cpu_s:6.3f} s, "
            f"added {cost.wall_s / without.wall_s - base:+.3f} / {cost.cpu_s / without.cpu_s - base:+.3f}",
            flush=True,
        )


def _written(catalog: Catalog, rows: pa.Table, options: dict[str, str]) -> Cost:
    """Return the cost of one append to a new table with these options."""
    table = catalog.create_table("bench.t", Schema.from_arrow(rows.schema, options=options))
    return timed(lambda: [os.getpid()], lambda: table.append(rows))[0]


def _by_spark(warehouse: Path, source: Source) -> Callable[[Catalog, pa.Table, dict[str, str]], Cost]:
    """Return a function that writes the source on Spark to a new table, and returns the cost of all processes."""
    lake = paimon(session(warehouse / "spark"), {"warehouse": str(warehouse)})
    frame = lake.spark.read.parquet(str(source.base))

    def written(catalog: Catalog, rows: pa.Table, options: dict[str, str]) -> Cost:
        catalog.create_table("bench.t", Schema.from_arrow(rows.schema, options=options))
        return timed(lambda: process_tree(os.getpid()), lambda: lake.write(frame, "bench.t"))[0]

    return written


def _rewritten(catalog: Catalog, rows: pa.Table, options: dict[str, str]) -> Cost:
    """Return the cost of building the indexes in these options for files without indexes."""
    catalog.create_table("bench.t", Schema.from_arrow(rows.schema, options={})).append(rows)
    table = catalog.alter_table("bench.t", [SetOption(name, value) for name, value in options.items()])
    return timed(lambda: [os.getpid()], table.rewrite_file_index)[0]


def _wide(rows: pa.Table, times: int) -> pa.Table:
    """Return the rows with additional columns, whose values are those of other rows."""
    wide = rows
    for copy in range(1, times):
        moved = pa.concat_tables([rows.slice(copy), rows.slice(0, copy)])
        for name in rows.column_names:
            wide = wide.append_column(f"{name}_{copy}", moved[name])
    return wide


if __name__ == "__main__":
    main()
