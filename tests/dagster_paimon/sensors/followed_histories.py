"""What sensors and incremental assets find out about a table between two looks, beside random steps on it.

    python -m tests.dagster_paimon.sensors.followed_histories --count 500 --seed 1

Each look is that of a new process: the state between two of them is the text of a cursor, or a commit. A sensor reports
each snapshot once, whatever a rollback, an expiry or a new table has done to the ids, and names every partition whose
rows differ. An asset that follows the changes of a table has its rows after each run.
"""

from __future__ import annotations

import logging
import random
import sys
from collections import Counter
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pyarrow as pa

from dagster_paimon.checks.lineage import _consumed, _unread
from dagster_paimon.io.changes import changes_since_last_run
from dagster_paimon.io.read_position import ReadPosition
from dagster_paimon.sensors.cursor import decode_cursor, encode_cursor, follow
from dagster_paimon.sensors.followed_column import PartitionColumn, changes_since
from dagster_paimon.sensors.request_state import RequestState, decode_state, encode_state
from table_format import Table
from table_format.model.snapshot import CommitKind, Snapshot
from tests.support.searches import Follower, Violation, follow_steps, run_search, total_seen
from tests.support.table_history import COLUMNS, History, State, drawn_shape
from tests.support.tables import memory_warehouse

STEPS = 30
SOURCE, OWN = "db.t", "db.copy"


class Look:
    """A reader that looks at the table now and then."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.seen: Counter[str] = Counter()

    def fail(self, what: str) -> None:
        log = "\n".join(self.history.log)
        message = f"{type(self).__name__}: {what}\n{self.history.shape}\n{log}"
        raise Violation(message)

    def note(self, text: str) -> None:
        self.history.log.append(f"  {type(self).__name__} {text}")


class Reports(Look):
    """Follows the snapshots as ``snapshot_sensor`` does: each is reported once."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self.cursor = ""
        self.reported: set[tuple[int, str]] = set()
        self.expired: set[tuple[int, str]] = set()
        """What had expired before a look. A fast-forward to an old branch can bring it back; it is old news then."""
        self.last: tuple[int, str] | None = None

    def poll(self) -> None:
        trails = decode_cursor(self.cursor)
        snapshots = self.history.opened().facts.snapshots
        limit = self.history.draw.choice((2, 100))
        while True:
            new = follow(trails.get(SOURCE, ()), snapshots, limit=limit)
            trails[SOURCE] = new.trail
            found = [identity(snapshot) for snapshot in new.snapshots]
            self.note(
                f"reports {[number for number, _ in found]}, back from {new.rolled_back_from}, missed {new.missed}"
            )
            self.check(found, was_back=new.rolled_back_from is not None)
            if len(found) < limit:
                break
        self.cursor = encode_cursor(trails)
        retained = {identity(snapshot) for snapshot in self.history.opened().snapshots()}
        self.expired |= {identity(state.snapshot) for state in self.history.states.values()} - retained
        overlooked = retained - self.reported - self.expired
        if overlooked:
            self.fail(f"has not reported {sorted(overlooked)}")
        self.last = max(retained, default=None)

    def check(self, found: list[tuple[int, str]], *, was_back: bool) -> None:
        latest = self.history.latest
        twice = [one for one in found if one in self.reported]
        # After a rollback, the snapshot that became the latest is reported again.
        if twice and not (was_back and latest is not None and twice == [identity(latest.snapshot)]):
            self.fail(f"reports {twice} again")
        is_lost = self.last is not None and self.last[0] not in self.history.states
        if is_lost and not was_back and self.reported and found:
            self.fail("does not report the rollback")
        self.reported.update(found)
        self.seen["reports"] += len(found)
        self.last = None if was_back else self.last


def identity(snapshot: Snapshot) -> tuple[int, str]:
    return snapshot.id, snapshot.delta_manifest_list


class Changed(Look):
    """Follows a column as ``changed_partitions_sensor`` does: no value whose rows differ is overlooked."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self.cursor: str | None = None
        self.column = history.draw.choice(("p", "v"))
        self.watched = history.draw.choice((None, ("id", "p", "v")))
        self.was: Counter[tuple[Any, ...]] = Counter()
        self.materialized: set[str] = set()

    def poll(self) -> None:
        table, state = self.history.opened(), decode_state(self.cursor)
        source = PartitionColumn(SOURCE, self.column, self.watched)
        changes = changes_since(state.trails.get(SOURCE, ()), table.facts, source, texts)
        self.cursor = encode_state(RequestState(trails={SOURCE: changes.trail}))
        now = rows_of(self.history.latest)
        position = COLUMNS.names.index(self.column)
        differ = texts(row[position] for row in (now - self.was) + (self.was - now))
        found = set(changes.keys) | (self.materialized if changes.why_all else set())
        self.note(
            f"finds {sorted(changes.keys)} of {self.column}, all because {changes.why_all}; differ {sorted(differ)}"
        )
        if differ - found:
            self.fail(f"overlooks {sorted(differ - found)}")
        self.seen["looks at a column"] += 1
        self.seen["looks at all"] += changes.why_all is not None
        self.materialized |= found
        self.was = now


def texts(values: Iterable[object]) -> frozenset[str]:
    return frozenset(str(value) for value in values)


def rows_of(state: State | None) -> Counter[tuple[Any, ...]]:
    """The rows of the first columns."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row, count in ({} if state is None else state.rows).items():
        found[tuple(value for number, value in row if number < len(COLUMNS.names))] += count
    return found


class Copied(Look):
    """Follows the changes as an asset with ``changes_since_last_run`` does: its table is a copy of the source."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        keys = {*history.shape.keys, *history.shape.partitions} if history.shape.keys else ()
        self.own = history.warehouse.table("copy", COLUMNS, primary_keys=sorted(keys))
        self.consumer = history.draw.choice((None, "asset"))
        self.read: tuple[int, int, str] | None = None

    def poll(self) -> None:
        """One run of the asset. It may fail before its commit."""
        metadata: dict[str, Any] = {}
        key = dg.AssetKey(OWN.split("."))
        context: Any = SimpleNamespace(
            selected_asset_keys={key},
            assets_def=SimpleNamespace(metadata_by_key={}),
            op_execution_context=SimpleNamespace(op_def=SimpleNamespace(output_defs=[SimpleNamespace(name="result")])),
            run=SimpleNamespace(tags={}),
            get_output_metadata=lambda _: metadata,
            add_output_metadata=lambda found, _: metadata.update(found),
            log=logging.getLogger("silent"),
        )
        catalog = self.history.warehouse.catalog
        lakehouse: Any = SimpleNamespace(table=catalog.load_table, catalog=lambda: catalog)
        self.check_lag()
        found = changes_since_last_run(context, lakehouse, SOURCE, columns=COLUMNS.names, consumer=self.consumer)
        self.note(f"reads {found.since}..{found.until} complete={found.is_complete}: {found.rows.to_pylist()[:12]}")
        self.seen["runs"] += 1
        self.seen["complete runs"] += found.is_complete
        if self.history.draw.random() < 0.15:
            self.seen["failed runs"] += 1
            return
        self.write(found.rows, metadata)
        latest = self.history.latest
        self.read = None if latest is None else (self.history.generation, *identity(latest.snapshot))
        if latest is not None and not self.is_comparable(latest):
            return
        held, expected = Counter(map(tuple, _values(self.own))), rows_of(latest)
        if held != expected:
            self.fail(f"lacks {dict(expected - held)} and has also {dict(held - expected)}")
        self.seen["compared"] += 1

    def write(self, rows: pa.Table, metadata: dict[str, Any]) -> None:
        """Write the output as the IO manager does."""
        position = ReadPosition.in_metadata(metadata)
        consumed = {} if position is None else position.consumed()
        properties = {name: text for source, read in consumed.items() for name, text in read.properties(source).items()}
        if not self.history.shape.keys:
            rows = rows.drop_columns(["rowkind"])
        else:
            rows = rows.rename_columns(["_row_kind", *rows.column_names[1:]])
        own = self.own.copy({"dynamic-partition-overwrite": "false"})
        if metadata.get("paimon/write_mode") == "overwrite_table":
            own.overwrite(rows, properties=properties)
        elif properties:
            own.append(rows, properties=properties)

    def is_comparable(self, state: State) -> bool:
        shape = self.history.shape
        if shape.producer == "full-compaction":
            top = self.history.opened().options.compaction.num_levels - 1
            return state.levels <= {top} and not state.postponed
        return not shape.keys or (not state.postponed and (shape.producer == "input" or 0 not in state.levels))

    def check_lag(self) -> None:
        """Compare with the check ``inputs_consumed``."""
        read = _consumed(self.own.snapshots()).get(SOURCE)
        states = self.history.states
        if read is None or self.read is None or self.read[0] != self.history.generation or read.id != self.read[1]:
            return
        lag = _unread(self.history.opened(), read)
        state = states.get(read.id)
        if state is None or identity(state.snapshot) != self.read[1:]:
            if not lag and any(s.commit_kind is CommitKind.APPEND for s in self.history.opened().snapshots()):
                self.fail(f"inputs_consumed does not notice that snapshot {read.id} was replaced")
            return
        later = [n for n, s in states.items() if n > read.id and rows_of(s) != rows_of(states[n - 1])]
        if later and not lag and 0 not in state.levels and not state.postponed:
            self.fail(f"inputs_consumed does not notice snapshot {later}")


def _values(table: Table) -> list[tuple[Any, ...]]:
    found = table.scan(columns=COLUMNS.names).to_arrow(threads=1)
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


def search(seed: int, steps: int = STEPS) -> Counter[str]:
    """Look at one table between random steps; what was seen."""
    draw = random.Random(seed)
    history = History(memory_warehouse(), draw, drawn_shape(draw))
    looks: list[Follower] = [Reports(history), Changed(history)]
    if history.shape.producer != "none" or not history.shape.keys:
        looks.append(Copied(history))
    follow_steps(history, looks, steps)
    return total_seen(looks)


def main() -> int:
    """Search, and print what was seen."""
    return run_search(search, "tests.dagster_paimon.sensors.followed_histories", __doc__)


if __name__ == "__main__":
    sys.exit(main())
