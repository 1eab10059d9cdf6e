"""Finds the partitions of an asset that new commits of an upstream table affect, since the previous tick.

The partitions that a tick finds are stored with their snapshot. After a rollback, the partitions of the removed
snapshots have changed again, back to their earlier state. If the changes cannot be known, because a snapshot expired
before a tick or the table was created again, all partitions count as changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from dagster_paimon.sensors.cursor import TRAIL_LENGTH, ReportedSnapshot, Snapshots, valid_part
from table_format import Snapshot
from table_format.engine import TableFacts, all_values, changed_values
from table_format.engine.support import keeps_rows, snapshot_fingerprint
from table_format.errors import SnapshotExpired

MOST_REMEMBERED: Final = 1000
"""The maximum number of partitions stored with a snapshot. With more, all partitions count as changed on a rollback."""

SNAPSHOTS_PER_TICK: Final = 200
"""The maximum number of snapshots of a table that a tick reads, so that it ends before Dagster gives it up."""

KeysOf: TypeAlias = Callable[[Iterable[object]], frozenset[str]]


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """A table and its column whose values are the partitions of a downstream asset.

    With ``watched``, a row of a primary-key table that is written again counts as changed only if the value of one of
    these columns, or of ``column``, differs.
    """

    table: str
    column: str
    watched: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """The snapshot of a table at a tick, and the partitions that changed before it; ``None`` if all may have."""

    snapshot: ReportedSnapshot
    keys: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Changes:
    """The result of a tick: the partitions that changed, why all may have changed, and what to store.

    ``last`` is the last commit that changed rows, if there is one and nothing was rolled back. ``left`` is the number
    of snapshots that the next tick reads.
    """

    keys: frozenset[str]
    trail: tuple[Looked, ...]
    why_all: str | None = None
    last: Snapshot | None = None
    left: int = 0


def changes_since(trail: tuple[Looked, ...], facts: TableFacts, source: PartitionColumn, keys_of: KeysOf) -> Changes:
    """Return the partitions that changed since the trail. ``why_all`` is set if others may have changed too."""
    latest = facts.snapshots.latest()
    if latest is None:
        return Changes(frozenset(), (), why_all="it no longer has a snapshot" if trail else None)
    kept = _valid(trail, facts.snapshots, latest)
    lost = trail[len(kept) :]
    now = _reported(latest)
    if kept and kept[-1].snapshot == now and not lost:
        return Changes(frozenset(), kept)
    why_all, changed, last, left = _why_all(trail, kept, lost), frozenset[str](), None, 0
    if why_all is None:
        try:
            snapshots = _after(kept[-1].snapshot.id, facts.snapshots, latest)
            now = _reported(snapshots[-1]) if snapshots else now
            left = latest.id - now.id
            before = facts.snapshots.find(kept[-1].snapshot.id)
            if before is None:
                why_all = f"snapshot {kept[-1].snapshot.id} expired before the next tick"
            else:
                values = changed_values(facts, source.column, before, snapshots, watched=source.watched)
                changed = keys_of(values.to_pylist())
                last = _last_change(snapshots) if not lost else None
        except SnapshotExpired as error:
            why_all = str(error)
    if why_all is not None:
        now, left = _reported(latest), 0
        changed = keys_of(all_values(facts, source.column, latest).to_pylist())
    remembered = changed if why_all is None and len(changed) <= MOST_REMEMBERED else None
    back = frozenset(key for looked in lost for key in looked.keys or ())
    return Changes(changed | back, (*kept, Looked(now, remembered))[-TRAIL_LENGTH:], why_all, last, left)


def _valid(trail: tuple[Looked, ...], snapshots: Snapshots, latest: Snapshot) -> tuple[Looked, ...]:
    earliest = snapshots.earliest_id() or latest.id
    kept = valid_part(tuple(looked.snapshot for looked in trail), snapshots, earliest=earliest, latest=latest.id)
    return trail[: len(kept)]


def _why_all(trail: Sequence[Looked], kept: Sequence[Looked], lost: Sequence[Looked]) -> str | None:
    if not trail:
        return "this is the first tick"
    if not kept:
        return "it was created again, or rolled back to before all stored snapshots"
    if any(looked.keys is None for looked in lost):
        return (
            f"it was rolled back from snapshot {trail[-1].snapshot.id}, and the changes of that snapshot are not known"
        )
    return None


def _reported(snapshot: Snapshot) -> ReportedSnapshot:
    return ReportedSnapshot(snapshot.id, snapshot_fingerprint(snapshot))


def _after(first: int, snapshots: Snapshots, latest: Snapshot) -> tuple[Snapshot, ...]:
    """Return the snapshots after an id, as many as a tick reads.

    Raises:
        SnapshotExpired: one of them no longer exists.
    """
    found = []
    for snapshot_id in range(first + 1, min(first + SNAPSHOTS_PER_TICK, latest.id) + 1):
        snapshot = snapshots.find(snapshot_id)
        if snapshot is None:
            message = f"snapshot {snapshot_id} expired before the next tick"
            raise SnapshotExpired(message)
        found.append(snapshot)
    return tuple(found)


def _last_change(snapshots: Sequence[Snapshot]) -> Snapshot | None:
    changing = [s for s in snapshots if not keeps_rows(s)]
    return changing[-1] if changing else None
