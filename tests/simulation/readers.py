"""Actors that read: the latest snapshot, and older ones for as long as they are retained."""

from __future__ import annotations

from table_format.errors import CorruptionError, SnapshotExpired, SnapshotNotFound
from table_format.metastore.references.expired_reads import explain_missing
from table_format.model.snapshot import Snapshot
from tests.simulation.process import Process
from tests.simulation.sum_table import Content
from tests.simulation.world import Violation


def reader(p: Process) -> None:
    """Read in one session: what was seen once is never gone again, and no snapshot ever changes."""
    session = p.snapshots()
    seen = 0
    for _ in range(4 * p.settings.jobs):
        p.sleep(10, 1_200)
        try:
            at_least = p.history.highest
            latest = session.latest()
            latest_id = latest.id if latest else 0
            if latest_id < seen:
                raise Violation(f"I5 {p.actor.name} saw snapshot {seen}, and then {latest_id}")
            if latest_id < at_least:
                raise Violation(f"I5 {p.actor.name} finds snapshot {latest_id} after {at_least} was published")
            seen = latest_id
            if latest is None:
                continue
            # What a legacy writer leaves under an expired id cannot be told from history by looking at it alone.
            only_latest = p.settings.legacy_writers or p.rng.random() < 0.6
            chosen = latest if only_latest else _older(p, latest)
            if chosen is not None:
                _read(p, chosen)
        except (OSError, SnapshotNotFound) as error:
            p.excuse("reading", error)


def _older(p: Process, latest: Snapshot) -> Snapshot | None:
    snapshots = p.snapshots()
    try:
        if p.rng.random() < 0.5:
            return snapshots.at_or_before(latest.time_millis - p.rng.randrange(10_000))
        return snapshots.load(p.rng.randint(max(1, latest.id - 6), latest.id))
    except SnapshotNotFound:
        p.world.note("older_snapshot_expired")
        return None


def _read(p: Process, snapshot: Snapshot) -> None:
    try:
        content = p.content_of(snapshot)
    except CorruptionError as error:
        explained = explain_missing(p.store, error, snapshot.id)
        if not isinstance(explained, SnapshotExpired):
            if snapshot.id in p.history.retained - p.history.doomed:
                raise Violation(f"I4 {p.actor.name} reads snapshot {snapshot.id}: {error}") from error
            p.excuse("telling expired from corrupt", error)  # it was shown a hint of the past
        p.world.note("expired_while_reading")
        return
    check_content(p, snapshot, content, f"snapshot {snapshot.id}")
    p.world.note("read")


def check_content(p: Process, snapshot: Snapshot, content: Content, what: str) -> None:
    """I4: a snapshot reads the same whenever it is read."""
    expected = p.history.content_of(snapshot.id)
    if content != expected:
        raise Violation(f"I4 {p.actor.name} reads {what} as {dict(content)}, expected {dict(expected)}")
