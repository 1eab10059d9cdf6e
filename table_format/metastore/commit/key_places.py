"""Checks whether keys still have the places that they had in the snapshot with which rows were placed.

This is for cross-partition tables (format chapter 11, section 2). The reference documents that only one writer is
allowed. Here, messages record the snapshot, and a commit after later rows is a conflict.
"""

from __future__ import annotations

from typing import Final

from table_format.errors import KeyPlacesChanged
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot

NO_SNAPSHOT: Final = "0:"
"""The identity of a table without snapshots."""

MOVES_NO_KEY: Final = frozenset((CommitKind.COMPACT, CommitKind.ANALYZE))
"""The kinds of snapshots that do not change the place of any key."""


def snapshot_identity(snapshot: Snapshot | None) -> str:
    """Return the identity of a snapshot, which is unique even if its id is reused after a rollback or in another table.

    >>> snapshot_identity(None)
    '0:'
    """
    # The name of a manifest list contains a UUID.
    return NO_SNAPSHOT if snapshot is None else f"{snapshot.id}:{snapshot.delta_manifest_list}"


def snapshots_since(identity: str, latest: Snapshot | None, snapshots: SnapshotStore) -> list[Snapshot] | None:
    """Return the snapshots after one up to the latest; ``None`` if it is not, or may not be, in the history."""
    latest_id = 0 if latest is None else latest.id
    known_id = int(identity.partition(":")[0])
    if known_id > latest_id:
        return None
    if known_id >= FIRST_SNAPSHOT_ID:
        known = latest if known_id == latest_id else snapshots.find(known_id)
        if known is None or snapshot_identity(known) != identity:
            return None
    steps: list[Snapshot] = []
    for snapshot_id in range(known_id + 1, latest_id + 1):
        step = latest if snapshot_id == latest_id else snapshots.find(snapshot_id)
        if step is None:
            return None
        steps.append(step)
    return steps


def may_have_moved_keys(identity: str, latest: Snapshot | None, snapshots: SnapshotStore) -> bool:
    """Return whether a later snapshot may have changed the place of a key."""
    steps = snapshots_since(identity, latest, snapshots)
    return steps is None or any(step.commit_kind not in MOVES_NO_KEY for step in steps)


def key_places_changed(identity: str, latest: Snapshot | None, *, written: str) -> KeyPlacesChanged:
    """Return the conflict of rows that were placed with a snapshot after which others have ``written`` rows."""
    return KeyPlacesChanged(
        f"{written} were committed after snapshot {identity.partition(':')[0]}, by which these rows got their "
        f"partitions; the latest is {0 if latest is None else latest.id}. A key could end up in two partitions. "
        "Nothing was committed; write the rows again, and commit the messages of several writes together"
    )
