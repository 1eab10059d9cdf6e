"""Streaming queries that stop and continue beside random steps on a table: what they have read is what the table holds.

    python -m tests.spark.stream.followed_queries --count 200 --seed 1

The histories and laws are those of ``tests.table.read.followed_tables``. The source runs in this process, in
Spark's order of calls; offsets are texts.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from table_format.errors import SchemaChanged
from tests.spark.stream.micro_batches import Checkpoint, Run, source_of
from tests.support.searches import follow_steps, run_search, total_seen
from tests.support.table_history import History, drawn_shape, rows_by_id
from tests.support.tables import disk_warehouse
from tests.table.read.followed_tables import ENDS, Position, Reader

STEPS = 25
SMALL_SPLITS = {"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"}


class Query(Reader):
    """A streaming query with a checkpoint. Each poll is a new process of it, or the same one."""

    def __init__(self, history: History, name: str, scratch: Path, options: dict[str, str]) -> None:
        super().__init__(history, "query", name)
        self.scratch, self.options, self.number = scratch, options, 0
        self.checkpoint = Checkpoint(scratch / f"{name}-0")
        self.query: Run | None = None
        self.is_protected = False
        """Whether a consumer must keep what the query has not read: Spark has asked for more after the state."""

    def poll(self) -> None:
        """Run some micro-batches."""
        if self.query is None or self.draw.random() < 0.6:
            self.open()
        for _ in range(self.draw.randrange(1, 5)):
            if not self.next():
                return

    def open(self) -> None:
        self.table = self.history.opened()
        if self.position.last is None:
            self.generation = self.history.generation
            self.position = Position(compared=frozenset(f.id for f in self.table.schema.fields))
        source = source_of(self.table, {"read.changelog": "true", **self.options}, tasks=self.draw.randrange(1, 4))
        self.query = Run(source, self.checkpoint)

    def restart(self, why: str) -> None:
        """Begin with a new checkpoint."""
        super().restart(why)
        self.number += 1
        self.is_protected = False
        self.checkpoint, self.query = Checkpoint(self.scratch / f"{self.name}-{self.number}"), None
        self.history.opened().delete_consumer(self.options.get("consumer-id", self.name))

    def next(self) -> bool:
        """Run one micro-batch; whether there may be more."""
        assert self.query is not None
        replaced, is_new = self.is_replaced(), self.generation != self.history.generation
        retained = [snapshot.id for snapshot in self.history.opened().snapshots()]
        offsets = self.checkpoint.offsets[: self.checkpoint.committed]
        last = json.loads(offsets[-1]) if offsets else None
        asks_after_state = last is not None and (last["read"] == last["splits"] or last["snapshot"] != last["first"])
        try:
            more = self.query.trigger()
        except SchemaChanged:
            self.seen["schema changed"] += 1
            self.open()
            return True
        except ENDS as error:
            is_protected = "consumer-id" in self.options and self.is_protected
            self.end(error, replaced=replaced, is_new=is_new, is_protected=is_protected)
            return False
        self.is_protected = self.is_protected or asks_after_state
        if is_new and self.position.last is not None:
            self.fail("the table was created again")
        if replaced:
            if "consumer-id" not in self.options and self.position.last not in retained:
                self.restart("nobody has kept the snapshot that was replaced")
                return False
            self.fail("the snapshots were replaced")
        self.fold_batch(more=more)
        return more

    def fold_batch(self, *, more: bool) -> None:
        assert self.query is not None
        assert self.table is not None
        before, latest = self.position.last, self.history.latest
        if not more:
            if before is None or latest is None:
                return
            now, end, rows = latest.snapshot.id, None, []
        else:
            end, rows = self.query.batches[-1]
            now = end["snapshot"]
        self.history.log.append(f"  {self.name} reads to {end and (now, end['read'], end['splits'])}: {rows[:12]}")
        self.seen["batches"] += more
        hidden = any(self.hides(number) for number in range(now + 1 if before is None else before + 1, now + 1))
        held = dict(self.position.rows)
        kept = self.position
        self.position = replace(kept, tainted=kept.tainted or hidden)
        self.apply(held, self.changes(rows))
        state = self.history.states[now]
        is_whole = end is None or end["read"] == end["splits"]
        self.position = replace(self.position, rows=held)
        if is_whole and not self.position.tainted and self.is_comparable(state):
            self.compare(state)
        if end is None:
            self.position = replace(self.position, tainted=kept.tainted)  # it is still before these snapshots
        else:
            self.position = replace(self.position, last=now, identity=state.identity)

    def changes(self, rows: list[tuple[Any, ...]]) -> list[tuple[str, Any]]:
        assert self.table is not None
        if not rows:
            return []
        fields = {f.name: f.id for f in self.table.schema.fields}
        kinds, *columns = zip(*rows, strict=True)
        table = pa.table({name: list(values) for name, values in zip(fields, columns, strict=True)})
        return list(zip(kinds, rows_by_id(table, fields), strict=True))


def search(seed: int, steps: int = STEPS) -> Counter[str]:
    """Follow one table with two queries; what they have met."""
    with tempfile.TemporaryDirectory(prefix="followed-") as scratch:
        return _search(seed, Path(scratch), steps)


def _search(seed: int, scratch: Path, steps: int) -> Counter[str]:
    draw = random.Random(seed)
    shape = drawn_shape(draw)
    shape = replace(shape, options={**shape.options, **(SMALL_SPLITS if draw.random() < 0.5 else {})})
    history = History(disk_warehouse(scratch / "warehouse"), draw, shape)
    limit = {"read.stream.maxFilesPerTrigger": "1"}
    queries = [
        Query(history, "plain", scratch, limit if draw.random() < 0.5 else {}),
        Query(history, "consumer", scratch, {"consumer-id": "q", **(limit if draw.random() < 0.5 else {})}),
    ]
    follow_steps(history, queries, steps)
    return total_seen(queries)


def main() -> int:
    """Search, and print what the queries have met."""
    return run_search(search, "tests.spark.stream.followed_queries", __doc__)


if __name__ == "__main__":
    sys.exit(main())
