"""Random work of two clients on one table, and a dictionary that says what every acknowledged step makes of it.

Steps interleave: a compaction meets another and is dropped, one fails after its rows are committed, a statement is
overtaken while it computes its values. ``python -m tests.support.acknowledged --seeds 1000`` searches for longer.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pyarrow as pa

from table_format import Insert, Table, Update
from table_format.errors import ConflictError, KeyPlacesChanged, RowsChanged
from table_format.metastore.commit.commit_loop import CommitLoop
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.runtime import Runtime
from table_format.table.read.scan import Scan
from table_format.table.system.audit_log import AuditLogTable
from tests.support.compaction import AtOnce
from tests.support.moving_keys import with_runtime
from tests.support.tables import keyed, memory_warehouse, rows_of

Model = dict[int, tuple[str, int]]

KEYS = range(8)
MARKS = {"deletion-vectors.enabled": "true"}
LOOKUP = {"changelog-producer": "lookup"}


@dataclass(frozen=True)
class Kind:
    """A kind of table. ``adds`` says that values are summed, ``keeps`` that the first one stays."""

    options: Mapping[str, str] = field(default_factory=dict)
    primary_keys: tuple[str, ...] = ("id",)
    partition_keys: tuple[str, ...] = ()
    adds: bool = False
    keeps: bool = False
    deletes: bool = True

    @property
    def updates(self) -> bool:
        return not (self.adds or self.keeps)

    @property
    def postpones(self) -> bool:
        return self.options.get("bucket") == "-2"

    @property
    def tells_changes(self) -> bool:
        return self.options.get("changelog-producer", "none") in ("lookup", "full-compaction")


ADDS = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
PARTIAL = {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}
FIRST = {"merge-engine": "first-row"}

KINDS: Mapping[str, Kind] = {
    "plain": Kind({"bucket": "2"}),
    "partitioned": Kind({"bucket": "1"}, ("id", "dt"), ("dt",)),
    "marks": Kind({"bucket": "1", **MARKS}),
    "marks of 64 bits": Kind({"bucket": "2", "deletion-vectors.bitmap64": "true", **MARKS}),
    "marks and lookup": Kind({"bucket": "1", **MARKS, **LOOKUP}),
    "marks merged on read": Kind({"bucket": "1", "deletion-vectors.merge-on-read": "true", **MARKS}),
    "gentle marks": Kind({"bucket": "1", "lookup-compact": "gentle", "lookup-compact.max-interval": "7", **MARKS}),
    "lookup": Kind({"bucket": "1", **LOOKUP}),
    "lookup beside": Kind({"bucket": "1", "changelog-producer.lookup-wait": "false", **LOOKUP}),
    "full compaction": Kind({"bucket": "1", "changelog-producer": "full-compaction"}),
    "copy on write": Kind({"bucket": "1", "full-compaction.delta-commits": "1"}),
    "dynamic": Kind({"bucket": "-1", "dynamic-bucket.target-row-num": "3"}),
    "dynamic marks": Kind({"bucket": "-1", "dynamic-bucket.target-row-num": "3", **MARKS}),
    "moving keys": Kind({"bucket": "-1", "dynamic-bucket.target-row-num": "3"}, ("id",), ("dt",)),
    "moving keys and marks": Kind({"bucket": "-1", **MARKS}, ("id",), ("dt",)),
    "postponed": Kind({"bucket": "-2"}),
    "postponed marks": Kind({"bucket": "-2", **MARKS}),
    "partial update": Kind({"bucket": "1", **PARTIAL}),
    "partial update with marks": Kind({"bucket": "1", **PARTIAL, **MARKS}),
    "sums": Kind({"bucket": "1", **ADDS}, adds=True, deletes=False),
    "sums with marks": Kind({"bucket": "1", **ADDS, **MARKS}, adds=True, deletes=False),
    "sums with lookup": Kind({"bucket": "1", **ADDS, **LOOKUP}, adds=True, deletes=False),
    "first row": Kind({"bucket": "1", **FIRST}, keeps=True, deletes=False),
    "first row with lookup": Kind({"bucket": "1", **FIRST, **LOOKUP}, keeps=True, deletes=False),
}


class Run:
    """One table, two clients, and what they were told."""

    def __init__(self, kind: Kind, seed: str, cache: str) -> None:
        self.kind = kind
        self.chance = random.Random(seed)
        self.warehouse = with_runtime(memory_warehouse(), Runtime(cache_directory=cache))
        self.first = self.warehouse.table(
            primary_keys=kind.primary_keys, partition_keys=kind.partition_keys, options=kind.options
        )
        self.second = self.warehouse.reopened(self.first)
        self.model: Model = {}
        self.counter = 0
        self.met: Counter[str] = Counter()
        steps: dict[str, Callable[[], None]] = {
            "append": self.append,
            "append and compaction dropped": self.append_and_compaction_dropped,
            "append and compaction failed": self.append_and_compaction_failed,
            "append write-only": self.append_write_only,
            "append beside": self.append_beside,
            "compact": self.compact,
        }
        if kind.updates:
            steps |= {"update": self.update, "merge": self.merge}
            steps |= {"update overtaken": self.update_overtaken, "append overtaken": self.append_overtaken}
        if kind.deletes:
            steps["delete"] = self.delete
        self.steps = steps

    def step(self) -> None:
        name = self.chance.choice(list(self.steps))
        self.met[name] += 1
        self.steps[name]()
        self.check()

    # --- steps ------------------------------------------------------------------------------------------------------

    @property
    def client(self) -> Table:
        return self.chance.choice((self.first, self.second))

    def rows(self) -> dict[int, tuple[str, int]]:
        self.counter += 10
        keys = self.chance.sample(KEYS, self.chance.randint(1, 4))
        # A key that is part of the partition does not move; one that is not may.
        moves = "dt" not in self.kind.primary_keys and bool(self.kind.partition_keys)
        return {key: (self.chance.choice("ab") if moves else "a", self.counter + key) for key in keys}

    def noted(self, rows: Mapping[int, tuple[str, int]]) -> None:
        for key, (date, value) in rows.items():
            before = self.model.get(key)
            if before is None:
                self.model[key] = (date, value)
            elif self.kind.adds:
                self.model[key] = (before[0], before[1] + value)
            elif not self.kind.keeps:
                self.model[key] = (date, value)

    def append(self) -> None:
        rows = self.rows()
        self.client.append(_table(rows))
        self.noted(rows)

    def append_and_compaction_dropped(self) -> None:
        """Another client compacts the bucket between the write with its compaction and the commit."""
        rows, client = self.rows(), self.client
        messages = client.new_write().write(_table(rows))
        self.warehouse.reopened(client).compact(full=True)
        client.new_commit().commit(messages)
        self.noted(rows)

    def append_and_compaction_failed(self) -> None:
        rows = self.rows()
        with failing_compaction():
            self.client.append(_table(rows))
        self.noted(rows)

    def append_write_only(self) -> None:
        rows = self.rows()
        self.client.copy({"write-only": "true"}).append(_table(rows))
        self.noted(rows)

    def append_beside(self) -> None:
        client, first, second = self.client, self.rows(), self.rows()
        write, user = client.new_write("beside", compactor=AtOnce()), client.new_commit("beside")
        for rows in (first, second):
            self.counter += 1
            user.commit(write.write(_table(rows)), identifier=self.counter)
            self.noted(rows)
        self.counter += 1
        user.commit(write.finish(), identifier=self.counter)

    def append_overtaken(self) -> None:
        """A statement is committed between the write and the commit, which comes after it or fails."""
        rows, client = self.rows(), self.client
        commit = client.new_commit()
        messages = client.new_write().write(_table(rows))
        self.chance.choice((self.update, self.delete))()
        try:
            commit.commit(messages)
        except (RowsChanged, KeyPlacesChanged):
            self.met["refused"] += 1
            commit.abort(messages)
        else:
            self.noted(rows)

    def compact(self) -> None:
        self.client.compact(full=self.chance.random() < 0.5)

    def keys(self) -> list[int]:
        return self.chance.sample(KEYS, self.chance.randint(1, 5))

    def update(self) -> None:
        keys = self.keys()
        found = [key for key in keys if key in self.model]
        assert self.client.update({"v": "v + 1"}, _among(keys)).updated == len(found)
        self._add(found, 1)

    def update_overtaken(self) -> None:
        """Another client changes rows while the statement computes its values."""
        keys, client = self.keys(), self.client
        other = self.second if client is self.first else self.first
        overtaking = self.chance.choice((self._rows_of_other, self._update_of_other))
        is_overtaken = False

        def values(rows: pa.Table) -> pa.Array:
            nonlocal is_overtaken
            if not is_overtaken:
                is_overtaken = True
                overtaking(other)
            return pa.array([value + 1 for value in rows.column("v").to_pylist()], pa.int32())

        client.update({"v": values}, _among(keys))
        self._add([key for key in keys if key in self.model], 1)

    def _rows_of_other(self, other: Table) -> None:
        # New keys are none of the statement's: it has read already that they are not there.
        rows = {key: row for key, row in self.rows().items() if key in self.model}
        if rows:
            other.append(_table(rows))
            self.noted(rows)

    def _update_of_other(self, other: Table) -> None:
        keys = self.keys()
        other.update({"v": "v + 1000"}, _among(keys))
        self._add([key for key in keys if key in self.model], 1000)

    def merge(self) -> None:
        rows = self.rows()
        changes = self.client.merge(
            _table(rows), "id", when_matched=Update({"v": "target.v + source.v"}), when_not_matched=Insert()
        )
        assert changes.updated == len(rows.keys() & self.model.keys())
        for key, (date, value) in rows.items():
            before = self.model.get(key)
            self.model[key] = (date, value) if before is None else (before[0], before[1] + value)

    def delete(self) -> None:
        keys = self.keys()
        found = self.model.keys() & set(keys)
        assert self.client.delete(_among(keys)).deleted == len(found)
        for key in found:
            del self.model[key]

    def _add(self, keys: list[int], number: int) -> None:
        for key in keys:
            date, value = self.model[key]
            self.model[key] = (date, value + number)

    # --- what holds -------------------------------------------------------------------------------------------------

    @property
    def expected(self) -> list[tuple[int, str, int]]:
        return sorted((key, date, value) for key, (date, value) in self.model.items())

    def check(self) -> None:
        """What rows are changed by is what was acknowledged, whatever readers see."""
        if not self.kind.postpones:
            assert self.committed() == self.expected

    def committed(self) -> list[tuple[int, str, int]]:
        rows = Scan(self.warehouse.reopened(self.first).facts, min_level=0).to_arrow()
        return sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True))

    def check_all(self) -> None:
        """After a compaction readers see all of it, and the changelog has told it."""
        table = self.warehouse.reopened(self.first)
        table.compact(full=True)
        assert rows_of(table) == self.expected
        if self.kind.tells_changes:
            assert _told(table) == self.expected


def _told(table: Table) -> list[tuple[int, str, int]]:
    """What all changes from the first snapshot on come to."""
    latest = table.latest_snapshot()
    changes = AuditLogTable(table).scan(options={"incremental-between": f"0,{latest.id if latest else 0}"}).to_arrow()
    state: Model = {}
    for kind, key, date, value in zip(*(column.to_pylist() for column in changes.columns), strict=True):
        if kind in ("+I", "+U"):
            assert key not in state
            state[key] = (date, value)
        else:
            assert state.pop(key) == (date, value)
    return sorted((key, date, value) for key, (date, value) in state.items())


@contextmanager
def failing_compaction() -> Iterator[None]:
    """The store fails as the compaction of a commit is published; its rows are committed by then."""
    real = CommitLoop.publish

    def publish(self: CommitLoop, job: Any) -> Snapshot:
        if job.kind is CommitKind.COMPACT:
            message = "no space left"
            raise OSError(message)
        return real(self, job)

    with mock.patch.object(CommitLoop, "publish", publish):
        yield


def _table(rows: Mapping[int, tuple[str, int]]) -> pa.Table:
    return keyed([(key, date, value) for key, (date, value) in rows.items()])


def _among(keys: list[int]) -> str:
    return f"id IN ({', '.join(map(str, keys))})"


def run(name: str, seed: int, steps: int = 12) -> Counter[str]:
    """Random work on a table of a kind; how often each step was taken.

    Raises:
        AssertionError: an acknowledged row is lost, or counted twice.
    """
    with tempfile.TemporaryDirectory() as cache:
        made = Run(KINDS[name], f"{name} {seed}", cache)
        for _ in range(steps):
            made.step()
        made.check_all()
        return made.met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--kind", choices=list(KINDS))
    given = parser.parse_args()
    total: Counter[str] = Counter()
    failed: list[str] = []
    for name in [given.kind] if given.kind else KINDS:
        for seed in range(given.first, given.first + given.seeds):
            try:
                total += run(name, seed, given.steps)
            except (AssertionError, ConflictError) as error:
                failed.append(f"{name} {seed}: {type(error).__name__} {str(error)[:200]}")
    print(f"{sum(total.values())} steps of {given.seeds} seeds; {dict(total)}; {len(failed)} failed")
    print("\n".join(failed[:20]))
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
