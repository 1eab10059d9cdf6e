"""A Spark session with two streaming queries, whose Python processes are killed one after the other.

    python -m tests.spark.stream.killed_session <directory> <seed> <kills>

It prints a line before each kill, and a last one when it waits to be killed itself. Without kills it lets both queries
read what is there, and ends.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException

from benchmarks.measure import process_tree
from table_format.spark import Lake, paimon
from tests.spark.stream.killed_queries import CHANGES, DAEMON, QUERIES, RUNNING, SEEN, WAITING
from tests.support.spark_session import local_session

READ = {"read.stream.maxFilesPerTrigger": "1", "scan.mode": "latest-full", "consumer-id": "query"}
ONCE = ("lookup_data_sources", "create_data_source")
START_S = 30.0
"""A query that has read nothing after this time is killed anyway."""
END_S = 60.0
"""The time after which the session ends itself, which means that the killing process failed."""


class Queries:
    """The lake and its two queries: one of a keyed table's changes, one of an append table's rows."""

    def __init__(self, lake: Lake, directory: Path, chance: random.Random) -> None:
        self.lake, self.directory, self.random = lake, directory, chance
        self.running: list[Any] = []

    def start(self, **trigger: bool) -> None:
        """Start both queries where they stopped."""
        self.running = [self._started(name, trigger or {"processingTime": "0 seconds"}) for name in QUERIES]

    def _started(self, name: str, trigger: dict[str, Any]) -> Any:
        checkpoint, target = str(self.directory / f"checkpoint-{name}"), f"db.copy_{name}"
        if name != CHANGES:
            rows = self.lake.read_stream(f"db.{name}", **READ)
            if self.random.random() < 0.5:
                return self.lake.write_stream(rows, target, checkpoint=checkpoint, trigger=trigger)
        else:
            rows = self.lake.read_stream(f"db.{name}", **READ, **{"read.changelog": "true"})
            rows = rows.withColumnRenamed("rowkind", "_row_kind")
        writer = rows.writeStream.format("paimon").option("checkpointLocation", checkpoint).trigger(**trigger)
        return writer.start(self.lake.catalog.load_table(target).store.paths.root)

    def wait(self) -> None:
        """Wait for some time, mostly from the end of the first micro-batch on."""
        began = time.monotonic()
        if self.random.random() < 0.8:
            while not any(query.lastProgress for query in self.running) and time.monotonic() - began < START_S:
                time.sleep(0.05)
        time.sleep(self.random.random() * 2)

    def stop(self) -> None:
        """Stop both queries, dead or alive."""
        for query in self.running:
            query.stop()

    def ends(self) -> bool:
        """Return whether one of the queries fails soon."""
        try:
            return any(query.awaitTermination(0.3) for query in self.running)
        except StreamingQueryException:
            return True


def python_processes() -> Iterator[tuple[int, str]]:
    """Yield Spark's Python processes below this one, and what each does."""
    for process in process_tree(os.getpid()):
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if process != os.getpid() and DAEMON in words:
            yield process, words[words.index(DAEMON) + 1]


def kill_one(chance: random.Random) -> str:
    """Kill one of Spark's Python processes, as soon as there is one. Return what it did."""
    began = time.monotonic()
    kinds: dict[str, list[int]] = {}
    while not kinds:
        if time.monotonic() - began > START_S:
            return "nothing"
        for process, kind in python_processes():
            kinds.setdefault(kind, []).append(process)
    # What opens the data source lives as long as the session; most kills are for what runs a query.
    of_queries = [kind for kind in sorted(kinds) if not kind.endswith(ONCE)]
    kind = chance.choice(of_queries if of_queries and chance.random() < 0.9 else sorted(kinds))
    os.kill(chance.choice(kinds[kind]), signal.SIGKILL)
    return kind


def main(directory: Path, seed: int, kills: int) -> None:
    chance = random.Random(seed)
    spark = local_session(directory / "spark")
    queries = Queries(paimon(spark, {"warehouse": str(directory / "warehouse")}), directory, chance)
    for _ in range(kills):
        print(RUNNING, flush=True)
        queries.start()
        queries.wait()
        print(SEEN, kill_one(chance), flush=True)
        began = time.monotonic()
        while not queries.ends() and time.monotonic() - began < 1:
            pass
        queries.stop()
    if kills:
        queries.start()
        print(WAITING, flush=True)
        time.sleep(END_S)
        return
    queries.start(availableNow=True)
    for query in queries.running:
        query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
