"""The savings of file indexes: ``python -m benchmarks.file_indexes``.

The queries of an operational table - one key, a few keys, a range, a rare value, several common values at once - over
200 and over 2,000 files, by this project with indexes and without, on Spark, by plain Spark, by DuckDB and by the real
Apache Paimon, all over the same Parquet files; then aggregates that need only indexes. Engines take turns query by
query, the first round warms up, and a figure is the median of the other rounds. All engines must find the same rows.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.index_engines import DuckDb, Engine, InProcess, OnSpark, PlainSpark, RealPaimon, Rows, in_order
from benchmarks.index_tables import SalesTable
from benchmarks.measure import Cost, medians, timed
from benchmarks.spark_session import session

ROOT = Path(__file__).parent.parent
ORACLE = Path(os.environ.get("PAIMON_ORACLE_DIR", ROOT / ".oracle"))
YARDSTICK = PlainSpark.name
BARS = {"absent key": 0.03, "present key": 0.05}
"""The maximum ratio of the wall time of this project in one process to that of plain Spark."""

LONG_S = 20.0
"""An engine that takes longer for a query runs it only once after warming up."""

Figures = dict[str, dict[str, Cost]]
"""Costs by query and engine."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", default="200,2000")
    arguments.add_argument("--file-rows", type=int, default=5_000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "lakehouse-bench")
    arguments.add_argument("--without", default="", help="engines to leave out, by a part of their names")
    arguments.add_argument("--write", type=Path, help="also write the tables to this Markdown file")
    chosen = arguments.parse_args()
    tables = [
        SalesTable(chosen.scratch / f"sales-{files}-{chosen.file_rows}", int(files), chosen.file_rows)
        for files in chosen.files.split(",")
    ]
    for table in tables:
        table.make()
    spark = session(chosen.scratch)
    found: dict[int, Figures] = {}
    lines: list[str] = []
    for table in tables:
        engines: list[Engine] = [
            PlainSpark(spark, table),
            InProcess(table, uses_indexes=True),
            InProcess(table, uses_indexes=False),
            OnSpark(spark, table),
            DuckDb(table),
        ]
        with tempfile.TemporaryDirectory(dir=chosen.scratch) as classes:
            if (ORACLE / "jars").exists():
                engines.append(RealPaimon(table, ORACLE, Path(classes)))
            taking_part = [e for e in engines if not any(part and part in e.name for part in chosen.without.split(","))]
            queries = {query.name: (lambda engine, query=query: engine.find(query)) for query in table.queries}
            queries |= {each.name: (lambda engine, each=each: engine.aggregate(each)) for each in table.aggregations}
            queries |= {each.name: (lambda engine, each=each: engine.first(each)) for each in table.first_rows}
            found[table.files] = measured(taking_part, queries, chosen.rounds)
            for engine in engines:
                if isinstance(engine, RealPaimon):
                    engine.close()
        of_table = [*report(table, found[table.files]), *plans(table)]
        print("\n".join(of_table), flush=True)
        lines += of_table
    spark.stop()
    growths = list(growth(found))
    print("\n".join(growths))
    if chosen.write:
        chosen.write.write_text("\n".join([*lines, *growths]) + "\n")


def measured(engines: Sequence[Engine], queries: dict[str, Callable[[Engine], Rows | None]], rounds: int) -> Figures:
    """Return the median cost of each query in each engine.

    Raises:
        SystemExit: two engines find different rows, so the figures would mean nothing.
    """
    costs: dict[str, dict[str, list[Cost]]] = {name: {engine.name: [] for engine in engines} for name in queries}
    for number in range(rounds + 1):
        for name, query in queries.items():
            answers: dict[str, Rows] = {}
            for engine in engines:
                known = costs[name][engine.name]
                if engine.name != YARDSTICK and known and known[-1].wall_s > LONG_S:
                    continue
                cost, rows = timed(engine.processes, lambda engine=engine, query=query: query(engine))
                if rows is not None:
                    answers[engine.name] = in_order(rows)
                    costs[name][engine.name] += [cost] * (number > 0)
                    if number:
                        shown = f"{1000 * cost.wall_s:9.1f} ms, CPU {1000 * cost.cpu_s:9.1f} ms"
                        print(f"{name:20} {engine.name:30} {shown}, {cost.read_bytes / 1e6:8.2f} MB", flush=True)
            first = answers[YARDSTICK]
            differing = {name: len(rows) for name, rows in answers.items() if rows != first}
            if differing:
                message = f"'{name}': {YARDSTICK} found {len(first)} rows, and other ones found {differing}"
                raise SystemExit(message)
    return {
        name: {engine: medians(found) for engine, found in by_engine.items() if found}
        for name, by_engine in costs.items()
    }


def report(table: SalesTable, figures: Figures) -> Iterator[str]:
    """Yield a line for each query: plain Spark, and the ratios of the other engines to it."""
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    yield f"{table.files:,} files of {table.file_rows:,} rows; wall / CPU ratio to plain Spark (MB read). {machine}."
    yield ""
    names = [name for name in next(iter(figures.values())) if name != YARDSTICK]
    yield f"| query | {YARDSTICK}: wall / CPU (MB read) | {' | '.join(names)} |"
    yield "|---" * (len(names) + 2) + "|"
    for query, found in figures.items():
        base = found[YARDSTICK]
        first = f"{base.wall_s:.2f} s / {base.cpu_s:.2f} s ({_mb(base)})"
        cells = [_cell(found[name], base) if name in found else "-" for name in names]
        yield f"| {query} | {first} | {' | '.join(cells)} |"
    yield ""
    for query, bar in BARS.items():
        ratio = figures[query]["this project, one process"].wall_s / figures[query][YARDSTICK].wall_s
        yield f"{query}: {ratio:.4f} of plain Spark, {'holds' if ratio <= bar else 'FAILS'} the bar of {bar}"
    yield ""


def plans(table: SalesTable) -> Iterator[str]:
    """Yield what this project must read for each query."""
    yield "| query | files read | rows selected by indexes, of those stored in these files |"
    yield "|---|---|---|"
    for query in table.queries:
        plan = table.open().scan(filter=query.sql).plan()
        chosen = sum(len(s) for split in plan for s in split.selections if s is not None)
        yield f"| {query.name} | {plan.file_count} | {chosen or '-'} of {plan.row_count} |"
    yield ""


def growth(found: dict[int, Figures]) -> Iterator[str]:
    """Yield how much longer the larger table takes."""
    if len(found) < 2:
        return
    small, large = min(found), max(found)
    names = list(next(iter(found[small].values())))
    yield f"Wall time over {large:,} files in that over {small:,}, with {large / small:.0f} times the rows:"
    yield ""
    yield f"| query | {' | '.join(names)} |"
    yield "|---" * (len(names) + 1) + "|"
    for query, by_engine in found[small].items():
        cells = [
            f"{found[large][query][name].wall_s / by_engine[name].wall_s:.1f}" if name in by_engine else "-"
            for name in names
        ]
        yield f"| {query} | {' | '.join(cells)} |"


def _cell(cost: Cost, base: Cost) -> str:
    return f"{cost.wall_s / base.wall_s:.3f} / {cost.cpu_s / base.cpu_s:.3f} ({_mb(cost)})"


def _mb(cost: Cost) -> str:
    megabytes = cost.read_bytes / 1e6
    return f"{megabytes:.0f}" if megabytes >= 100 else f"{megabytes:.2f}"


if __name__ == "__main__":
    main()
