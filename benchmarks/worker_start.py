"""The cost of the first tasks after a pause, with Spark's daemon of Python workers and with that of this library.

``python -m benchmarks.worker_start`` reads a small table with rows to merge: first in a new session, then again, then
after Spark has ended the idle workers. The sessions of the two daemons alternate. A figure is the median, in seconds:
wall time / CPU time of the whole process tree.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from benchmarks.measure import cpu_seconds
from benchmarks.spark_session import session
from table_format import Schema
from table_format.spark import paimon

DAEMONS: Final = {"PySpark": "pyspark.daemon", "this library": "table_format.spark.daemon"}
READS: Final = ("in a new session", "again", "after a pause")
PAUSE: Final = 75.0
"""In seconds. Every ten seconds, Spark ends the workers that have been idle for sixty."""

TABLE: Final = "b.t"
ROWS: Final = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--daemon", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.daemon:
        print(json.dumps(costs(arguments.daemon)))
        return
    rounds = [{name: _in_new_process(module) for name, module in DAEMONS.items()} for _ in range(arguments.rounds)]
    print(f"| daemon | {' | '.join(READS)} |\n|---|---|---|---|")
    for name in DAEMONS:
        cells = [_cell([found[name][number] for found in rounds]) for number in range(len(READS))]
        print(f"| {name} | {' | '.join(cells)} |")


def costs(daemon: str) -> list[tuple[float, float]]:
    """Return the wall and CPU seconds of each read, in a session with this daemon."""
    with tempfile.TemporaryDirectory(prefix="worker-start-") as scratch:
        spark = session(Path(scratch), {"spark.python.daemon.module": daemon})
        lake = paimon(spark, {"warehouse": f"{scratch}/warehouse"})
        lake.catalog.create_database("b")
        schema = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.string())])
        lake.catalog.create_table(TABLE, Schema.from_arrow(schema, ["k"], options={"bucket": "2"}))
        table = lake.catalog.load_table(TABLE)
        for value in ("old", "new"):
            table.append(pa.table({"k": range(ROWS), "v": [value] * ROWS}, schema))
        found = []
        for pause in (0.0, 0.0, PAUSE):
            time.sleep(pause)
            wall, cpu = time.monotonic(), cpu_seconds(os.getpid())
            rows = lake.table(TABLE, **{"spark.read.merged-rows": "merge"}).where("v = 'new'").count()
            found.append((time.monotonic() - wall, cpu_seconds(os.getpid()) - cpu))
            if rows != ROWS:
                message = f"read {rows} rows instead of {ROWS}"
                raise RuntimeError(message)
        spark.stop()
    return found


def _in_new_process(daemon: str) -> list[tuple[float, float]]:
    command = [sys.executable, "-m", "benchmarks.worker_start", "--daemon", daemon]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found: list[tuple[float, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _cell(measured: Sequence[tuple[float, float]]) -> str:
    wall, cpu = (statistics.median(values) for values in zip(*measured, strict=True))
    return f"{wall:.2f} / {cpu:.2f}"


if __name__ == "__main__":
    main()
