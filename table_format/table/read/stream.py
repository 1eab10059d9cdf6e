"""Streaming reads: first a state, if the start mode has one, then the changes of one snapshot after another.

Java ``DataTableStreamScan`` with its starting and follow-up scanners. Changes are changelog files if the table has a
``changelog-producer``, otherwise the files of commits with new rows. Compactions change nothing, and overwrites are
shown only if the table options say so. Rows have the schema with which the table was loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

import pyarrow as pa

from table_format.errors import CorruptionError, InvalidInputError, SnapshotExpired, SnapshotNotFound
from table_format.metastore.references.expired_reads import explaining_expiry, retry_if_expired
from table_format.metastore.schema.table_identity import require_same_table
from table_format.metastore.snapshot.changelog_store import ChangeHistory
from table_format.model.arguments import optional_whole_number
from table_format.model.condition import Filter
from table_format.model.schema import TableSchema
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot
from table_format.model.split import DataSplit
from table_format.options.declare import Operation
from table_format.options.startup import StartupMode
from table_format.options.stream import CONSUMER_ID
from table_format.table.facts import TableFacts
from table_format.table.read.change_plans import changes_of
from table_format.table.read.changelog_rows import read_changes
from table_format.table.read.consumer_position import consumer_position, record_position
from table_format.table.read.plan import Plan
from table_format.table.read.state_plan import state_plan
from table_format.table.read.stream_plans import first_plan, plan_of_changes
from table_format.table.read.stream_start import not_before_earliest, starting_id, starting_state, state_of, stream_mode
from table_format.table.read.time_travel import Starting
from table_format.table.rows.row_kinds import kind_texts, row_kind_schema

_Plan = TypeVar("_Plan", Plan, "Plan | None")
_AT_LEAST_ONCE: Final = "at-least-once"

RESTART: Final = ". Restart the stream"
"""The beginning of the advice in the error of a stream that has lost its position."""


class StreamScan:
    """A stream of the changes of a table. Use it from one thread.

    The position is the id of the next snapshot to read. It advances when a plan is returned. After processing a plan,
    a reader calls ``acknowledge``, which records the progress of a consumer.

    >>> stream = table.stream()
    >>> stream.to_arrow(stream.next_plan()).num_rows, stream.checkpoint(), stream.next_plan()
    (3, 3, None)
    >>> [snapshot] = table.append(pa.table({"id": [4], "day": ["2026-01-02"], "state": ["new"], "amount": [40]}))
    >>> stream.to_arrow(stream.next_plan()).select(["rowkind", "id"]).to_pylist()
    [{'rowkind': '+I', 'id': 4}]
    """

    def __init__(self, facts: TableFacts, columns: Sequence[str] | None = None, filter: Filter | None = None) -> None:
        facts.require(Operation.READ)
        self.facts = facts
        self.columns = columns
        self.filter = filter
        self.watermark: int | None = None
        """The watermark of the snapshot of the last plan, if it has one."""
        self.is_finished = False
        """Whether the stream has ended. Only streams with ``scan.bounded.watermark`` end."""
        self._mode = stream_mode(facts)
        self._latest_at_start = facts.snapshots.latest_id() if self._mode is StartupMode.LATEST else None
        self._next: int | None = None
        self._last: Snapshot | None = None
        """The snapshot before the position, if this stream has passed it."""
        self._changes: ChangeHistory = changes_of(facts)
        self._empty = state_plan(facts, Starting(None, facts.schema), columns, filter)

    def __repr__(self) -> str:
        return f"StreamScan({self.facts.name}, next snapshot: {self._next or 'not known yet'})"

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows: ``rowkind``, then the selected columns."""
        return row_kind_schema(self._empty.fields)

    def next_plan(self) -> Plan | None:
        """Return the next splits to read; ``None`` if there is nothing new, or if the stream has ended
        (``is_finished``).

        Raises:
            SnapshotExpired: changes expired before they were read; the message says how to continue.
            SnapshotNotFound: the table was created again, or rolled back to a snapshot before the position of the
                stream or of its consumer.
            UnsupportedFeature: the table has a feature without which its rows would be wrong.
            SchemaChanged: the table has been altered since it was loaded, and its old schema would truncate values.
                The position stays: load the table again, and continue at the ``checkpoint`` of this stream.
            TableNotFound, TableReplaced: the table has been dropped since it was loaded.
        """
        self.facts.require_same_schema()
        if self.facts.options.stream.consumer_mode == _AT_LEAST_ONCE:
            self._record(self._next)  # asking for the next plan acknowledges the previous one
        if self.is_finished:
            return None
        if self.is_behind_rollback():
            raise self._rolled_back()
        before = self._next, self._last, self.watermark
        try:
            plan = self._plan_at_position()
            if plan is not None:  # its snapshots may be those of a fast-forward that came after the first check
                self.facts.require_same_schema()
        except BaseException:  # also after an interrupt: a plan that was not returned is planned again
            self._next, self._last, self.watermark = before
            self.is_finished = False
            raise
        return plan

    def _plan_at_position(self) -> Plan | None:
        if self._next is None:
            plan = self.begin()
            if plan is not None and len(plan):
                return plan
            if plan is None:
                self.is_finished = self._begins_behind_end()
        return None if self._next is None or self.is_finished else self._follow(self._next)

    def _begins_behind_end(self) -> bool:
        """Return whether the snapshot before the start position is already behind the end."""
        before = None if self._next is None else self.facts.snapshots.find(self._next - 1)
        return before is not None and self._is_behind_end(before)

    def read(self, split: DataSplit) -> Generator[pa.RecordBatch]:
        """Return the rows of one split of a plan. The first column is ``rowkind`` (``+I``, ``-U``, ``+U``, ``-D``).

        Raises:
            SnapshotExpired: the files have expired since they were planned.
            SnapshotNotFound: they were removed by a rollback or a fast-forward.
        """
        schemas = self._schemas_of(split)
        store, options, schema = self.facts.store, self.facts.options, self.facts.schema
        fields, pruning = self._empty.fields, self._empty.pruning
        try:
            for batch in read_changes(store, schemas, schema, options, split, fields, pruning, keep_deletes=False):
                yield kind_texts(batch, fields)
        except (CorruptionError, SnapshotExpired) as error:
            if self.is_behind_rollback():
                raise self._rolled_back() from error
            raise

    def to_arrow(self, plan: Plan) -> pa.Table:
        """Return all rows of a plan."""
        return pa.Table.from_batches((batch for split in plan for batch in self.read(split)), schema=self.schema)

    # --- position ---------------------------------------------------------------------------------------------------

    def checkpoint(self) -> int | None:
        """Return the id of the snapshot at which the next plan begins; ``None`` before the first plan."""
        return self._next

    def restore(self, next_snapshot_id: int | None) -> None:
        """Continue at a checkpoint; ``None`` restarts the stream.

        Raises:
            InvalidInputError: no snapshot can have that id.
        """
        next_snapshot_id = optional_whole_number(next_snapshot_id, "next_snapshot_id")
        if next_snapshot_id is not None and next_snapshot_id < FIRST_SNAPSHOT_ID:
            message = f"{next_snapshot_id} is not a checkpoint: snapshot ids begin with {FIRST_SNAPSHOT_ID}"
            raise InvalidInputError(message)
        self._next, self._last = next_snapshot_id, None
        self.is_finished = False

    def is_behind_rollback(self) -> bool:
        """Return whether a rollback has removed the last snapshot that this stream has passed.

        Another snapshot may have its id by now.
        """
        return self._last is not None and self.facts.snapshots.has_removed(self._last)

    def acknowledge(self, next_snapshot_id: int | None = None) -> None:
        """Record that everything before a checkpoint (by default the current one) has been processed.

        With a ``consumer-id``, the position is stored in the table: a new stream of the consumer continues there, and
        expiry keeps later snapshots. Without one, this does nothing.

        Raises:
            TableNotFound, TableReplaced: the table has been dropped since it was loaded. Nothing was recorded.
            OSError: the store failed.
        """
        self._record(self._next if next_snapshot_id is None else next_snapshot_id)

    def _record(self, next_snapshot_id: int | None) -> None:
        consumer = self.facts.options.stream.consumer_id
        if consumer is not None and next_snapshot_id is not None:
            record_position(self.facts, consumer, next_snapshot_id, self._last)

    # --- the first plan ---------------------------------------------------------------------------------------------

    def begin(self) -> Plan | None:
        """Move to the start position of the options or of the consumer. Return the plan of the initial state, if
        there is one.

        ``next_plan`` calls this when needed. If the table has no snapshot to begin with, there is still no position
        and no plan.
        """
        options = self.facts.options
        consumer = options.stream.consumer_id
        if consumer is not None and not options.stream.ignore_progress:
            progress = consumer_position(self.facts, consumer)
            if progress is not None:
                self._next = not_before_earliest(self._changes, progress)
                return None
        if self._mode in (StartupMode.LATEST, StartupMode.FROM_SNAPSHOT, StartupMode.FROM_TIMESTAMP):
            self._next = starting_id(self.facts, self._changes, self._mode, self._latest_at_start)
            return None
        return retry_if_expired(lambda: self._state(starting_state(self.facts, self._mode)))

    def begin_with_state(self, snapshot_id: int) -> Plan:
        """Plan again the initial state of an earlier stream with these options, and continue after it.

        Raises:
            SnapshotExpired, SnapshotNotFound: the snapshot no longer exists.
        """
        snapshot = self.facts.snapshots.load(snapshot_id)
        return self._plan_of_state(state_of(self.facts, self._mode, snapshot), snapshot)

    def _state(self, start: Starting | int | None) -> Plan | None:
        if isinstance(start, int):
            self._next = start
            return None
        if start is None or start.snapshot is None:
            return None
        return self._plan_of_state(start, start.snapshot)

    def _plan_of_state(self, start: Starting, snapshot: Snapshot) -> Plan:
        plan = self._guarded(snapshot, partial(first_plan, self.facts, start, self.columns, self.filter))
        self._next, self._last = snapshot.id + 1, snapshot
        self.watermark = snapshot.watermark
        self.is_finished = self._is_behind_end(snapshot)
        return plan

    # --- plans of changes -------------------------------------------------------------------------------------------

    def _follow(self, next_id: int) -> Plan | None:
        while True:
            snapshot = self._changes.find(next_id) or self._missing(next_id)
            if snapshot is None or self._is_too_young(snapshot):
                return None
            if self._is_behind_end(snapshot):
                self.is_finished = True
                return None
            plan = self._guarded(snapshot, partial(plan_of_changes, self.facts, snapshot, self.columns, self.filter))
            next_id += 1
            self._next, self._last = next_id, snapshot
            if plan is not None:
                self.watermark = snapshot.watermark
                if len(plan):
                    return plan

    def _guarded(self, snapshot: Snapshot, plan: Callable[[], _Plan]) -> _Plan:
        with explaining_expiry(self.facts.store, snapshot):
            return plan()

    def _missing(self, next_id: int) -> Snapshot | None:
        """Return ``None`` if the changes do not exist yet, or the error if they no longer exist."""
        latest = self.facts.snapshots.latest_id()
        if latest is None or next_id > latest:
            if next_id > (latest or 0) + 1:
                raise self._rolled_back()
            return None
        found = self._changes.find(next_id)  # it may exist by now
        if found is None:
            require_same_table(self.facts.store)
            earliest = self._changes.earliest_id()
            message = (
                f"{self.facts.name}: the changes of snapshot {next_id} expired before they were read; those of "
                f"{earliest} to {latest} exist{RESTART}, or continue with restore({earliest}). To keep "
                f"unread changes, set a {CONSUMER_ID.key} for the stream, or retain snapshots longer "
                f"(snapshot.time-retained, snapshot.num-retained.max)"
            )
            raise SnapshotExpired(message)
        return found

    def _rolled_back(self) -> SnapshotNotFound:
        require_same_table(self.facts.store)  # a table that was dropped lacks the snapshots too
        latest = self.facts.snapshots.latest_id()
        message = (
            f"{self.facts.name}: the stream is at snapshot {self._next}; since then, the table was rolled back or "
            f"created again, and its latest snapshot is {latest}{RESTART}"
        )
        return SnapshotNotFound(message)

    def _is_too_young(self, snapshot: Snapshot) -> bool:
        delay = self.facts.options.stream.delay_ms
        return delay is not None and snapshot.time_millis > self.facts.store.runtime.clock.now_ms() - delay

    def _is_behind_end(self, snapshot: Snapshot) -> bool:
        end = self.facts.options.stream.bounded_watermark
        return end is not None and snapshot.watermark is not None and snapshot.watermark > end

    def _schemas_of(self, split: DataSplit) -> Mapping[int, TableSchema]:
        return {file.schema_id: self.facts.schemas[file.schema_id] for file in (*split.before_files, *split.files)}
