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
from table_format.metastore.references.expired_reads import explaining_expiry
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
from table_format.table.read.stream import RESTART, StreamScan

_NEW_CHECKPOINT = "start the query with a new checkpoint, and with options that set where it begins"


@dataclass(frozen=True, slots=True)
class Planned:
    """One snapshot with rows for the query: its state or its changes."""

    snapshot: Snapshot
    plan: Plan

    @property
    def splits(self) -> tuple[DataSplit, ...]:
        """The splits, in a stable order."""
        return self.plan.splits


class PlannedSnapshots:
    """The snapshots that a query reads. Used by one thread.

    Plans of ``latestOffset`` are kept for ``partitions`` until the micro-batch is committed.
    """

    def __init__(self, facts: TableFacts, columns: tuple[str, ...]) -> None:
        check_streamable(facts)
        # Committed micro-batches determine the progress, not the plans.
        options = facts.options.with_options({CONSUMER_MODE.key: "exactly-once"})
        self._facts = replace(facts, options=options)
        self._table = table_digest(facts.store.identity)
        self._scan = StreamScan(self._facts, columns)
        self._kept: list[Planned] = []
        self._kept_from: int | None = None
        """The first snapshot with kept plans. From there to the position of the scan, the plans are complete."""

    def beginning(self) -> Offset:
        """Return where a new query begins, by the options of the table or the progress of its consumer."""
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
            TableReplaced: another table has this path, or the checkpoint belongs to another table.
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
            SnapshotExpired: the next snapshot has expired.
            SnapshotNotFound: the table was rolled back to before the offset.
            SchemaChanged: the next snapshot has another schema than the query.
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
        if is_first and offset.has_begun:
            self._check_end(offset)

    def refresh(self) -> None:
        """Forget all plans if the table was rolled back since the last micro-batch.

        The rows of the micro-batch may still exist: the rollback may have removed only later snapshots.
        """
        if self._scan.is_behind_rollback():
            self._kept, self._kept_from = [], None

    def forget(self, offset: Offset) -> None:
        """Drop the plans of snapshots that were read."""
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

    # --- errors that stop a query -------------------------------------------------------------------------------------

    def _check_history(self, offset: Offset, following: Planned) -> None:
        """Refuse to continue after a snapshot that is no longer in the history of the table."""
        if not offset.has_begun:
            return
        if not offset.is_complete:
            verify(self._facts, offset, following)
            return
        # The snapshot may have expired; then it is sufficient that the following snapshots exist.
        if self._is_removed(offset.snapshot, offset.commit):
            raise lost(self._facts, offset)

    def _check_end(self, offset: Offset) -> None:
        """Refuse to wait after an offset whose snapshot is no longer in the history of the table."""
        if not offset.is_complete or self._is_removed(offset.snapshot, offset.commit):
            raise lost(self._facts, offset)

    def _is_removed(self, snapshot_id: int, digest: str) -> bool:
        """Return whether a rollback has removed a snapshot, after which its id may have been used again."""
        found = self._facts.snapshots.find(snapshot_id)
        if found is None:
            return snapshot_id > (self._facts.snapshots.latest_id() or 0)
        return commit_digest(found) != digest

    def _check_schema(self, snapshot: Snapshot) -> None:
        shown = self._facts.schema
        if snapshot.schema_id <= shown.id:
            return
        written = self._facts.schemas[snapshot.schema_id]
        if _read_by(written) == _read_by(shown):
            return
        message = (
            f"{self._facts.name}: from snapshot {snapshot.id} on, the table has schema {written.id}, but the query has "
            f"schema {shown.id}. All earlier rows were read: restart the query with the same checkpoint, and it "
            "continues with the current columns"
        )
        raise SchemaChanged(message)


def check_streamable(facts: TableFacts) -> None:
    """Refuse tables whose commits do not contain rows as readers see them.

    Raises:
        UnsupportedFeature: the merge engine combines rows of several commits, and the table has no changelog.
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
    """Refuse to continue in a snapshot whose splits differ from those of the offset.

    Raises:
        SnapshotNotFound: the snapshot does not exist, or is another one with the same id.
        InvalidOption: an option changed how files are divided into splits.
    """
    if planned.snapshot.id != offset.snapshot or commit_digest(planned.snapshot) != offset.commit:
        raise lost(facts, offset)
    if len(planned.splits) != offset.splits or files_digest(planned.splits[: offset.read]) != offset.files:
        message = (
            f"{facts.name}: the query has read {offset.read} of {offset.splits} splits of snapshot {offset.snapshot}, "
            f"but the files are now divided into other splits; restore the option, or {_NEW_CHECKPOINT}"
        )
        raise InvalidOption(SPLIT_TARGET_SIZE.key, message)


@contextmanager
def explaining_loss(facts: TableFacts, plan: Plan) -> Iterator[None]:
    """Guard the read of a plan: if its files are missing, say what happened to the table or its snapshot."""
    with _stopping_the_query(), explaining_expiry(facts.store, plan.snapshot):
        yield


def lost(facts: TableFacts, offset: Offset) -> SnapshotNotFound:
    """Return the error of a query whose snapshot is no longer in the history of the table."""
    message = (
        f"{facts.name}: the query has read snapshot {offset.snapshot}, which is no longer in the history of the table: "
        f"the table was rolled back, or a branch has replaced its snapshots. {_NEW_CHECKPOINT.capitalize()}"
    )
    return SnapshotNotFound(message)


def _read_by(schema: TableSchema) -> tuple[object, ...]:
    """Return the parts of a schema that determine how changes are read."""
    columns = tuple((field.id, field.name, field.type) for field in schema.fields)
    return columns, schema.primary_keys, schema.partition_keys, CHANGELOG_PRODUCER.read(schema.options)


@contextmanager
def _stopping_the_query() -> Iterator[None]:
    """Add advice to errors of a query that has lost its position."""
    try:
        yield
    except (SnapshotNotFound, TableReplaced) as error:
        # The advice for users of ``StreamScan`` is replaced, but not how to keep snapshots.
        reason, _, advice = str(error).partition(RESTART)
        _, stop, how_to_keep = advice.partition(". ")
        message = f"{reason}. The streaming query cannot continue: {_NEW_CHECKPOINT}{stop}{how_to_keep}"
        raise type(error)(message) from error
    except SchemaChanged as error:
        message = f"{error}. All earlier rows were read: restart the streaming query with the same checkpoint"
        raise SchemaChanged(message) from error
