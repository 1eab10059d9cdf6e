"""The position of a consumer in the history of a table.

A position is the id of the snapshot to read next. After a rollback or a fast-forward, other snapshots have the ids of
the removed ones. The position is therefore stored with the commit before it, and is refused if that commit is gone.
"""

from __future__ import annotations

from functools import partial

from table_format.errors import SnapshotNotFound
from table_format.metastore.references.consumers import consumer_progress, reset_consumer
from table_format.metastore.schema.table_identity import explaining_drop, require_same_table
from table_format.model.arguments import whole_number
from table_format.model.consumer import ConsumerProgress
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot
from table_format.table.facts import TableFacts
from table_format.table.read.change_plans import changes_of


def consumer_position(facts: TableFacts, consumer: str) -> int | None:
    """Return the id of the snapshot that a consumer reads next; ``None`` if the consumer does not exist.

    Raises:
        SnapshotNotFound: the history that the consumer has read was rolled back or replaced.
        BadEncoding: the consumer file cannot be decoded.
    """
    progress = consumer_progress(facts.store, consumer)
    if progress is None:
        return None
    if _is_replaced(progress, _before(facts, progress.next_snapshot), facts.snapshots.latest_id()):
        message = (
            f"{facts.name}: the consumer '{consumer}' reads snapshot {progress.next_snapshot} next, but the table was "
            "rolled back or fast-forwarded since then, and the snapshots before it are others now. Delete the consumer "
            f"with delete_consumer('{consumer}') to start by the options of the scan, or choose its position with "
            f"reset_consumer('{consumer}', id)"
        )
        raise SnapshotNotFound(message)
    return progress.next_snapshot


def record_position(facts: TableFacts, consumer: str, next_id: int, last: Snapshot | None = None) -> None:
    """Record that a consumer has read everything before a snapshot. ``last`` is the last one that was read.

    Raises:
        InvalidInputError: the name or the id is not legal.
        TableNotFound, TableReplaced: the table was dropped since it was loaded. Another table, created in its place,
            gets no such consumer.
        OSError: the store failed.
    """
    next_id = whole_number(next_id, f"next_snapshot_id of consumer '{consumer}'", minimum=FIRST_SNAPSHOT_ID)
    before = last if last is not None and last.id == next_id - 1 else _before(facts, next_id)
    check = partial(require_same_table, facts.store)
    check()
    with explaining_drop(check):
        reset_consumer(facts.store, consumer, next_id, passed=None if before is None else before.delta_manifest_list)


def _before(facts: TableFacts, snapshot_id: int) -> Snapshot | None:
    return changes_of(facts).find(snapshot_id - 1) if snapshot_id > FIRST_SNAPSHOT_ID else None


def _is_replaced(progress: ConsumerProgress, before: Snapshot | None, latest_id: int | None) -> bool:
    if before is not None:
        return progress.passed is not None and before.delta_manifest_list != progress.passed
    return latest_id is not None and progress.next_snapshot > latest_id + 1  # otherwise it has expired
