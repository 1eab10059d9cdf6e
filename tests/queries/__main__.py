"""``python -m tests.queries --seed 1 --count 20000``: exit code 1 when a result differs."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from table_format.spark import paimon
from tests.queries.run import Outcome, search_table
from tests.queries.sessions import QUICK_SESSION
from tests.queries.tables import DATABASE
from tests.queries.writes import search_writes
from tests.support.spark_session import local_session


def main() -> int:
    """Run and print the totals."""
    parser = argparse.ArgumentParser(prog="python -m tests.queries", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="what tables, queries and writes are drawn from")
    parser.add_argument("--count", type=int, default=20_000, help="queries")
    parser.add_argument("--per-table", type=int, default=50, help="queries on one table")
    parser.add_argument("--first", type=int, default=0, help="the number of the first table")
    parser.add_argument("--table", type=int, help="only the table of that number")
    parser.add_argument("--query", type=int, help="only that query of the table")
    parser.add_argument("--write", type=int, help="only the write of that number")
    parser.add_argument("--writes", type=int, default=200, help="writes")
    arguments = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="queries-"))
    spark = local_session(scratch / "spark", QUICK_SESSION)
    lake = paimon(spark, {"warehouse": str(scratch / "warehouse")})
    lake.catalog.create_database(DATABASE)
    outcome, begun, printed = Outcome(), time.monotonic(), 0
    count, per_table = arguments.count, arguments.per_table
    tables = range(arguments.first, arguments.first + -(-count // per_table))
    for number in tables if arguments.table is None and arguments.write is None else ():
        search_table(lake, arguments.seed, number, per_table, outcome)
        for text in outcome.differences[printed:]:
            print(text, flush=True)
        printed = len(outcome.differences)
        if number % 10 == 9 or number == tables[-1]:
            rate = outcome.queries / (time.monotonic() - begun)
            shown = f"{outcome.tables} tables, {outcome.queries} queries, {len(outcome.differences)} differences"
            print(f"{shown}, {rate:.1f} queries/s", flush=True)
    if arguments.table is not None:
        search_table(lake, arguments.seed, arguments.table, per_table, outcome, arguments.query)
    writes: list[int] = []
    if arguments.table is None:
        first = arguments.first if arguments.write is None else arguments.write
        writes = list(range(first, first + (arguments.writes if arguments.write is None else 1)))
        search_writes(lake, arguments.seed, writes, outcome)
    for text in outcome.differences[printed:]:
        print(text, flush=True)
    spark.stop()
    for feature, times in sorted(outcome.features.items()):
        print(f"{times:>8} {feature}")
    print(f"{outcome.queries} queries, {len(writes)} writes, {len(outcome.differences)} differences")
    return 1 if outcome.differences else 0


if __name__ == "__main__":
    sys.exit(main())
