"""The state of a history of open writes: the table, what must be in it, and the check that it is."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from table_format import Schema, Table, load_catalog
from table_format.errors import TableFormatError
from table_format.io.memory import MemoryFileIO
from table_format.metastore.commit.key_places import snapshot_identity
from table_format.model.commit import CommitMessage
from table_format.model.schema import TableSchema
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.runtime import Runtime
from table_format.table.read.scan import Scan
from table_format.table.write.batch_commit import BatchCommit
from table_format.table.write.table_write import TableWrite
from tests.simulation.drawn import copied
from tests.simulation.open_tables import COLUMNS, Row, Rows, Source, drawn_kind, find_difference
from tests.simulation.world import Violation
from tests.support.compaction import MovableClock, OnDemand

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
    known: frozenset[int] = frozenset()

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


class OpenHistory:
    """A table, the objects that are open, and the rows of each of its snapshots."""

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
        self.streams: list[Any] = []
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

    def simple(self, act: Callable[[Table], Any], effect: Effect = NOTHING, branch: str | None = None) -> object:
        """Do something with a fresh handle."""
        act(self.opened(branch))
        self.look(effect, branch)
        return ""

    def seen(self, branch: str | None = None) -> frozenset[int]:
        return frozenset(row.number for row in self.log(branch))

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
            raise Violation(f"W7 the table cannot be read or compacted: {shown(error)}") from error

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


def shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
