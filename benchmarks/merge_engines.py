"""Merge-on-read of four overlapping runs under each merge engine, as a ratio to reading the same files without merging.

    python -m benchmarks.merge_engines                 # four runs of a million rows
    python -m benchmarks.merge_engines --rows 100000 --only partial

Both sides read the same columns of the same files in this process on one thread and only count rows. Figures are the
minimum CPU seconds (user and system, all threads) of the repetitions, and the ratio of wall times; run it pinned to one
core (``taskset -c 0``) on a machine that is otherwise idle.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from table_format import Schema, Table, load_catalog
from table_format.model.split import DataSplit
from table_format.table.read.scan import Scan

RUNS = 4
GROUPS = {"fields.g.sequence-group": "i1,i2,d1,s1", "fields.h.sequence-group": "i3,l1,d2,s2"}
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "partial-update": {"merge-engine": "partial-update"},
    "partial-update, 2 sequence groups": {"merge-engine": "partial-update", **GROUPS},
    "partial-update, 2 groups with sums": {
        "merge-engine": "partial-update",
        **GROUPS,
        "fields.i1.aggregate-function": "sum",
        "fields.l1.aggregate-function": "sum",
    },
    "aggregation, 5 functions": {
        "merge-engine": "aggregation",
        "fields.l1.aggregate-function": "sum",
        "fields.d1.aggregate-function": "max",
        "fields.d2.aggregate-function": "min",
        "fields.s1.aggregate-function": "last_non_null_value",
        "fields.s2.aggregate-function": "first_value",
        "fields.default-aggregate-function": "last_value",
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each of the four runs")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="only engines whose name contains this")
    arguments = parser.parse_args()
    print(f"{'engine':<38}{'rows in':>11}{'rows out':>11}{'raw CPU s':>11}{'merged':>9}{'ratio':>7}{'wall':>7}")
    for name, options in ENGINES.items():
        if arguments.only in name:
            with tempfile.TemporaryDirectory() as scratch:
                table = _table(Path(scratch), options, arguments.rows)
                _report(name, table, arguments.rows, arguments.repeat)


def _report(name: str, table: Table, rows: int, repeat: int) -> None:
    scan = table.scan()
    splits = scan.plan().splits
    raw = [replace(split, raw_convertible=True) for split in splits]
    rows_out, merged_cpu, merged_wall = _least(lambda: _read(scan, splits), repeat)
    rows_in, raw_cpu, raw_wall = _least(lambda: _read(scan, raw), repeat)
    assert rows_in == RUNS * rows, rows_in  # noqa: S101 - the input must be right
    ratio, wall = merged_cpu / raw_cpu, merged_wall / raw_wall
    shown = f"{rows_in:>11,}{rows_out:>11,}{raw_cpu:>11.3f}{merged_cpu:>9.3f}{ratio:>7.2f}{wall:>7.2f}"
    print(f"{name:<38}{shown}", flush=True)


def _read(scan: Scan, splits: tuple[DataSplit, ...] | list[DataSplit]) -> int:
    return sum(batch.num_rows for split in splits for batch in scan.read(split))


def _least(run: Callable[[], int], repeat: int) -> tuple[int, float, float]:
    """Return rows, CPU seconds and wall seconds. The first call is not counted."""
    rows = run()
    times = []
    for _ in range(repeat):
        cpu, wall = time.process_time(), time.perf_counter()
        run()
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
    return rows, min(cpu for cpu, _ in times), min(wall for _, wall in times)


def _table(scratch: Path, options: dict[str, str], rows: int) -> Table:
    catalog = load_catalog({"warehouse": str(scratch)})
    catalog.create_database("bench")
    runs = list(_runs(rows))
    given = {"bucket": "1", "write-only": "true", **options}
    table = catalog.create_table("bench.t", Schema.from_arrow(runs[0].schema, primary_keys=["k"], options=given))
    for run in runs:
        table.append(run)
    return table


def _runs(rows: int) -> Iterator[pa.Table]:
    """Keys out of twice as many; one value in ten is null, sequences mostly ascend."""
    words = pa.array([f"value-{n:014d}" for n in range(1000)])
    for age in range(RUNS):
        rng = np.random.default_rng(age)
        keys = np.sort(rng.choice(2 * rows, rows, replace=False, shuffle=False))
        columns: dict[str, pa.Array] = {"k": pa.array(keys)}
        for name in ("g", "h"):
            columns[name] = _with_nulls(rng, pa.array(age * 10 + rng.integers(0, 20, rows, dtype=np.int32)))
        for name in ("i1", "i2", "i3"):
            columns[name] = _with_nulls(rng, pa.array(rng.integers(0, 1000, rows, dtype=np.int32)))
        columns["l1"] = _with_nulls(rng, pa.array(rng.integers(0, 2**40, rows)))
        for name in ("d1", "d2"):
            columns[name] = _with_nulls(rng, pa.array(rng.random(rows)))
        for name in ("s1", "s2"):
            columns[name] = _with_nulls(rng, words.take(pa.array(rng.integers(0, 1000, rows))))
        run = pa.table(columns)
        yield run.cast(pa.schema([f.with_nullable(f.name != "k") for f in run.schema]))


def _with_nulls(rng: np.random.Generator, values: pa.Array) -> pa.Array:
    present = rng.random(len(values)) >= 0.1
    return values.take(pa.array(np.arange(len(values)), mask=~present))


if __name__ == "__main__":
    main()
