"""Random histories of one table, compared with a plain dict: equal at every retained snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from table_format import Schema, Table, load_catalog
from table_format.io.memory import MemoryFileIO
from table_format.runtime import Runtime
from tests.support.matrix import tries

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), pa.field("seq", pa.int32()), pa.field("v", pa.string())])
KEYS = st.integers(0, 12)
ROWS = st.lists(
    st.tuples(st.sampled_from(["+I", "+U", "-D", "-U"]), KEYS, st.none() | st.integers(0, 4)), min_size=1, max_size=12
)
State = dict[int, tuple[int | None, str]]


@dataclass
class Expected:
    """The contents of a key-value store: the winning row of each key, including retracted rows."""

    by_sequence: bool
    ignore_delete: bool
    winners: dict[int, tuple[str, int | None, str]] = field(default_factory=dict)

    def apply(self, kind: str, key: int, seq: int | None, value: str) -> None:
        if self.ignore_delete and kind.startswith("-"):
            return
        before = self.winners.get(key)
        if before is None or not self.by_sequence or _rank(seq) >= _rank(before[1]):
            self.winners[key] = (kind, seq, value)

    def forget_retracts(self) -> None:
        """A compaction to the highest level ends a deleted key: an older sequence value may come back."""
        self.winners = {k: w for k, w in self.winners.items() if not w[0].startswith("-")}

    @property
    def rows(self) -> State:
        return {k: (seq, v) for k, (kind, seq, v) in self.winners.items() if not kind.startswith("-")}


def _rank(seq: int | None) -> int:
    return -1 if seq is None else seq


class TableHistory(RuleBasedStateMachine):
    """Upserts, deletes, compactions and expiries in any order."""

    table: Table
    expected: Expected

    @initialize(
        buckets=st.integers(1, 3), by_sequence=st.booleans(), ignore_delete=st.booleans(), trigger=st.integers(2, 4)
    )
    def create(self, buckets: int, by_sequence: bool, ignore_delete: bool, trigger: int) -> None:
        options = {
            "bucket": str(buckets),
            "ignore-delete": str(ignore_delete).lower(),
            "num-sorted-run.compaction-trigger": str(trigger),
            # With a sequence field the model must know when a deleted key is forgotten: in full compactions only.
            "write-only": str(by_sequence).lower(),
            "snapshot.num-retained.min": "2",
            **({"sequence.field": "seq"} if by_sequence else {}),
        }
        catalog = load_catalog({"warehouse": "/warehouse"}, file_io=MemoryFileIO(), runtime=Runtime())
        catalog.create_database("db")
        catalog.create_table("db.t", Schema.from_arrow(SCHEMA, primary_keys=["k"], options=options))
        self.table = catalog.load_table("db.t")
        self.expected = Expected(by_sequence, ignore_delete)
        self.history: dict[int, State] = {}
        self.written = 0

    @rule(rows=ROWS)
    def write(self, rows: list[tuple[str, int, int | None]]) -> None:
        values = [f"v{self.written + i}" for i in range(len(rows))]
        self.written += len(rows)
        columns = {
            "k": pa.array([k for _, k, _ in rows], pa.int32()),
            "seq": pa.array([s for _, _, s in rows], pa.int32()),
            "v": pa.array(values),
            "_row_kind": pa.array([kind for kind, _, _ in rows]),
        }
        snapshots = self.table.append(pa.table(columns))
        for (kind, key, seq), value in zip(rows, values, strict=True):
            self.expected.apply(kind, key, seq, value)
        self._remember([s.id for s in snapshots])

    @rule()
    def compact_in_full(self) -> None:
        snapshots = self.table.compact(full=True)
        self.expected.forget_retracts()
        self._remember([s.id for s in snapshots])

    @rule()
    def compact_what_is_due(self) -> None:
        if not self.expected.by_sequence:
            self._remember([s.id for s in self.table.compact()])

    @rule(retained=st.integers(1, 4))
    def expire(self, retained: int) -> None:
        foreseen = self.table.expire_snapshots(dry_run=True, retain_min=1, retain_max=retained, older_than_ms=0)
        done = self.table.expire_snapshots(retain_min=1, retain_max=retained, older_than_ms=0)
        assert done.snapshot_ids == foreseen.snapshot_ids
        self._check_all()

    def teardown(self) -> None:
        if hasattr(self, "table"):
            self._check_all()

    def _remember(self, snapshot_ids: list[int]) -> None:
        for snapshot_id in snapshot_ids:
            self.history[snapshot_id] = dict(self.expected.rows)
            self._check(snapshot_id)

    def _check_all(self) -> None:
        """Every retained snapshot reads as it did."""
        for snapshot in self.table.snapshots():
            self._check(snapshot.id)

    def _check(self, snapshot_id: int) -> None:
        at = self.table.scan(options={"scan.snapshot-id": str(snapshot_id)}).to_arrow(threads=1)
        rows = {r["k"]: (r["seq"], r["v"]) for r in at.to_pylist()}
        assert len(rows) == at.num_rows
        assert rows == self.history[snapshot_id]


TestTableHistory = TableHistory.TestCase
TestTableHistory.settings = settings(
    max_examples=tries(40, many=60),
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
