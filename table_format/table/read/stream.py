"""Reading a table as it grows: a state first, if the start mode has one, then what one snapshot after another changed.

Java ``DataTableStreamScan`` with its starting and follow-up scanners. Changes are changelog files where the table has a
``changelog-producer``, else what commits with new rows wrote; compaction changes nothing, and overwrites are shown only
when the table's options say so. Rows are shown in the schema the table was opened with.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

import pyarrow as pa

from table_format.errors import InvalidInputError, SnapshotExpired, SnapshotNotFound
from table_format.metastore.references.consumers import next_snapshot, reset_consumer
from table_format.metastore.references.expired_reads import explaining_expiry, retry_if_expired
from table_format.metastore.schema.table_identity import require_same_table
from table_format.metastore.snapshot.changelog_store import ChangeHistory
from table_format.model.arguments import optional_whole_number
from table_format.model.predicate import Predicate
from table_format.model.schema import TableSchema
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot
from table_format.model.split import DataSplit
from table_format.options.declare import Operation
from table_format.options.startup import StartupMode
from table_format.options.stream import CONSUMER_ID
from table_format.table.facts import TableFacts
from table_format.table.read.change_plans import changes_of
from table_format.table.read.changelog_rows import read_changes
from table_format.table.read.plan import Plan
from table_format.table.read.state_plan import state_plan
from table_format.table.read.stream_plans import first_plan, plan_of_changes
from table_format.table.read.stream_start import not_before_earliest, starting_id, starting_state, stream_mode
from table_format.table.read.time_travel import Starting
from table_format.table.rows.row_kinds import kind_texts, row_kind_schema

_Plan = TypeVar("_Plan", Plan, "Plan | None")
_AT_LEAST_ONCE: Final = "at-least-once"


class StreamScan:
    """One reader's way through the changes of a table; it is used by one thread.

    The position is the id of the next snapshot to look at. It moves when a plan is given out. When a reader has dealt
    with a plan it calls ``acknowledge``, which records the progress of a consumer.
    """

    def __init__(
        self, facts: TableFacts, columns: Sequence[str] | None = None, filter: str | Predicate | None = None
    ) -> None:
        facts.require(Operation.READ)
        self.facts = facts
        self.columns = columns
        self.filter = filter
        self.watermark: int | None = None
        """The watermark of the snapshot of the last plan, if it has one."""
        self.is_finished = False
        """Whether the stream has come to its end, which only ``scan.bounded.watermark`` gives it."""
        self._mode = stream_mode(facts)
        self._latest_at_start = facts.snapshots.latest_id() if self._mode is StartupMode.LATEST else None
        self._next: int | None = None
        self._changes: ChangeHistory = changes_of(facts)
        self._empty = state_plan(facts, Starting(None, facts.schema), columns, filter)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows: ``rowkind``, then the columns asked for."""
        return row_kind_schema(self._empty.fields)

    def next_plan(self) -> Plan | None:
        """The next splits to read; ``None`` when there is nothing new, or no more at all (``is_finished``).

        Raises:
            SnapshotExpired: changes have been expired before they were read; the message says how to go on.
            SnapshotNotFound: the table was made anew or rolled back to before the position.
            UnsupportedFeature: the table has a feature without which its rows would be wrong.
            SchemaChanged: the table was altered since it was opened, and its old schema would cut values. The position
                stays: open the table again, and go on at the ``checkpoint`` of this stream.
            TableNotFound, TableReplaced: it was dropped since it was opened.
        """
        require_same_table(self.facts.store)
        if self.facts.options.stream.consumer_mode == _AT_LEAST_ONCE:
            self._record(self._next)  # who asks for more is done with what it had
        if self.is_finished:
            return None
        before = self._next, self.watermark
        try:
            return self._plan_at_position()
        except BaseException:  # an interrupt as well: a plan that nobody got is planned again
            self._next, self.watermark = before
            self.is_finished = False
            raise

    def _plan_at_position(self) -> Plan | None:
        if self._next is None:
            plan = self._start()
            if plan is not None and len(plan):
                return plan
        return None if self._next is None else self._follow(self._next)

    def read(self, split: DataSplit) -> Generator[pa.RecordBatch]:
        """The rows of one split of a plan, with the column ``rowkind`` (``+I``, ``-U``, ``+U``, ``-D``) in front.

        Raises:
            SnapshotExpired: the files were expired since they were planned.
        """
        schemas = self._schemas_of(split)
        store, options, schema = self.facts.store, self.facts.options, self.facts.schema
        fields, pruning = self._empty.fields, self._empty.pruning
        for batch in read_changes(store, schemas, schema, options, split, fields, pruning, keep_deletes=False):
            yield kind_texts(batch, fields)

    def to_arrow(self, plan: Plan) -> pa.Table:
        """All rows of a plan."""
        return pa.Table.from_batches((batch for split in plan for batch in self.read(split)), schema=self.schema)

    # --- position ---------------------------------------------------------------------------------------------------

    def checkpoint(self) -> int | None:
        """The id of the snapshot the next plan begins to look at; ``None`` before the first plan."""
        return self._next

    def restore(self, next_snapshot_id: int | None) -> None:
        """Go on at a checkpoint; ``None`` starts anew.

        Raises:
            InvalidInputError: no snapshot can have that id.
        """
        next_snapshot_id = optional_whole_number(next_snapshot_id, "next_snapshot_id")
        if next_snapshot_id is not None and next_snapshot_id < FIRST_SNAPSHOT_ID:
            message = f"{next_snapshot_id} is no checkpoint: snapshot ids begin with {FIRST_SNAPSHOT_ID}"
            raise InvalidInputError(message)
        self._next = next_snapshot_id
        self.is_finished = False

    def acknowledge(self, next_snapshot_id: int | None = None) -> None:
        """Say that everything before a checkpoint (the present one without) has been dealt with.

        With a ``consumer-id`` that is recorded in the table: a new stream of the consumer goes on there, and expiry
        keeps what comes after. Without one nothing happens.

        Raises:
            OSError: the store failed.
        """
        self._record(self._next if next_snapshot_id is None else next_snapshot_id)

    def _record(self, next_snapshot_id: int | None) -> None:
        consumer = self.facts.options.stream.consumer_id
        if consumer is not None and next_snapshot_id is not None:
            reset_consumer(self.facts.store, consumer, next_snapshot_id)

    # --- the first plan ---------------------------------------------------------------------------------------------

    def _start(self) -> Plan | None:
        """Take the position the options name; the state to begin with, if they name one."""
        options = self.facts.options
        consumer = options.stream.consumer_id
        if consumer is not None and not options.stream.ignore_progress:
            progress = next_snapshot(self.facts.store, consumer)
            if progress is not None:
                self._next = not_before_earliest(self._changes, progress)
                return None
        if self._mode in (StartupMode.LATEST, StartupMode.FROM_SNAPSHOT, StartupMode.FROM_TIMESTAMP):
            self._next = starting_id(self.facts, self._changes, self._mode, self._latest_at_start)
            return None
        return retry_if_expired(lambda: self._state(starting_state(self.facts, self._mode)))

    def _state(self, start: Starting | int | None) -> Plan | None:
        if isinstance(start, int):
            self._next = start
            return None
        if start is None or start.snapshot is None:
            return None
        snapshot = start.snapshot
        plan = self._guarded(snapshot, partial(first_plan, self.facts, start, self.columns, self.filter))
        self._next = snapshot.id + 1
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
            self._next = next_id
            if plan is not None:
                self.watermark = snapshot.watermark
                if len(plan):
                    return plan

    def _guarded(self, snapshot: Snapshot, plan: Callable[[], _Plan]) -> _Plan:
        with explaining_expiry(self.facts.store, snapshot.id):
            return plan()

    def _missing(self, next_id: int) -> Snapshot | None:
        """Why there are no changes of that id: they are to come, or the error that says that they are gone."""
        latest = self.facts.snapshots.latest_id()
        if latest is None or next_id > latest:
            if next_id > (latest or 0) + 1:
                message = (
                    f"{self.facts.name}: the stream has come to snapshot {next_id} and the latest is {latest}; the "
                    f"table was made anew or rolled back. Start the stream anew"
                )
                raise SnapshotNotFound(message)
            return None
        found = self._changes.find(next_id)  # it may have come meanwhile
        if found is None:
            earliest = self._changes.earliest_id()
            message = (
                f"{self.facts.name}: the changes of snapshot {next_id} were expired before they were read; those of "
                f"{earliest} to {latest} are there. Start the stream anew, or go on with restore({earliest}). To keep "
                f"what a stream has still to read give it a {CONSUMER_ID.key}, or retain snapshots longer "
                f"(snapshot.time-retained, snapshot.num-retained.max)"
            )
            raise SnapshotExpired(message)
        return found

    def _is_too_young(self, snapshot: Snapshot) -> bool:
        delay = self.facts.options.stream.delay_ms
        return delay is not None and snapshot.time_millis > self.facts.store.runtime.clock.now_ms() - delay

    def _is_behind_end(self, snapshot: Snapshot) -> bool:
        end = self.facts.options.stream.bounded_watermark
        return end is not None and snapshot.watermark is not None and snapshot.watermark > end

    def _schemas_of(self, split: DataSplit) -> Mapping[int, TableSchema]:
        return {file.schema_id: self.facts.schemas[file.schema_id] for file in (*split.before_files, *split.files)}
