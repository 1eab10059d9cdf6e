"""Streams that stop and continue beside random steps on a table: what they have read is what the table holds.

    python -m tests.table.read.followed_tables --count 2000 --seed 1

Each seed is one table with a few readers. A reader that continues has the rows of the table at each of its positions.
A reader that cannot continue gets an error that names the reason; a consumer gets none because of an expiry.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from table_format import Table
from table_format.errors import (
    SchemaChanged,
    SnapshotExpired,
    SnapshotNotFound,
    TableFormatError,
    TableNotFound,
    TableReplaced,
)
from table_format.table.read.plan import Plan
from table_format.table.read.stream import StreamScan
from tests.support.searches import Violation, follow_steps, run_search, total_seen
from tests.support.table_history import History, Row, State, drawn_shape, rows_by_id
from tests.support.tables import memory_warehouse

ENDS = (TableNotFound, TableReplaced, SnapshotExpired, SnapshotNotFound)
"""The errors after which a reader cannot continue."""
KINDS = ("kept", "consumer", "restored")
STEPS = 25
_IDS = {"id": 0, "p": 1}


@dataclass(frozen=True)
class Position:
    """How far a reader has read: the last snapshot that it has passed, and the rows that it holds."""

    rows: Mapping[Row, int] = field(default_factory=dict)
    last: int | None = None
    identity: str = ""
    compared: frozenset[int] = frozenset()
    """The columns whose values the reader has had from its start."""
    tainted: bool = False
    """Whether an overwrite was passed that the stream does not show."""


class Reader:
    """One reader of a table, in one process or in one after another."""

    def __init__(self, history: History, kind: str, name: str) -> None:
        self.history, self.kind, self.name = history, kind, name
        self.position = Position()
        self.stream: StreamScan | None = None
        self.table: Table | None = None
        self.generation = history.generation
        self.seen: Counter[str] = Counter()

    @property
    def draw(self) -> random.Random:
        return self.history.draw

    # --- life -----------------------------------------------------------------------------------------------------

    def poll(self) -> None:
        """Read some plans, and sometimes stop before the last one is acknowledged."""
        if self.generation != self.history.generation and self.kind != "kept":
            self.restart("created again")
        if self.kind == "restored" and self.is_replaced():
            self.restart("a bare position does not notice a rollback")
        if self.kind != "kept" or self.stream is None:
            self.open()
        recorded = self.position
        for _ in range(self.draw.randrange(1, 5)):
            more = self.next()
            if self.stream is None:
                return  # it begins again
            if self.kind == "consumer":
                if self.draw.random() < 0.2:
                    self.position = recorded  # the process dies
                    self.seen["died"] += 1
                    return
                self.stream.acknowledge()
                recorded = self.position
            if not more:
                return

    def open(self) -> None:
        self.table = self.history.opened()
        options = {"consumer-id": self.name} if self.kind == "consumer" else {}
        self.stream = self.table.stream(options=options)
        if self.kind == "restored" and self.position.last is not None:
            self.stream.restore(self.position.last + 1)
        if self.position.last is None:
            self.generation = self.history.generation
            self.position = Position(compared=frozenset(f.id for f in self.table.schema.fields))

    def restart(self, why: str) -> None:
        """Begin with the latest state again."""
        self.seen[why] += 1
        self.stream, self.position = None, Position()
        self.generation = self.history.generation
        if self.kind == "consumer":
            self.history.opened().delete_consumer(self.name)
        self.history.log.append(f"  {self.name} begins again: {why}")

    def is_replaced(self) -> bool:
        """Whether the last snapshot that was passed is no longer in the history of the table."""
        last = self.position.last
        if last is None or last == 0:
            return False
        state = self.history.states.get(last)
        return state is None or state.identity != self.position.identity

    # --- one plan -------------------------------------------------------------------------------------------------

    def next(self) -> bool:
        """Read one plan; whether there may be more."""
        assert self.stream is not None
        replaced, is_new = self.is_replaced(), self.generation != self.history.generation
        retained = [snapshot.id for snapshot in self.history.opened().snapshots()]
        try:
            plan = self.stream.next_plan()
            rows = None if plan is None else self.stream.to_arrow(plan)
        except SchemaChanged:
            self.seen["schema changed"] += 1
            assert self.table is not None
            if self.history.opened().schema.id == self.table.schema.id:
                self.fail("the schema has not changed")
            at = self.stream.checkpoint()
            self.open()
            if self.kind == "kept":
                self.stream.restore(at)
            return True
        except ENDS as error:
            is_protected = self.kind == "consumer" and self.position.last is not None
            self.end(error, replaced=replaced, is_new=is_new, is_protected=is_protected)
            return False
        if is_new:
            self.fail("the table was created again")
        if replaced:
            if self.kind == "kept" and self.position.last not in retained:
                self.restart("nobody has kept the snapshot that was replaced")
                return False
            self.fail("the snapshots were replaced")
        self.fold(plan, rows)
        return plan is not None

    def end(self, error: TableFormatError, *, replaced: bool, is_new: bool, is_protected: bool) -> None:
        """Begin again after an error that has a reason. Expiry must keep the snapshots of a protected reader."""
        if isinstance(error, TableNotFound | TableReplaced):
            reason, misfit = "replaced table", None if is_new else "the table is the same"
        elif isinstance(error, SnapshotExpired):
            reason = "expired"
            misfit = "the consumer keeps its snapshots" if is_protected and not replaced else None
        else:
            reason, misfit = "rolled back", None if replaced or is_new else "the snapshots are the same"
        if misfit is not None:
            self.fail(f"{misfit}: {error}", error)
        self.restart(reason)

    def fold(self, plan: Plan | None, rows: Any) -> None:
        assert self.stream is not None
        assert self.table is not None
        at = self.stream.checkpoint()
        if at is None:
            if self.history.states:
                self.fail("the stream has no position")
            return
        before, now = self.position.last, at - 1
        if plan is not None:
            self.seen["plans"] += 1
            assert plan.snapshot is not None
            self.history.log.append(
                f"  {self.name} reads {plan.snapshot.id} ({plan.changes_of}): {rows.to_pylist()[:12]}"
            )
        elif now != (latest := self.history.latest.snapshot.id if self.history.latest else 0):
            self.fail(f"there is nothing to read at {now}, but the latest snapshot is {latest}")
        first = before + 1 if before is not None else now + 1
        tainted = self.position.tainted or any(self.hides(number) for number in range(first, now + 1))
        self.position = replace(self.position, tainted=tainted)
        held = dict(self.position.rows)
        if rows is not None:
            fields = {f.name: f.id for f in self.table.schema.fields}
            changes = list(
                zip(rows["rowkind"].to_pylist(), rows_by_id(rows.drop_columns(["rowkind"]), fields), strict=True)
            )
            self.apply(held, changes)
        state = self.history.states.get(now)
        identity = "" if state is None else state.identity
        self.position = replace(self.position, rows=held, last=now, identity=identity)
        if state is not None and not tainted and self.is_comparable(state):
            self.compare(state)

    def hides(self, number: int) -> bool:
        """Whether the stream does not show what a snapshot changed."""
        states, shape = self.history.states, self.history.shape
        if shape.shows_overwrites or not self.history.is_overwrite(number):
            return False
        before, now = states.get(number - 1), states[number]
        return before is None or before.rows != now.rows or before.may_hide_rows or now.may_hide_rows

    def apply(self, held: dict[Row, int], changes: list[tuple[str, Row]]) -> None:
        shape = self.history.shape
        if not shape.keys:
            for kind, row in changes:
                if kind != "+I":
                    self.fail(f"a row of kind {kind} of an append table")
                held[row] = held.get(row, 0) + 1
            return
        exact = shape.producer in ("lookup", "full-compaction") and not self.position.tainted
        by_key = {self.key(row): row for row in held}
        for kind, row in changes:
            known = by_key.get(self.key(row))
            if kind in ("+I", "+U"):
                if exact and known is not None:
                    self.fail(f"{kind} of {row}, which is there: {known}")
                by_key[self.key(row)] = row
            else:
                if exact and (known is None or self.shown(known) != self.shown(row)):
                    self.fail(f"{kind} of {row}, but there is {known}")
                by_key.pop(self.key(row), None)
        held.clear()
        held.update(dict.fromkeys(by_key.values(), 1))

    def key(self, row: Row) -> Row:
        # If a key moves to another partition, the delete and the insert of a snapshot are in either order.
        wanted = {_IDS[name] for name in (*self.history.shape.keys, *self.history.shape.partitions)}
        return tuple(value for value in row if value[0] in wanted)

    def shown(self, row: Row) -> Row:
        assert self.table is not None
        wanted = self.position.compared & {f.id for f in self.table.schema.fields}
        return tuple(value for value in row if value[0] in wanted and value[1] is not None)

    def is_comparable(self, state: State) -> bool:
        """Whether the changes up to a snapshot lead to what a scan of it shows."""
        shape = self.history.shape
        if not shape.keys:
            return True
        if state.postponed:
            return False
        if shape.producer == "full-compaction":
            assert self.table is not None
            return state.levels <= {self.table.options.compaction.num_levels - 1}
        skips = shape.options.get("deletion-vectors.enabled") == "true"
        return 0 not in state.levels or (shape.producer in ("none", "input") and not skips)

    def compare(self, state: State) -> None:
        self.seen["compared"] += 1
        assert self.table is not None
        of_state = frozenset(f.id for f in self.table.facts.schemas[state.snapshot.schema_id].fields)
        common = self.position.compared & of_state & {f.id for f in self.table.schema.fields}
        held, expected = self._of(self.position.rows, common), self._of(state.rows, common)
        if held != expected:
            lacks, more = expected - held, held - expected
            self.fail(f"at snapshot {state.snapshot.id}, it lacks {dict(lacks)} and has also {dict(more)}")

    def _of(self, rows: Mapping[Row, int], columns: frozenset[int]) -> Counter[Row]:
        found: Counter[Row] = Counter()
        for row, count in rows.items():
            found[tuple(value for value in row if value[0] in columns and value[1] is not None)] += count
        return found

    def fail(self, what: str, cause: BaseException | None = None) -> None:
        shape = self.history.shape
        text = "\n".join(self.history.log)
        message = f"{self.name}: {what}\n{shape}\n{text}"
        raise Violation(message) from cause


def search(seed: int, steps: int = STEPS) -> Counter[str]:
    """Follow one table with readers of every kind; what they have met."""
    draw = random.Random(seed)
    history = History(memory_warehouse(), draw, drawn_shape(draw))
    readers = [Reader(history, kind, kind) for kind in KINDS]
    follow_steps(history, readers, steps)
    for _ in range(2):
        if history.shape.keys:
            history.do("compact in full")
        for reader in readers:
            for _ in range(8):
                reader.poll()
    refused = Counter(line.partition(" -> ")[0][:90] for line in history.log if " refused" in line)
    return total_seen(readers) + refused


def main() -> int:
    """Search, and print what the readers have met."""
    return run_search(search, "tests.table.read.followed_tables", __doc__)


if __name__ == "__main__":
    sys.exit(main())
