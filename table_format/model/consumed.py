"""The snapshots of its sources that a commit has read, as properties of the commit.

Ids are used again after a rollback, so each is stored with the fingerprint of its snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from table_format.model.snapshot import Snapshot

_ID: Final = "consumed."
_STATE: Final = "consumed-state."


def snapshot_fingerprint(snapshot: Snapshot) -> str:
    """Return a text that distinguishes snapshots with the same id: the uuid, or the name of the delta manifest list.

    Snapshots of older writers have no uuid. The name of a manifest list contains a UUID; a time would repeat if two
    commits happened in the same millisecond.
    """
    return snapshot.uuid or snapshot.delta_manifest_list


class SnapshotsById(Protocol):
    """The required interface of the snapshots of a table."""

    def latest_id(self) -> int | None:
        """Return the id of the newest snapshot; ``None`` if there is none."""
        ...

    def find(self, snapshot_id: int) -> Snapshot | None:
        """Return the snapshot with this id; ``None`` if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Consumed:
    """A snapshot of a source that was read. The fingerprint is empty if an earlier release has not recorded it."""

    id: int
    fingerprint: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> Consumed:
        """Return what to record of a snapshot that was read."""
        return cls(snapshot.id, snapshot_fingerprint(snapshot))

    def is_replaced(self, snapshots: SnapshotsById) -> bool:
        """Return whether a rollback removed the snapshot. It may have expired."""
        found = snapshots.find(self.id)
        if found is None:
            return self.id > (snapshots.latest_id() or 0)
        return bool(self.fingerprint) and snapshot_fingerprint(found) != self.fingerprint

    def properties(self, source: str) -> dict[str, str]:
        """Return the properties of a commit that has read this snapshot of a source."""
        state = {f"{_STATE}{source}": self.fingerprint} if self.fingerprint else {}
        return {f"{_ID}{source}": str(self.id), **state}


def consumed_by(commit: Snapshot) -> dict[str, Consumed]:
    """Return the snapshots that a commit has read, by source.

    >>> Consumed(7, "a").properties("shop.orders")
    {'consumed.shop.orders': '7', 'consumed-state.shop.orders': 'a'}
    """
    found = {}
    for key, text in commit.properties.items():
        if key.startswith(_ID) and text.isascii() and text.isdigit():
            source = key.removeprefix(_ID)
            found[source] = Consumed(int(text), commit.properties.get(f"{_STATE}{source}", ""))
    return found
