"""Streaming queries of Spark whose processes are killed: their targets equal their sources.

    python -m tests.spark.stream.killed_queries --count 60 --seed 1

``count`` is the number of kills. Nine of ten strike a Python process of a running session: the one that plans
micro-batches, one that runs a task, one that commits, or the one that starts these. The tenth strikes the session, JVM
and all. This process writes to the sources meanwhile. Every row of an append table has to arrive once, and a copy that
follows the changelog of a table with a primary key has to be equal to it.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Final

import pyarrow as pa

from table_format import Table
from tests.support.tables import Warehouse, disk_warehouse, keyed, rows_of

ROOT: Final = Path(__file__).resolve().parents[3]
RUNNING, SEEN, WAITING = "RUNNING", "KILLED", "WAITING"
DAEMON: Final = "pyspark.daemon"
CHANGES: Final = "changes"
QUERIES: Final = (CHANGES, "rows")
PER_SESSION: Final = 9
KEYS: Final = 40
LIFE_S: Final = 900.0
"""A session that takes longer is assumed to hang."""


class Sources:
    """The two source tables, and the rows that are written to them."""

    def __init__(self, directory: Path, chance: random.Random) -> None:
        self.random = chance
        self.warehouse: Warehouse = disk_warehouse(directory / "warehouse")
        own = {"changelog-producer": "input", "bucket": "2"}
        self.tables = {
            CHANGES: self.warehouse.table(CHANGES, primary_keys=["id"], options=own),
            "rows": self.warehouse.table("rows"),
        }
        self.warehouse.table(f"copy_{CHANGES}", primary_keys=["id"], options={"bucket": "2"})
        self.warehouse.table("copy_rows")
        self.next_id = 0

    def write(self) -> None:
        """Write some rows to both tables."""
        count = self.random.randrange(1, 20)
        rows = [(self.next_id + n, "d", self.random.randrange(1000)) for n in range(count)]
        self.next_id += count
        self.tables["rows"].append(keyed(rows))
        ids = sorted(self.random.sample(range(KEYS), count))
        changes = keyed([(id, "d", self.random.randrange(1000)) for id in ids])
        kinds = [self.random.choice(("+I", "+U", "-D")) for _ in ids]
        self.tables[CHANGES].append(changes.append_column("_row_kind", pa.array(kinds)))

    def compare(self) -> None:
        """Check that both copies equal their sources."""
        for name in QUERIES:
            copy = self.warehouse.catalog.load_table(f"db.copy_{name}")
            assert isinstance(copy, Table)
            found, expected = rows_of(copy), rows_of(self.warehouse.reopened(self.tables[name]))
            assert found == expected, f"{name}: {set(found) ^ set(expected)}, {len(found)} rows of {len(expected)}"


def live(directory: Path, sources: Sources, seed: int, kills: int) -> Counter[str]:
    """Run one session with a number of kills, the last of which kills the session. Return what was killed."""
    struck: Counter[str] = Counter()
    log = (directory / f"log-{seed}").open("w")
    with (
        log,
        subprocess.Popen(
            [sys.executable, "-m", "tests.spark.stream.killed_session", directory, str(seed), str(kills)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        ) as session,
    ):
        deadline = threading.Timer(LIFE_S, os.killpg, (session.pid, signal.SIGKILL))
        deadline.start()
        try:
            assert session.stdout is not None
            for line in session.stdout:
                if line.startswith((RUNNING, WAITING)):
                    sources.write()
                    sources.write()
                if line.startswith(SEEN):
                    struck[line.split()[1]] += 1
                if line.startswith(WAITING):
                    time.sleep(sources.random.random() * 4)
                    os.killpg(session.pid, signal.SIGKILL)
                    struck["session"] += 1
        finally:
            deadline.cancel()
            if session.poll() is None and kills:
                os.killpg(session.pid, signal.SIGKILL)
    is_ended = struck["session"] == 1 if kills else session.returncode == 0
    assert is_ended, Path(log.name).read_text()[-4000:]
    return struck


def main() -> int:
    """Kill processes, and print which ones were killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.stream.killed_queries", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="kills in all")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="killed-queries-"))
    sources = Sources(directory, random.Random(arguments.seed))
    struck: Counter[str] = Counter()
    began, seed = time.monotonic(), arguments.seed
    while struck.total() < arguments.count:
        struck += live(directory, sources, seed, PER_SESSION)
        seed += 1
        print(f"{time.monotonic() - began:5.0f} s, {struck.total()} kills: {dict(struck)}", flush=True)
    live(directory, sources, seed, 0)
    sources.compare()
    print(f"{struck.total()} kills, {sources.next_id} rows, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
