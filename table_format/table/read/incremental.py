"""What changed between two snapshots (Java ``IncrementalDeltaStartingScanner``, ``IncrementalDiff...``)."""

from __future__ import annotations

from collections.abc import Sequence

from table_format.errors import SnapshotExpired, SnapshotNotFound, UnsupportedFeature
from table_format.model.condition import Filter
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from table_format.options.scan import FALLBACK_BRANCH
from table_format.table.facts import TableFacts
from table_format.table.read.change_plans import (
    DELTA,
    DIFF,
    changes_mode,
    changes_of,
    changes_plan,
    difference_plan,
    empty_plan,
)
from table_format.table.read.change_range import SnapshotRange, named_range
from table_format.table.read.plan import Plan


def incremental_plan(facts: TableFacts, columns: Sequence[str] | None, filter: Filter | None) -> Plan:
    """Plan the changes that ``incremental-between``, ``incremental-between-timestamp`` or ``-to-auto-tag`` names.

    Raises:
        InvalidOption: the options are malformed or contradict each other.
        SnapshotExpired, SnapshotNotFound: some changes of the range are gone or do not exist yet.
        UnsupportedFeature: the changes cannot be read, such as between states with different bucket counts.
    """
    require_one_branch(facts)
    span = named_range(facts)
    if span is None or span.start == span.end:
        return empty_plan(facts, columns, filter)
    mode = facts.options.scan.incremental_scan_mode
    if (span.tags is not None and not facts.options.scan.incremental_tag_to_snapshot) or mode == DIFF:
        before, after = span.tags or (_state_before(facts, span), facts.snapshots.load(span.end))
        return difference_plan(facts, columns, filter, before, after)
    found = [_change(facts, snapshot_id, span) for snapshot_id in range(span.start + 1, span.end + 1)]
    changes = [(s, changes_mode(facts, s) if mode == "auto" else mode) for s in found]
    return changes_plan(facts, columns, filter, [each for each in changes if _counts(*each)], last=found[-1])


def _state_before(facts: TableFacts, span: SnapshotRange) -> Snapshot | None:
    """Return the snapshot after which a range starts; ``None`` for the state before the first snapshot."""
    return facts.snapshots.load(span.start) if span.start >= FIRST_SNAPSHOT_ID else None


def require_one_branch(facts: TableFacts) -> None:
    """Refuse to show changes of a table with a fallback branch, which has its own snapshots.

    Raises:
        UnsupportedFeature: the table has a fallback branch.
    """
    branch = facts.options.scan.fallback_branch
    if branch is not None and branch != facts.store.paths.branch:
        feature = f"changes of a table with {FALLBACK_BRANCH.key}={branch}"
        raise UnsupportedFeature(feature)


def _change(facts: TableFacts, snapshot_id: int, span: SnapshotRange) -> Snapshot:
    found = changes_of(facts).find(snapshot_id)
    if found is not None:
        return found
    latest = facts.snapshots.latest_id() or 0
    message = f"the changes after snapshot {span.start} to snapshot {span.end} are incomplete: "
    if snapshot_id > latest:
        message += f"snapshot {snapshot_id} does not exist yet, the latest is {latest}"
        raise SnapshotNotFound(message)
    message += f"snapshot {snapshot_id} has been expired, the earliest is {changes_of(facts).earliest_id()}"
    raise SnapshotExpired(message)


def _counts(snapshot: Snapshot, mode: str) -> bool:
    if mode == DELTA:
        return snapshot.commit_kind is CommitKind.APPEND
    return snapshot.commit_kind is not CommitKind.OVERWRITE
