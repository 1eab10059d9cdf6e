"""The snapshots after the position of a query, planned by ``StreamScan`` and kept until they are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from table_format.errors import (
    InvalidOption,
    SchemaChanged,
    SnapshotNotFound,
    TableReplaced,
    UnsupportedFeature,
)
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.model.split import DataSplit
from table_format.options.merge import MERGE_ENGINE, MergeEngine
from table_format.options.scan import SPLIT_TARGET_SIZE
from table_format.options.stream import CHANGELOG_PRODUCER, CONSUMER_MODE, ChangelogProducer
from table_format.spark.stream.offsets import Offset, Origin, commit_digest, files_digest, table_digest
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan
from table_format.table.read.stream import StreamScan

_NEW_CHECKPOINT = "start the query with a new checkpoint, and options that say where it begins"


@dataclass(frozen=True, slots=True)
class Planned:
    """One snapshot that has rows for the query: its state, or what it changed."""

    snapshot: Snapshot
    plan: Plan

    @property
    def splits(self) -> tuple[DataSplit, ...]:
        """Its splits, in an order that does not change."""
        return self.plan.splits


class PlannedSnapshots:
    """The snapshots that a query reads; it is used by one thread.

    What was planned for ``latestOffset`` is kept for ``partitions``, until the micro-batch is committed.
    """

    def __init__(self, facts: TableFacts, columns: tuple[str, ...]) -> None:
        check_streamable(facts)
        # Progress is what micro-batches have committed, whatever was planned.
        options = facts.options.with_options({CONSUMER_MODE.key: "exactly-once"})
        self._facts = replace(facts, options=options)
        self._table = table_digest(facts.store.identity)
        self._scan = StreamScan(self._facts, columns)
        self._kept: list[Planned] = []
        self._kept_from: int | None = None
        """The snapshot at which what is kept begins; up to where the scan is, nothing is missing in it."""

    def beginning(self) -> Offset:
        """Where a new query begins, by the options of the table or by the progress of its consumer."""
        self._scan.restore(None)
        self._kept, self._kept_from = [], None
        with _stopping_the_query():
            require_same_table(self._facts.store)
            state = self._scan.begin()
        if state is not None and state.snapshot is not None:
            self._kept, self._kept_from = [Planned(state.snapshot, state)], state.snapshot.id
            return Offset.beginning(self._table, Origin(snapshot=state.snapshot.id, is_state=True))
        first = self._scan.checkpoint()
        return Offset.beginning(self._table, None if first is None else Origin(snapshot=first, is_state=False))

    def require_same_table(self, offset: Offset) -> None:
        """Refuse an offset of another table.

        Raises:
            TableReplaced: another table lies at the place, or the checkpoint belongs to another one.
            TableNotFound: the table was dropped.
        """
        with _stopping_the_query():
            require_same_table(self._facts.store)
        if offset.table != self._table:
            message = (
                f"the checkpoint of the query belongs to another table: {self._facts.name} was dropped and created "
                f"again, or was never read with it; {_NEW_CHECKPOINT}"
            )
            raise TableReplaced(message)

    def after(self, offset: Offset) -> Iterator[Planned]:
        """Return the snapshots after an offset, including its own if it has unread splits.

        Raises:
            SnapshotExpired: what is to be read next was expired.
            SnapshotNotFound: the table was rolled back to before the offset.
            SchemaChanged: what comes next was written under another schema than the query shows.
        """
        if offset.origin is None:
            return
        with _stopping_the_query():
            self._go_to(offset)
        is_first = True
        for planned in self._planned_from(offset):
            if is_first:
                self._check_history(offset, planned)
                is_first = False
            self._check_schema(planned.snapshot)
            yield planned
        if is_first and offset.has_begun and not offset.is_complete:
            raise lost(self._facts, offset)

    def forget(self, offset: Offset) -> None:
        """Drop what was read."""
        if self._kept_from is not None and offset.next_snapshot >= self._kept_from:
            self._kept = [planned for planned in self._kept if planned.snapshot.id >= offset.next_snapshot]
            self._kept_from = offset.next_snapshot

    # --- planning -----------------------------------------------------------------------------------------------------

    def _go_to(self, offset: Offset) -> None:
        position, first = self._scan.checkpoint(), offset.next_snapshot
        if self._kept_from is not None and position is not None and self._kept_from <= first <= position:
            return
        self._kept, self._kept_from = [], first
        if offset.is_in_state and not offset.is_complete:
            state = self._scan.begin_with_state(first)
            if state.snapshot is not None:
                self._kept.append(Planned(state.snapshot, state))
        else:
            self._scan.restore(first)

    def _planned_from(self, offset: Offset) -> Iterator[Planned]:
        number = 0
        while True:
            if number == len(self._kept):
                with _stopping_the_query():
                    plan = self._scan.next_plan()
                if plan is None or plan.snapshot is None:
                    return
                self._kept.append(Planned(plan.snapshot, plan))
            if self._kept[number].snapshot.id >= offset.next_snapshot:
                yield self._kept[number]
            number += 1

    # --- what makes a query stop --------------------------------------------------------------------------------------

    def _check_history(self, offset: Offset, following: Planned) -> None:
        """Refuse to go on behind a snapshot that is no longer part of the table's history."""
        if not offset.has_begun:
            return
        if not offset.is_complete:
            verify(self._facts, offset, following)
            return
        found = self._facts.snapshots.find(offset.snapshot)
        # It may be expired: then all that is needed is that the snapshots behind it are there.
        if found is not None and commit_digest(found) != offset.commit:
            raise lost(self._facts, offset)

    def _check_schema(self, snapshot: Snapshot) -> None:
        shown = self._facts.schema
        if snapshot.schema_id <= shown.id:
            return
        written = self._facts.schemas[snapshot.schema_id]
        if _read_by(written) == _read_by(shown):
            return
        message = (
            f"{self._facts.name}: from snapshot {snapshot.id} on the table has schema {written.id}, and the query "
            f"shows schema {shown.id}. All rows before are read: start the query again, with the same checkpoint, and "
            "it goes on with the present columns"
        )
        raise SchemaChanged(message)


def check_streamable(facts: TableFacts) -> None:
    """Refuse tables whose commits do not hold rows as readers see them.

    Raises:
        UnsupportedFeature: the rows of the merge engine come from several commits, and there is no changelog.
    """
    engine, producer = facts.options.merge.engine, facts.options.stream.changelog_producer
    if (
        facts.schema.is_primary_key_table
        and engine is not MergeEngine.DEDUPLICATE
        and producer is ChangelogProducer.NONE
    ):
        feature = f"a streaming query of a table with {MERGE_ENGINE.key} = {engine} and no {CHANGELOG_PRODUCER.key}"
        message = (
            f"{facts.name}: {feature} is not supported: a commit holds parts of rows; set {CHANGELOG_PRODUCER.key} to "
            "lookup or full-compaction"
        )
        raise UnsupportedFeature(feature, message)


def verify(facts: TableFacts, offset: Offset, planned: Planned) -> None:
    """Refuse to go on in a snapshot whose splits are not those that the offset counts.

    Raises:
        SnapshotNotFound: the snapshot is gone, or is another one.
        InvalidOption: its files are divided into splits in another way.
    """
    if planned.snapshot.id != offset.snapshot or commit_digest(planned.snapshot) != offset.commit:
        raise lost(facts, offset)
    if len(planned.splits) != offset.splits or files_digest(planned.splits[: offset.read]) != offset.files:
        message = (
            f"{facts.name}: the query has read {offset.read} of {offset.splits} splits of snapshot {offset.snapshot}, "
            f"and its files make other splits now; set the option back to what it was, or {_NEW_CHECKPOINT}"
        )
        raise InvalidOption(SPLIT_TARGET_SIZE.key, message)


def lost(facts: TableFacts, offset: Offset) -> SnapshotNotFound:
    """The error of a query whose snapshot is no longer part of the table."""
    message = (
        f"{facts.name}: the query has read snapshot {offset.snapshot}, which is not part of the table any more: the "
        f"table was rolled back. {_NEW_CHECKPOINT.capitalize()}"
    )
    return SnapshotNotFound(message)


def _read_by(schema: TableSchema) -> tuple[object, ...]:
    """What readers of changes go by."""
    columns = tuple((field.id, field.name, field.type) for field in schema.fields)
    return columns, schema.primary_keys, schema.partition_keys, CHANGELOG_PRODUCER.read(schema.options)


@contextmanager
def _stopping_the_query() -> Iterator[None]:
    """Say what to do about a query that has lost its place."""
    try:
        yield
    except (SnapshotNotFound, TableReplaced) as error:
        message = f"{error}. A streaming query cannot go on here: {_NEW_CHECKPOINT}"
        raise type(error)(message) from error
    except SchemaChanged as error:
        message = f"{error}. All rows before are read: start the streaming query again, with the same checkpoint"
        raise SchemaChanged(message) from error
