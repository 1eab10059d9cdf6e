"""Random histories of writes and commits that stay open while their table changes: ``python -m
tests.simulation.open_writes --seeds 1000``.

One process has several writes, commits, scans, plans and a stream of one table. Beside them the table is compacted,
expired, rolled back, fast-forwarded, altered, overwritten, rescaled, and cleaned of orphans. Each step takes effect or
raises a documented error and has no effect. A model says what must be in the table after it. A seed repeats a history;
``--show SEED`` prints it.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from table_format import Schema, Table, load_catalog
from table_format.errors import CorruptionError, MissingFile, TableFormatError
from table_format.io.memory import MemoryFileIO
from table_format.metastore.commit.key_places import snapshot_identity
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.commit import CommitMessage
from table_format.model.schema import TableSchema
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
)
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.model.types import BigIntType, IntType
from table_format.runtime import Runtime
from table_format.table.read.scan import Scan
from table_format.table.write.batch_commit import BatchCommit
from table_format.table.write.table_write import TableWrite
from tests.simulation.drawn import copied
from tests.simulation.open_tables import (
    COLUMNS,
    ID,
    PARTITIONS,
    P,
    Row,
    Rows,
    Source,
    V,
    arrow_of,
    drawn_kind,
    find_difference,
)
from tests.simulation.world import Violation
from tests.support.compaction import HOUR_MS, MovableClock, OnDemand

FUTURE: Final = 1 << 52
NAME: Final = "db.t"


class Numbered:
    """Ids and random numbers of a seed."""

    def __init__(self, seed: object) -> None:
        self._source = random.Random(f"{seed}/ids")

    def random(self) -> float:
        return self._source.random()

    def uuid(self) -> str:
        text = f"{self._source.getrandbits(128):032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@dataclass
class Prepared:
    """Messages of one call, their rows, and what became of them."""

    messages: tuple[CommitMessage, ...]
    rows: Rows
    committed: tuple[BatchCommit, int | None] | None = None
    is_aborted: bool = False


@dataclass
class OpenWrite:
    """A write that stays open, with the schema and rows that it knows."""

    number: int
    user: str
    write: TableWrite
    schema: TableSchema
    columns: pa.Schema
    compactor: OnDemand | None
    prepared: list[Prepared] = field(default_factory=list)
    own: frozenset[int] = frozenset()

    @property
    def waiting(self) -> list[Prepared]:
        return [p for p in self.prepared if p.committed is None and not p.is_aborted]


@dataclass(frozen=True)
class Effect:
    """What a commit does to the rows: it removes those for which ``removes`` holds, and adds ``rows``."""

    rows: Rows = ()
    removes: Callable[[Row], bool] = lambda _row: False

    def on(self, rows: Rows) -> Rows:
        return (*(row for row in rows if not self.removes(row)), *self.rows)


NOTHING: Final = Effect()


def in_order(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


class Run:
    """One history."""

    def __init__(self, seed: int, directory: str) -> None:
        self.seed = seed
        self.draw = random.Random(f"{seed}/open writes")
        self.clock = MovableClock()
        self.memory = MemoryFileIO(self.clock)
        self.runtime = Runtime(self.clock, Numbered(seed), Numbered(f"{seed}/u"), cache_directory=directory)
        self.catalog = load_catalog({"warehouse": f"/w{seed}"}, file_io=self.memory, runtime=self.runtime)
        self.kind = drawn_kind(self.draw)
        self.source = Source(self.draw)
        self.trace: list[str] = []
        self.coverage: Counter[str] = Counter()
        self.writes: list[OpenWrite] = []
        self.commits: dict[str, list[BatchCommit]] = {}
        self.identifiers: Counter[str] = Counter()
        self.scans: list[tuple[Scan, list[str]]] = []
        self.logs: dict[str, Rows] = {snapshot_identity(None): ()}
        self.latest: dict[str, Rows] = {}
        self.made = 0
        self.branches: set[str] = set()
        self.catalog.create_database("db")
        schema = Schema.from_arrow(COLUMNS, self.kind.keys, ("p",), dict(self.kind.options))
        self.catalog.create_table(NAME, schema)
        self.note(f"kind {self.kind}")

    def note(self, text: str) -> None:
        self.trace.append(text)

    # --- the table ----------------------------------------------------------------------------------------------------

    def opened(self, branch: str | None = None) -> Table:
        found = self.catalog.load_table(NAME + (f"$branch_{branch}" if branch else ""))
        assert isinstance(found, Table)
        return found

    def log(self, branch: str | None = None) -> Rows:
        return self.latest.get(branch or "", ())

    def look(self, effect: Effect | None, branch: str | None = None) -> bool:
        """Apply an effect to the first new snapshot that is not a compaction; whether there was one."""
        table = self.opened(branch)
        latest = table.facts.snapshots.latest()
        steps: list[Snapshot] = []
        snapshot = latest
        while snapshot is not None and snapshot_identity(snapshot) not in self.logs:
            steps.insert(0, snapshot)
            snapshot = table.facts.snapshots.find(snapshot.id - 1) if snapshot.id > 1 else None
        gone = snapshot is None and steps and steps[0].id > 1
        rows = self.log(branch) if gone else self.logs[snapshot_identity(snapshot)]
        happened = False
        for step in steps:
            if step.commit_kind not in (CommitKind.COMPACT, CommitKind.ANALYZE) and not happened and effect is not None:
                rows = effect.on(rows)
                happened = True
            self.logs[snapshot_identity(step)] = rows
        self.latest[branch or ""] = rows
        return happened

    # --- steps --------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        steps = self.steps()
        [name] = self.draw.choices(list(steps), [weight for weight, _ in steps.values()])
        self.clock.ms += self.draw.choice((1, 1000, 60_000, HOUR_MS))
        try:
            text = steps[name][1]()
            self.coverage[name] += 1
        except CorruptionError as error:
            self.note(f"{name} failed")
            raise Violation(f"W1 {name} found damage: {_shown(error)}") from error
        except TableFormatError as error:
            text = f"refused: {type(error).__name__}: {str(error)[:300]}"
            self.coverage[f"{name} {type(error).__name__}"] += 1
            self.look(None)
        latest = self.opened().facts.snapshots.latest()
        self.note(f"{name}: {text} -> {snapshot_identity(latest)[:2] if latest else 0} {len(self.log())} rows")
        self.check(full=self.draw.random() < 0.3)

    def steps(self) -> dict[str, tuple[float, Callable[[], object]]]:
        steps: dict[str, tuple[float, Callable[[], object]]] = {
            "open write": (2 if len(self.writes) < 3 else 0.2, self.open_write),
            "append": (2, lambda: self.append(None)),
            "compact": (1, lambda: self.simple(lambda t: t.compact())),
            "compact in full": (1, lambda: self.simple(lambda t: t.compact(full=True))),
            "expire": (2, self.expire),
            "roll back": (1.2, self.roll_back),
            "tag": (1, self.tag),
            "delete tag": (0.4, self.delete_tag),
            "branch": (0.5, self.branch),
            "fast-forward": (0.7, self.fast_forward),
            "alter": (1.2, self.alter),
            "truncate": (0.15, lambda: self.simple(lambda t: t.truncate(), Effect(removes=lambda _: True))),
            "overwrite": (0.4, self.overwrite),
            "remove orphans": (0.6, self.remove_orphans),
            "scan": (0.7, self.scan),
            "run compactors": (1.5, self.run_compactors),
        }
        if self.scans:
            steps["read scan"] = (1, self.read_scan)
        if not self.kind.crosses:
            steps["overwrite partition"] = (0.4, self.overwrite_partition)
        steps["drop partition"] = (0.4, self.drop_partition)
        if self.kind.engine == "append" or (self.kind.takes_deletes and self.kind.shows_all):
            steps["delete"] = (0.8, self.delete)
        if self.kind.is_fixed:
            steps["rescale"] = (0.6, lambda: self.simple(lambda t: t.rescale(self.draw.randrange(1, 4))))
        if self.writes:
            steps["write"] = (6, self.write)
            steps["abort write"] = (0.2, self.abort_write)
            steps["finish"] = (0.5, self.finish)
        if any(w.waiting for w in self.writes):
            steps["commit"] = (6, self.commit)
            steps["commit out of order"] = (0.6, lambda: self.commit(in_order=False))
            steps["abort messages"] = (0.5, self.abort_messages)
        if any(p.committed for w in self.writes for p in w.prepared):
            steps["commit again"] = (0.7, self.commit_again)
            steps["abort committed"] = (0.3, self.abort_committed)
        return steps

    def simple(self, act: Callable[[Table], Any], effect: Effect = NOTHING, branch: str | None = None) -> object:
        """Do something with a fresh handle."""
        act(self.opened(branch))
        self.look(effect, branch)
        return ""

    def seen(self, branch: str | None = None) -> frozenset[int]:
        return frozenset(row.number for row in self.log(branch))

    def append(self, branch: str | None) -> object:
        table = self.opened(branch)
        rows = self.source.rows(self.kind, table.schema, self.seen(branch))
        effect = Effect(rows)
        snapshots = table.append(arrow_of(self.kind, table.schema, table.arrow_schema, rows))
        if not self.look(effect, branch) and self.kind.engine != "first-row":
            raise Violation(f"W2 an append made no snapshot: {snapshots}")
        return [row.number for row in rows]

    def delete(self) -> object:
        table = self.opened()
        if self.shows_less(table):
            return "nothing"
        keys = self.draw.sample(range(self.source.keys), 2)
        if self.kind.engine == "append":
            effect = Effect(removes=lambda row: row.values[ID] in keys)
        else:
            rows = []
            for values in table.scan(filter=f"id in ({keys[0]}, {keys[1]})").to_arrow().to_pylist():
                self.source.made += 1
                ids = {f.name: f.id for f in table.schema.fields}
                rows.append(Row(self.source.made, {ids[n]: v for n, v in values.items()}, True, self.seen()))
            effect = Effect(tuple(rows))
        table.delete(f"id in ({keys[0]}, {keys[1]})")
        self.look(effect)
        return keys

    def overwrite(self) -> object:
        table = self.opened()
        rows = tuple(r for r in self.source.rows(self.kind, table.schema, frozenset()) if not r.is_delete)
        options = {"dynamic-partition-overwrite": "false"}
        table.copy(options).overwrite(self.without_kinds(table, rows))
        self.look(Effect(rows, lambda _: True))
        return [row.number for row in rows]

    def without_kinds(self, table: Table, rows: Rows) -> Any:
        data = arrow_of(self.kind, table.schema, table.arrow_schema, rows)
        return data.drop_columns(["_row_kind"]) if "_row_kind" in data.column_names else data

    def overwrite_partition(self) -> object:
        table = self.opened()
        rows = tuple(r for r in self.source.rows(self.kind, table.schema, frozenset()) if not r.is_delete)
        touched = {row.values[P] for row in rows}
        table.overwrite(self.without_kinds(table, rows))
        self.look(Effect(rows, lambda row: row.values[P] in touched))
        return sorted(touched)

    def drop_partition(self) -> object:
        value = self.draw.choice(PARTITIONS)
        if self.kind.crosses:
            # Only a read says in which partition a key is.
            table = self.opened()
            left = {row["id"] for row in self.compacted().scan().to_arrow().to_pylist() if row["p"] == value}
            table.drop_partitions([{"p": value}])
            self.look(Effect(removes=lambda row: row.values[ID] in left))
        else:
            self.simple(lambda t: t.drop_partitions([{"p": value}]), Effect(removes=lambda row: row.values[P] == value))
        return value

    def expire(self) -> object:
        retained = self.draw.randrange(1, 4)
        table = self.opened()
        return table.expire_snapshots(
            retain_min=1, retain_max=retained, retain_floor_ms=0, older_than_ms=FUTURE
        ).snapshot_ids

    def target(self, table: Table) -> Any:
        choices: list[Any] = [s.id for s in table.snapshots()][-5:] + sorted(table.tags())
        return self.draw.choice(choices) if choices else None

    def roll_back(self) -> object:
        table = self.opened()
        target = self.target(table)
        if target is not None:
            table.rollback_to(target)
            self.look(None)
        return target

    def tag(self) -> object:
        table = self.opened()
        ids = [s.id for s in table.snapshots()]
        if not ids:
            return "nothing"
        return table.create_tag(f"t{self.draw.randrange(3)}", self.draw.choice(ids), ignore_if_exists=True).snapshot.id

    def delete_tag(self) -> object:
        table = self.opened()
        names = sorted(table.tags())
        if names:
            table.delete_tag(self.draw.choice(names))
        return names

    def branch(self) -> object:
        """Create a branch, or write to it, or delete it."""
        table = self.opened()
        names = sorted(table.branches())
        if not names:
            if not table.tags():
                self.tag()
            target = self.draw.choice([None, *table.tags()])
            table.create_branch("b", tag=target)
            self.latest.pop("b", None)
            self.look(None, "b")
            return f"created from {target}"
        if self.draw.random() < 0.3:
            table.delete_branch("b")
            return "deleted"
        if self.draw.random() < 0.3:
            self.simple(lambda t: t.compact(full=True), branch="b")
            return "compacted"
        return self.append("b")

    def fast_forward(self) -> object:
        table = self.opened()
        # Writers must be stopped for a fast-forward to other schemas with the same ids.
        if not table.branches() or SchemaStore(table.store).all() != SchemaStore(self.opened("b").store).all():
            return "nothing"
        report = table.fast_forward("b")
        self.look(None)
        return report.snapshot_ids

    def alter(self) -> object:
        table = self.opened()
        fields = {f.id: f for f in table.schema.fields}
        free = [f for f in fields.values() if f.id not in self.kind.kept and f.id != V] + (
            [fields[V]] if V in fields and self.kind.engine in ("append", "aggregation", "deduplicate") else []
        )
        names = {f.name for f in fields.values()}
        spare = [name for name in ("v", "c1", "c2", "c3") if name not in names]
        changes: list[SchemaChange] = [self.option_change(table)]
        if spare:
            changes.append(AddColumn(self.draw.choice(spare), self.draw.choice((IntType(), BigIntType()))))
        if free:
            changes.append(DropColumn(self.draw.choice(free).name))
            if spare:
                changes.append(RenameColumn(self.draw.choice(free).name, self.draw.choice(spare)))
            narrow = [f for f in free if isinstance(f.type, IntType)]
            if narrow:
                changes.append(AlterColumnType(self.draw.choice(narrow).name, BigIntType()))
            if len(free) > 1:
                one, two = self.draw.sample(free, 2)
                swap = [RenameColumn(one.name, "x"), RenameColumn(two.name, one.name), RenameColumn("x", two.name)]
                if self.draw.random() < 0.3:
                    self.catalog.alter_table(NAME, swap)
                    return swap
        change = self.draw.choice(changes)
        self.catalog.alter_table(NAME, [change])
        return change

    def option_change(self, table: Table) -> SchemaChange:
        changes: list[SchemaChange] = [
            SetOption("target-file-size", self.draw.choice(("1 b", "128 mb"))),
            SetOption("file.format", self.draw.choice(("parquet", "orc", "avro"))),
            SetOption("snapshot.num-retained.max", "3"),
            SetOption("snapshot.num-retained.min", "1"),
            SetOption("snapshot.time-retained", self.draw.choice(("1 s", "1 h"))),
            SetOption("write-only", self.draw.choice(("true", "false"))),
            SetOption("metadata.stats-mode", self.draw.choice(("none", "full"))),
            SetOption("manifest.merge-min-count", "2"),
            RemoveOption("snapshot.num-retained.max"),
        ]
        if self.kind.keys:
            changes.append(SetOption("num-sorted-run.compaction-trigger", str(self.draw.randrange(2, 6))))
            changes.append(SetOption("compaction.max-size-amplification-percent", "50"))
        if self.kind.is_fixed:
            changes += [SetOption("bucket", str(self.draw.randrange(1, 4)))] * 3
        if self.kind.keys and self.kind.engine != "first-row" and self.kind.producer != "full-compaction":
            changes += [SetOption("deletion-vectors.enabled", self.draw.choice(("true", "false")))] * 2
        return self.draw.choice(changes)

    def remove_orphans(self) -> object:
        return self.opened().remove_orphan_files().paths

    # --- open writes --------------------------------------------------------------------------------------------------

    def open_write(self) -> object:
        table = self.opened()
        self.made += 1
        user = self.draw.choice(("u1", "u2", f"w{self.made}"))
        compactor = OnDemand() if self.draw.random() < 0.4 else None
        write = table.new_write(self.draw.choice((None, user)), compactor=compactor)
        self.writes.append(OpenWrite(self.made, user, write, table.schema, table.arrow_schema, compactor))
        if len(self.writes) > 5:
            self.writes.pop(0)
        return f"{self.made} of {user}, schema {table.schema.id}"

    def write(self) -> object:
        one = self.draw.choice(self.writes)
        rows = self.source.rows(self.kind, one.schema, self.seen() | one.own)
        data = arrow_of(self.kind, one.schema, one.columns, rows)
        try:
            messages = one.write.write(data)
        except TableFormatError as error:
            if not isinstance(error, CorruptionError) and self.draw.random() < 0.5:
                self.writes.remove(one)
            raise
        one.own |= {row.number for row in rows}
        one.prepared.append(Prepared(messages, rows))
        return f"{one.number}: {[row.number for row in rows]}"

    def finish(self) -> object:
        one = self.draw.choice(self.writes)
        messages = one.write.finish()
        if messages:
            one.prepared.append(Prepared(messages, ()))
        return one.number

    def abort_write(self) -> object:
        one = self.draw.choice(self.writes)
        one.write.abort()
        return one.number

    def run_compactors(self) -> object:
        return sum(w.compactor.run() for w in self.writes if w.compactor is not None)

    def committer(self, user: str) -> tuple[BatchCommit, int | None]:
        """A commit of a user, a new one or one that is open; or one of nobody else."""
        if self.draw.random() < 0.2:
            return self.opened().new_commit(), None
        known = self.commits.setdefault(user, [])
        if not known or self.draw.random() < 0.15:
            known.append(self.opened().new_commit(user))
        self.identifiers[user] += 1
        return self.draw.choice(known), self.identifiers[user]

    def commit(self, *, in_order: bool = True) -> object:
        one = self.draw.choice([w for w in self.writes if w.waiting])
        waiting = one.waiting
        many = self.draw.choice((1, 1, 2, len(waiting)))
        chosen = waiting[:many] if in_order else self.draw.sample(waiting, 1)
        commit, identifier = self.committer(one.user)
        rows = tuple(row for p in chosen for row in p.rows)
        text = f"{one.number}: {[row.number for row in rows]}"
        try:
            snapshots = commit.commit([m for p in chosen for m in p.messages], identifier=identifier)
        except TableFormatError as error:
            if isinstance(error, CorruptionError):
                raise
            if self.look(Effect(rows)):
                raise Violation(f"W3 a commit failed and has an effect: {error}") from error
            then = self.draw.random()
            if then < 0.4:
                commit.abort([m for p in chosen for m in p.messages])
                for p in chosen:
                    p.is_aborted = True
            if then < 0.2:
                self.writes.remove(one)
            self.note(f"   {text}, then {then:.1f}")
            raise
        happened = self.look(Effect(rows))
        if rows and any(m.new_files or m.compact_after for p in chosen for m in p.messages) and not happened:
            raise Violation(f"W4 a commit returned {snapshots} and has no effect")
        for p in chosen:
            p.committed = (commit, identifier)
        return f"{text} by {commit.commit_user[:8]} {identifier} {[s.id for s in snapshots]}"

    def some_committed(self) -> Prepared:
        return self.draw.choice([p for w in self.writes for p in w.prepared if p.committed])

    def commit_again(self) -> object:
        """Commit messages again: they may be refused, or found committed, or, after a rollback, committed again."""
        done = self.some_committed()
        assert done.committed is not None
        commit, identifier = done.committed
        how = self.draw.choice(("same", "open", "new"))
        if how != "same":
            user = commit.commit_user if identifier is not None else "u1"
            commit = commit if how == "open" and identifier is not None else self.opened().new_commit(user)
            self.identifiers[user] += 1
            identifier = self.identifiers[user]
        numbers = {row.number for row in done.rows}
        is_there = numbers & self.seen()
        try:
            snapshots = commit.commit(done.messages, identifier=identifier)
        except TableFormatError as error:
            if self.look(Effect(done.rows)):
                raise Violation(f"W3 a commit failed and has an effect: {error}") from error
            if self.draw.random() < 0.5:
                commit.abort(done.messages)
            raise
        if self.look(Effect(done.rows)) and is_there:
            raise Violation(f"W5 rows {sorted(is_there)} were committed twice ({how})")
        return f"{how} {sorted(numbers)}: {[s.id for s in snapshots]}"

    def abort_messages(self) -> object:
        one = self.draw.choice([w for w in self.writes if w.waiting])
        chosen = one.waiting[-1:] if self.draw.random() < 0.5 else one.waiting
        self.opened().new_commit(one.user).abort([m for p in chosen for m in p.messages])
        for p in chosen:
            p.is_aborted = True
        return f"{one.number}: {[row.number for p in chosen for row in p.rows]}"

    def abort_committed(self) -> object:
        done = self.some_committed()
        assert done.committed is not None
        commit = done.committed[0] if self.draw.random() < 0.5 else self.opened().new_commit()
        commit.abort(done.messages)
        return [row.number for row in done.rows]

    # --- open readers -------------------------------------------------------------------------------------------------

    def scan(self) -> object:
        table = self.opened()
        self.scans.append((table.scan(), in_order(table.scan().to_arrow(threads=1))))
        self.scans[-1][0].plan()
        return len(self.scans)

    def read_scan(self) -> object:
        scan, rows = self.scans.pop(self.draw.randrange(len(self.scans)))
        try:
            found = in_order(scan.to_arrow(threads=1))
        except MissingFile:
            return "was rolled back"
        if found != rows:
            raise Violation(f"W6 an open scan reads other rows later: {found} instead of {rows}")
        return len(found)

    # --- what must hold -----------------------------------------------------------------------------------------------

    def compacted(self) -> Table:
        """A copy of the table after a compaction."""
        memory = copied(self.memory, self.clock)
        runtime = Runtime(self.clock, Numbered("c"), Numbered(f"{self.seed}/c/{len(self.trace)}"))
        catalog = load_catalog({"warehouse": f"/w{self.seed}"}, file_io=memory, runtime=runtime)
        table = catalog.load_table(NAME)
        assert isinstance(table, Table)
        if self.kind.is_fixed:
            table.rescale()
        table.compact(full=True)
        return table

    def check(self, *, full: bool) -> None:
        table = self.opened()
        try:
            if self.kind.shows_all and not self.shows_less(table):
                self.compare(table, "a read")
            if full:
                self.compare(self.compacted(), "a read after compaction")
        except TableFormatError as error:
            raise Violation(f"W7 the table cannot be read or compacted: {_shown(error)}") from error

    def shows_less(self, table: Table) -> bool:
        return bool(self.kind.keys) and table.options.raw.get("deletion-vectors.enabled") == "true"

    def compare(self, table: Table, what: str) -> None:
        difference = find_difference(self.kind, table.schema, self.log(), table.scan().to_arrow(threads=1))
        if difference is not None:
            raise Violation(f"W8 {what}: {difference}")

    def end(self) -> None:
        """Nothing is damaged, and somebody new can write."""
        self.check(full=True)
        if errors := self.opened().verify().errors:
            raise Violation(f"W9 the verification finds {errors}")
        if self.kind.is_fixed:
            self.opened().rescale()
            self.look(NOTHING)
        self.append(None)
        self.check(full=True)


class BrokenHistory(AssertionError):
    """A history breaks what must hold; with its steps."""

    def __init__(self, text: str, trace: list[str]) -> None:
        super().__init__(text)
        self.trace = trace


def run(seed: int, steps: int = 40) -> Run:
    """One history.

    Raises:
        BrokenHistory: something that must hold does not, or a step raised what no caller expects.
    """
    with tempfile.TemporaryDirectory() as directory:
        one = Run(seed, directory)
        try:
            for _ in range(steps):
                one.step()
            one.end()
        except Violation as error:
            raise BrokenHistory(f"seed {seed}: {error}", one.trace) from error
        except Exception as error:
            raise BrokenHistory(f"seed {seed}: W0 {_shown(error)}", one.trace) from error
    return one


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}\n{traceback.format_exc()}"


def tried(seed: int, steps: int) -> tuple[str | None, Counter[str]]:
    """What a seed breaks, if anything, and its steps."""
    logging.disable(logging.WARNING)
    try:
        return None, run(seed, steps).coverage
    except BrokenHistory as error:
        return str(error), Counter()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int)
    given = parser.parse_args(arguments)
    if given.show is not None:
        try:
            trace, text = run(given.show, given.steps).trace, "clean"
        except BrokenHistory as error:
            trace, text = error.trace, str(error)
        print(*trace, text, sep="\n")
        return int(text != "clean")
    begun, failures = time.monotonic(), 0
    coverage: Counter[str] = Counter()
    with ProcessPoolExecutor(given.processes, multiprocessing.get_context("spawn")) as pool:
        seeds = range(given.first, given.first + given.seeds)
        for failure, its in pool.map(tried, seeds, [given.steps] * given.seeds):
            coverage.update(its)
            if failure is not None:
                failures += 1
                print(failure, flush=True)
    print(f"{given.seeds} seeds, {failures} failures, {time.monotonic() - begun:.0f} s")
    for what, times in sorted(coverage.items()):
        print(f"  {what:<60}{times:>8}")
    return failures


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
