"""Checks whether a new snapshot is a link of the table's history (the second fence of a commit).

With put-if-absent alone, a writer that slept could take an id that was used and has expired in the meantime. Expiry
removes the oldest first, so the link is valid while the base snapshot exists; otherwise the successor must build on
the new snapshot.
"""

from __future__ import annotations

from enum import StrEnum

from table_format.metastore.manifest.manifest_store import ManifestStore, referenced_names
from table_format.metastore.manifest.replay import ReplayError, live_entries, merge_entries
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.manifest import FileKind
from table_format.model.snapshot import Snapshot


class Link(StrEnum):
    """Whether a snapshot is part of the history: its successor builds on it, does not, or it cannot be told."""

    SOUND = "sound"
    FALSE = "false"
    UNKNOWN = "unknown"


def verify_link(snapshot: Snapshot, snapshots: SnapshotStore, manifests: ManifestStore) -> Link:
    """Whether others see the snapshot as part of the history.

    Raises:
        OSError: the store does not answer.
        CorruptionError: the successor cannot be read.
    """
    if snapshots.exists(snapshot.id - 1):
        return Link.SOUND
    higher_was_seen = False
    while True:
        successor = snapshots.find(snapshot.id + 1)
        if successor is not None:
            return _built_upon(snapshot, successor, manifests)
        if not snapshots.exists(snapshot.id):
            # Expired with its history, or deleted beside it: only the latest state can show which.
            latest = snapshots.latest()
            is_confirmed = latest is not None and _built_upon(snapshot, latest, manifests) is Link.SOUND
            return Link.SOUND if is_confirmed else Link.UNKNOWN
        if higher_was_seen:
            return Link.FALSE
        # Expiry never removes the latest: if we are the highest, no other snapshot can have had our id before. If we
        # are not, the successor may have come between the two looks; only when it is missing below a higher one are we
        # beside the history.
        if (snapshots.highest_id() or 0) <= snapshot.id:
            return Link.SOUND
        higher_was_seen = True


def _built_upon(snapshot: Snapshot, successor: Snapshot, manifests: ManifestStore) -> Link:
    ours = referenced_names(manifests.delta_manifests(snapshot))
    base = manifests.read_list(successor.base_manifest_list, size=successor.base_manifest_list_size)
    if ours and ours <= referenced_names(base):
        return Link.SOUND
    delta = manifests.delta_entries(snapshot)
    added = {entry.identifier for entry in delta if entry.kind is FileKind.ADD}
    try:
        # The successor may have merged our manifests into others.
        live = {entry.identifier for entry in live_entries(merge_entries(e for m in base for e in manifests.read(m)))}
    except ReplayError:
        return Link.UNKNOWN
    if not added:
        return Link.UNKNOWN
    return Link.SOUND if added <= live else Link.FALSE
