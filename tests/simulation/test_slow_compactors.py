"""A writer, two compactors and an expirer of one table in any order, one compactor slower than snapshots are retained.

Nobody fails: a compactor drops the buckets that were taken from under it, and no read ever changes but by a write.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from table_format import Schema, Table, load_catalog
from table_format.errors import BucketLost
from table_format.model.commit import CommitMessage
from table_format.table.facts import TableFacts
from table_format.table.upkeep.bucket_compaction import Work, compact, outcomes_of
from tests.simulation.settings import FLOOR_MS
from tests.simulation.store import FaultyFileIO, SharedStore
from tests.simulation.test_every_call import SCHEMA, rows
from tests.simulation.world import Actor, World
from tests.support.reachable import check_files

MARKS = {"deletion-vectors.enabled": "true"}
TABLES: list[tuple[bool, dict[str, str]]] = [
    (True, {"bucket": "1"}),
    (True, {"bucket": "1", **MARKS}),
    (True, {"bucket": "2", "changelog-producer": "lookup"}),
    (False, {"compaction.min.file-num": "2"}),
]
WRITES = 10


class Run:
    """One world; ``expected`` is what the writer has committed so far."""

    def __init__(self, seed: str, keyed: bool, options: dict[str, str]) -> None:
        self.world = World(seed)
        self.shared = SharedStore(self.world)
        self.keyed = keyed
        self.expected: dict[tuple[int, str], int] = {}
        self.seen: Counter[str] = Counter()
        self.is_written = False
        catalog = load_catalog({"warehouse": "/w"}, file_io=self.shared.files)
        catalog.create_database("db")
        given = {"write-only": "true", "commit.max-retries": "100", **options}
        schema = Schema.from_arrow(SCHEMA, ["k", "p"] if keyed else [], ["p"], given)
        catalog.create_table("db.t", schema)
        for name, body in (("w", self.writer), ("slow", self.compactor), ("fast", self.compactor), ("x", self.expirer)):
            self.world.add_actor(name, body)

    def table(self, actor: Actor | None = None) -> Table:
        io = self.shared.files if actor is None else FaultyFileIO(self.shared, actor)
        runtime = None if actor is None else actor.runtime
        found = load_catalog({"warehouse": "/w"}, file_io=io, runtime=runtime).load_table("db.t")
        assert isinstance(found, Table)
        return found

    def writer(self, actor: Actor) -> None:
        chance = random.Random(f"{self.world.seed} writer")
        for number in range(WRITES):
            actor.runtime.clock.sleep_ms(chance.randint(100, 3 * FLOOR_MS))
            keys = chance.sample(range(12), 4) if self.keyed else range(number * 4, number * 4 + 4)
            changes = {(k, "ab"[k % 2]): number for k in keys}
            self.table(actor).append(rows(*((k, p, v) for (k, p), v in changes.items())))
            self.expected |= changes
        self.is_written = True

    def compactor(self, actor: Actor) -> None:
        chance = random.Random(f"{self.world.seed} {actor.name}")
        slowest_ms = {"slow": 3 * FLOOR_MS, "fast": 100}[actor.name]
        while not self.is_written:
            actor.runtime.clock.sleep_ms(chance.randint(100, FLOOR_MS))
            facts = self.table(actor).facts
            full = chance.random() < 0.8

            def one_by_one(
                pieces: Sequence[Work], facts: TableFacts = facts, full: bool = full
            ) -> Iterator[CommitMessage | BucketLost]:
                for work in pieces:
                    actor.runtime.clock.sleep_ms(chance.randint(1, slowest_ms))
                    yield from outcomes_of(facts, work, full=full)

            report = compact(facts, f"{actor.name} {self.world.now_ms}", full=full, perform=one_by_one)
            self.seen["compacted"] += len(report.buckets)
            self.seen["expired under way"] += sum("start again" in bucket.reason for bucket in report.dropped)

    def expirer(self, actor: Actor) -> None:
        while not self.is_written:
            actor.runtime.clock.sleep_ms(FLOOR_MS // 2)
            now_ms = actor.runtime.clock.now_ms()
            report = self.table(actor).expire_snapshots(
                retain_min=1, retain_max=1, older_than_ms=now_ms, retain_floor_ms=FLOOR_MS
            )
            self.seen["expired"] += len(report.snapshot_ids)

    def check(self) -> None:
        table = self.table()
        if table.options.skips_level_0:
            table.compact(full=True)
        found = table.scan().to_arrow(threads=1).to_pylist()
        assert sorted((r["k"], r["p"], r["v"]) for r in found) == sorted(
            (k, p, v) for (k, p), v in self.expected.items()
        )
        check_files(table)


@pytest.mark.parametrize(("keyed", "options"), TABLES)
def test_nobody_fails_of_files_that_others_took(keyed: bool, options: dict[str, str]) -> None:
    seen: Counter[str] = Counter()
    for seed in range(6):
        run = Run(f"{seed}", keyed, options)
        run.world.run()
        run.check()
        seen += run.seen
    assert all(seen[what] > 1 for what in ("compacted", "expired", "expired under way")), seen
