"""The position of a sensor in the snapshots of a table. It detects rollbacks.

Ids are reused after a rollback and when a table is created again, so each is stored with the fingerprint of its
snapshot. The trail has the last few: the newest one that still exists unchanged is where the history forked. If none
does, the time of the last one tells a rollback beyond the trail from a new table: only then, older snapshots exist.

Dagster stores the cursor again with every tick, so it must stay small. A trail has only the snapshots of the last hour
and the last one; for older ones, the times suffice, because no clock of a writer differs by an hour.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final, Protocol, TypeAlias

from dagster_paimon.sensors.missing_tables import remembered_missing
from dagster_paimon.sensors.tick_errors import reading_cursor, stored
from table_format import Snapshot
from table_format.engine.support import SnapshotsById, snapshot_fingerprint

TRAIL_LENGTH: Final = 20

_RECENT_MS: Final = 3_600_000
_DIGEST_BYTES: Final = 6


class Snapshots(SnapshotsById, Protocol):
    """The required interface of the snapshots of a table, such as ``table_format.metastore.snapshot.SnapshotStore``."""

    def earliest_id(self) -> int | None:
        """Return the id of the oldest snapshot; ``None`` if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class ReportedSnapshot:
    """A snapshot that was reported, with its time in epoch milliseconds; cursors of earlier versions have none."""

    id: int
    fingerprint: str
    time_ms: int | None = None


Trail: TypeAlias = tuple[ReportedSnapshot, ...]


@dataclass(frozen=True, slots=True)
class NewSnapshots:
    """The new snapshots since the trail, oldest first, and the id from which the table was rolled back, if it was.

    ``kept`` is the part of the trail that is still valid. ``missed`` counts snapshots that expired before they could be
    reported.
    """

    snapshots: tuple[Snapshot, ...]
    kept: Trail
    rolled_back_from: int | None = None
    missed: int = 0

    @property
    def trail(self) -> Trail:
        """The trail after these snapshots."""
        seen = (ReportedSnapshot(s.id, _digest(snapshot_fingerprint(s)), s.time_millis) for s in self.snapshots)
        return (*self.kept, *seen)[-TRAIL_LENGTH:]

    def first(self, count: int) -> NewSnapshots:
        """Return the oldest of the new snapshots; the others are still new after their trail."""
        return replace(self, snapshots=self.snapshots[:count])


def follow(trail: Trail, snapshots: Snapshots, *, limit: int) -> NewSnapshots:
    """Return at most ``limit`` snapshots that are new since the trail.

    After a rollback, they include the snapshot that became the latest, because the table has this state again.
    """
    latest, earliest = snapshots.latest_id(), snapshots.earliest_id()
    if latest is None or earliest is None:
        gone = trail[-1].id if trail else None
        return NewSnapshots((), (), rolled_back_from=gone)
    kept = valid_part(trail, snapshots, earliest=earliest, latest=latest)
    rolled_back = len(kept) < len(trail)
    after = kept[-1].id if kept else _last_until(trail, snapshots, earliest, latest)
    if rolled_back and after == latest:
        after -= 1
    first = max(after + 1, earliest)
    found: list[Snapshot] = []
    for snapshot in _from(first, snapshots, latest):
        if len(found) == limit:
            break
        found.append(snapshot)
    return NewSnapshots(
        snapshots=tuple(found),
        kept=tuple(k for k in kept if k.id <= after),
        rolled_back_from=trail[-1].id if rolled_back else None,
        missed=max(0, first - after - 1) if trail and not rolled_back else 0,
    )


def valid_part(trail: Trail, snapshots: Snapshots, *, earliest: int, latest: int) -> Trail:
    """Return the trail up to its last entry that the table still has, or that may only have expired."""
    for end in range(len(trail), 0, -1):
        entry = trail[end - 1]
        if entry.id > latest:
            continue
        if entry.id < earliest:
            return trail[:end]
        snapshot = snapshots.find(entry.id)
        if snapshot is not None and entry.fingerprint in _names_of(snapshot):
            return trail[:end]
    return ()


def _names_of(snapshot: Snapshot) -> tuple[str, str]:
    """Return the fingerprint of a snapshot as a trail has it: in short, and in full in cursors of earlier versions."""
    fingerprint = snapshot_fingerprint(snapshot)
    return _digest(fingerprint), fingerprint


def _digest(fingerprint: str) -> str:
    return blake2b(fingerprint.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _last_until(trail: Trail, snapshots: Snapshots, earliest: int, latest: int) -> int:
    """Return the id of the last snapshot that is not newer than the trail; 0 if there is none.

    The first newer snapshot ends the search, because everything after it was committed later.
    """
    time_ms = trail[-1].time_ms if trail else None
    last = 0
    if time_ms is not None:
        for snapshot in _from(earliest, snapshots, latest):
            if snapshot.time_millis > time_ms:
                break
            last = snapshot.id
    return last


def _from(first: int, snapshots: Snapshots, latest: int) -> Iterator[Snapshot]:
    for snapshot_id in range(first, latest + 1):
        snapshot = snapshots.find(snapshot_id)
        if snapshot is not None:
            yield snapshot


def remembered(trails: Mapping[str, Trail], existing: Collection[str], *, now_ms: int) -> dict[str, Trail]:
    """Return the part of the trails that the next tick needs, in the same order.

    >>> old, new = ReportedSnapshot(1, "a", 0), ReportedSnapshot(2, "b", 9_000_000)
    >>> remembered({"ext.clicks": (old, new)}, ["ext.clicks"], now_ms=9_000_001)
    {'ext.clicks': (ReportedSnapshot(id=2, fingerprint='b', time_ms=9000000),)}
    """
    kept = {*existing, *remembered_missing(trails, existing)}
    return {table: _recent(trail, now_ms) for table, trail in trails.items() if table in kept}


def _recent(trail: Trail, now_ms: int) -> Trail:
    last = trail[-1:]
    if any(seen.time_ms is None for seen in last):  # the last one of an earlier version has no time
        return trail
    return (*(seen for seen in trail[:-1] if seen.time_ms is None or seen.time_ms > now_ms - _RECENT_MS), *last)


def encode_cursor(trails: Mapping[str, Trail]) -> str:
    """Encode trails as the text that Dagster stores.

    >>> text = encode_cursor({"ext.clicks": (ReportedSnapshot(3, "a"), ReportedSnapshot(4, "b", 1000))})
    >>> text
    '{"ext.clicks":[[3,"a"],[4,"b",1000]]}'
    >>> decode_cursor(text)["ext.clicks"][-1]
    ReportedSnapshot(id=4, fingerprint='b', time_ms=1000)
    """
    encoded = {table: [_encoded(seen) for seen in trail] for table, trail in trails.items()}
    return json.dumps(encoded, separators=(",", ":"))


def _encoded(seen: ReportedSnapshot) -> list[object]:
    return [seen.id, seen.fingerprint, *(() if seen.time_ms is None else (seen.time_ms,))]


def decode_cursor(text: str | None) -> dict[str, Trail]:
    """Return the trails in a cursor. An empty cursor has none.

    Raises:
        InvalidInputError: the cursor cannot be decoded.
    """
    with reading_cursor():
        tables: dict[str, list[list[Any]]] = json.loads(text) if text else {}
        return {
            table: tuple(
                ReportedSnapshot(stored(number, int), stored(fingerprint, str), *(stored(ms, int) for ms in time))
                for number, fingerprint, *time in trail
            )
            for table, trail in tables.items()
        }
