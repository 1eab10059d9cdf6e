"""Queries that die at any step and are started again, beside random writes: what they wrote is what the table holds.

    python -m tests.spark.stream.restarts --count 500 --seed 1

``count`` is the number of deaths in all. Half of the tables have a primary key, with every changelog producer; their
changelog is written to a copy, which must be equal to the table at the end, and so must be the changes, folded by key.
Of append tables every row must arrive once.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from table_format import Table
from table_format.metastore.references.consumers import next_snapshot
from tests.spark.stream.micro_batches import Checkpoint, KilledError, Run, Sink, source_of
from tests.support.tables import Warehouse, disk_warehouse, keyed, rows_of

LIMITS = (
    {},
    {"read.stream.maxFilesPerTrigger": "1"},
    {"read.stream.maxRowsPerTrigger": "5"},
    {"read.stream.maxBytesPerTrigger": "4000"},
)
PRODUCERS = ("none", "input", "lookup", "full-compaction")
CONSUMER = "query"
FUTURE = 1 << 60
MODES = ("latest-full", "default", "compacted-full")


class Search:
    """One table, its copy, and the query between them."""

    def __init__(self, warehouse: Warehouse, seed: int, scratch: Path) -> None:
        self.random = random.Random(seed)
        self.is_keyed = self.random.random() < 0.7
        self.producer = self.random.choice(PRODUCERS) if self.is_keyed else "none"
        keys = ["id"] if self.is_keyed else []
        options = {"changelog-producer": self.producer} if self.is_keyed else {}
        splits = {"source.split.target-size": "1 kb", "source.split.open-file-cost": "1 b"}
        self.source = warehouse.table(f"s{seed}", primary_keys=keys, options={**options, **splits})
        self.copy = warehouse.table(f"c{seed}", primary_keys=keys)
        self.warehouse = warehouse
        self.checkpoint = Checkpoint(scratch / f"checkpoint-{seed}")
        self.options = {**self.random.choice(LIMITS), "consumer-id": CONSUMER, "scan.mode": self.random.choice(MODES)}
        if self.is_keyed:
            self.options["read.changelog"] = "true"
        else:
            self.options["scan.mode"] = "latest-full"
        self.deaths: Counter[str] = Counter()
        self.log: list[tuple[Any, ...]] = []
        self.next_id = 0
        self.rollbacks = 0

    def run(self, deaths: int) -> None:
        """Write, run the query and kill it, so many times; then let it end, and compare."""
        self.write()
        while self.deaths.total() < deaths:
            for _ in range(self.random.randrange(3)):
                self.write()
            self.live(self.random.random() * 0.5)
        if self.producer == "full-compaction":
            self.opened().compact(full=True)
        self.live(0)
        self.compare()

    def opened(self) -> Table:
        return self.warehouse.reopened(self.source)

    def write(self, *, may_roll_back: bool = True) -> None:
        """Write some rows, and sometimes compact, expire everything that the query has read, or remove snapshots that
        it has not read.
        """
        chance = self.random.random()
        if chance < 0.15:
            self.opened().compact(full=True)
        elif chance < 0.3 and next_snapshot(self.source.store, CONSUMER) is not None:
            # No consumer keeps a partially read state.
            self.opened().expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0)
        elif chance > 0.9 and may_roll_back:
            self.roll_back()
        else:
            self.append()

    def roll_back(self) -> None:
        """Remove the snapshots after the logged position of the query."""
        table, logged = self.opened(), self.checkpoint.offsets
        read = json.loads(logged[-1])["snapshot"] if logged else 0
        ids = [snapshot.id for snapshot in table.snapshots()]
        if read in ids and read < ids[-1]:
            table.rollback_to(read)
            self.rollbacks += 1

    def append(self) -> None:
        """Append rows with new and old keys, and deletes."""
        ids = (
            sorted(self.random.sample(range(30), self.random.randrange(1, 12)))
            if self.is_keyed
            else [self.next_id + n for n in range(self.random.randrange(1, 12))]
        )
        self.next_id += len(ids)
        rows = keyed([(id, "d", self.random.randrange(1000)) for id in ids])
        if self.is_keyed and self.random.random() < 0.5:
            kinds = [self.random.choice(("+I", "+U", "-D")) for _ in ids]
            rows = rows.append_column("_row_kind", pa.array(kinds))
        self.opened().append(rows)

    def live(self, chance_to_die: float) -> None:
        """Run the query until it has nothing more to do or dies."""

        def step(name: str) -> None:
            if self.random.random() < chance_to_die:
                self.deaths[name] += 1
                raise KilledError(name)
            if chance_to_die and self.random.random() < 0.1:
                # Otherwise, an end may be planned that is not logged yet.
                self.write(may_roll_back=name == "before the batch is logged")

        source = source_of(self.source, self.options, tasks=self.random.randrange(1, 4))
        sink = Sink(self.copy, self.checkpoint, with_kinds=self.is_keyed)
        run = Run(source, self.checkpoint, sink, step)
        finished = self.checkpoint.committed
        try:
            run.available_now()
        except KilledError:
            pass
        finally:
            # Of the last micro-batch a repetition will show the rows again.
            for _, rows in run.batches[: self.checkpoint.committed - finished]:
                self.log += rows

    def compare(self) -> None:
        """Check that the copy and the folded changes equal the table."""
        expected = rows_of(self.opened())
        assert rows_of(self.warehouse.reopened(self.copy)) == expected, self.describe()
        assert self.folded() == expected, self.describe()

    def folded(self) -> list[tuple[Any, ...]]:
        if not self.is_keyed:
            return sorted(self.log, key=repr)
        state: dict[int, tuple[Any, ...]] = {}
        for kind, *row in self.log:
            if kind in ("+I", "+U"):
                state[row[0]] = tuple(row)
            else:
                state.pop(row[0], None)
        return sorted(state.values(), key=repr)

    def describe(self) -> str:
        return f"{self.source.identifier}: {self.producer} {self.options}"


def search(seed: int, deaths: int, scratch: Path) -> Search:
    """Search one table with so many deaths of its query."""
    found = Search(disk_warehouse(scratch / f"warehouse-{seed}"), seed, scratch)
    found.run(deaths)
    return found


def main() -> int:
    """Search, and print the crashes by step."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.stream.restarts", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="deaths in all")
    parser.add_argument("--seed", type=int, default=1, help="the first table")
    arguments = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="restarts-"))
    deaths: Counter[str] = Counter()
    seed, rollbacks = arguments.seed, 0
    while deaths.total() < arguments.count:
        found = search(seed, 10, scratch)
        deaths += found.deaths
        rollbacks += found.rollbacks
        seed += 1
    tables = seed - arguments.seed
    print(f"{tables} tables, {deaths.total()} restarts, {rollbacks} rollbacks, no difference")
    for step, number in sorted(deaths.items()):
        print(f"{number:6} {step}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
