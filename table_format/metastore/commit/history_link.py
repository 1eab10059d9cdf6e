"""Checks whether a new snapshot is part of the table's history (the second fence of a commit).

With put-if-absent alone, a delayed writer could create a snapshot with an id that was used and has expired in the
meantime. Expiry removes the oldest snapshots first, so the link is valid while the base snapshot exists. Otherwise the
next snapshot must follow the new one.

Apache Paimon checks whether a snapshot exists and then renames its own to that name, which replaces one that was
created in between. If it replaced the new snapshot, the commit is repeated. If it replaced the base, the new snapshot
is taken back, because it would remove the rows of the replacement.

A rollback during a commit may have removed the base. The new snapshot is then reported, not taken back: nothing proves
that it was a rollback, and the latest snapshot must not be deleted on suspicion.
"""

from __future__ import annotations

from enum import StrEnum

from table_format.metastore.manifest.manifest_store import ManifestStore, referenced_names
from table_format.metastore.manifest.replay import ReplayError, live_entries, merge_entries
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.manifest import FileKind
from table_format.model.snapshot import Snapshot


class Link(StrEnum):
    """Whether a snapshot is in the history.

    It is, it is not, another has replaced its file, its base was rolled back, or this is unknown.
    """

    SOUND = "sound"
    FALSE = "false"
    REPLACED = "replaced"
    ROLLED_BACK = "rolled back"
    UNKNOWN = "unknown"


def verify_link(
    snapshot: Snapshot, snapshots: SnapshotStore, manifests: ManifestStore, base: Snapshot | None = None
) -> Link:
    """Return whether a new snapshot is part of the history. ``base`` is the snapshot on which it was built.

    Raises:
        OSError: the store does not answer.
        CorruptionError: the successor cannot be read.
    """
    found = snapshots.find(snapshot.id)
    if found is not None and not found.is_same(snapshot):
        link = _link_by_successor(snapshot, snapshots, manifests)
        return Link.REPLACED if link is Link.FALSE else link
    before = snapshots.find(snapshot.id - 1)
    if before is not None:
        is_base = base is None or before.is_same(base)
        return Link.SOUND if is_base else _link_by_successor(snapshot, snapshots, manifests)
    higher_was_seen = False
    while True:
        successor = snapshots.find(snapshot.id + 1)
        if successor is not None:
            return built_upon(snapshot, successor, manifests)
        if not snapshots.exists(snapshot.id):
            # Either it expired with its history, or it was never a part of it: only the latest state can show which.
            latest = snapshots.latest()
            is_confirmed = latest is not None and built_upon(snapshot, latest, manifests) is Link.SOUND
            return Link.SOUND if is_confirmed else Link.UNKNOWN
        if higher_was_seen:
            return Link.FALSE
        # Expiry never removes the latest snapshot. If ours is the highest, no other snapshot can have had its id
        # before. If it is not, the next one may have been created between the two checks. Ours is outside the history
        # only if the next one is missing below a higher one.
        if (snapshots.highest_id() or 0) <= snapshot.id:
            return Link.ROLLED_BACK if _was_rolled_back(snapshot.id - 1, snapshots) else Link.SOUND
        higher_was_seen = True


def _was_rolled_back(base_id: int, snapshots: SnapshotStore) -> bool:
    """Return whether a snapshot is missing although an earlier one exists. Expiry removes the oldest first."""
    if any(notice.end > base_id for notice in snapshots.notices.all()):
        return False  # it expired, and the earlier one is the remainder of a crash
    return any(found < base_id and snapshots.exists(found) for found in reversed(snapshots.listed_ids()))


def _link_by_successor(snapshot: Snapshot, snapshots: SnapshotStore, manifests: ManifestStore) -> Link:
    """Return whether a snapshot is in the history although it or its base was replaced: a later commit has read it."""
    successor = snapshots.find(snapshot.id + 1)
    return Link.FALSE if successor is None else built_upon(snapshot, successor, manifests)


def built_upon(snapshot: Snapshot, successor: Snapshot, manifests: ManifestStore) -> Link:
    """Return whether a snapshot with the next id has the files that ``snapshot`` added: sound, false or unknown.

    Raises:
        OSError: the store does not answer.
        CorruptionError: one of them cannot be read.
    """
    ours = referenced_names(manifests.delta_manifests(snapshot))
    base = manifests.read_list(successor.base_manifest_list, size=successor.base_manifest_list_size)
    if ours and ours <= referenced_names(base):
        return Link.SOUND
    delta = manifests.delta_entries(snapshot)
    added = {entry.identifier for entry in delta if entry.kind is FileKind.ADD}
    try:
        # The next snapshot may have merged our manifests into others.
        live = {entry.identifier for entry in live_entries(merge_entries(e for m in base for e in manifests.read(m)))}
    except ReplayError:
        return Link.UNKNOWN
    if not added:
        return Link.UNKNOWN
    return Link.SOUND if added <= live else Link.FALSE
