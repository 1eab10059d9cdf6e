"""Where the rows of a source have changed since a refresh read it, as far as its commits tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from table_format.errors import SnapshotExpired
from table_format.model.bucket_id import BucketId
from table_format.model.consumed import Consumed
from table_format.model.manifest import FileKind
from table_format.model.same_rows import keeps_rows
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.options.bucket_mode import Postponed
from table_format.table.facts import TableFacts

_MOST_COMMITS: Final = 1000
"""The maximum number of commits that are examined. A refresh after more of them reads everything."""


@dataclass(frozen=True, slots=True)
class SourceChanges:
    """The commits to a source after one snapshot and up to another.

    ``partitions`` are all partitions whose rows may have changed. ``are_rows`` tells that each changed row, as it was
    before and as it is now, has the key of a row that these commits wrote. Without a primary key, they only added rows.
    """

    first_id: int
    last_id: int
    partitions: frozenset[bytes]
    are_rows: bool


def changes_since(facts: TableFacts, read: Consumed, now: Snapshot) -> SourceChanges | None:
    """Return the changes to a source since it was read; ``None`` if its commits do not tell them.

    Raises:
        CorruptionError: a manifest is missing or damaged.
    """
    base = facts.snapshots.find(read.id) if read.id else None
    is_base = not read.id if base is None else Consumed.of(base) == read
    if not is_base or not read.id < now.id <= read.id + _MOST_COMMITS:
        return None
    # A compaction makes rows visible that earlier commits wrote.
    hides_rows = facts.options.skips_level_0 or isinstance(facts.bucket_mode, Postponed)
    partitions: set[bytes] = set()
    are_rows = not hides_rows
    try:
        for commit in _commits(facts, read.id, now.id):
            if commit.commit_kind is CommitKind.ANALYZE or (keeps_rows(commit) and not hides_rows):
                continue
            changed = facts.changed_files(commit)
            if changed is None:
                return None
            marked = [bucket_id.partition for bucket_id, _, _ in _new_deletions(facts, commit)]
            partitions.update(marked, (entry.partition for entry in changed))
            only_adds = commit.commit_kind is CommitKind.APPEND and all(e.kind is FileKind.ADD for e in changed)
            are_rows = are_rows and only_adds and not marked
    except SnapshotExpired:
        return None
    return SourceChanges(read.id, now.id, frozenset(partitions), are_rows)


def _commits(facts: TableFacts, first_id: int, last_id: int) -> Iterator[Snapshot]:
    for snapshot_id in range(first_id + 1, last_id + 1):
        found = facts.snapshots.find(snapshot_id)
        if found is None:
            message = f"snapshot {snapshot_id} has expired"
            raise SnapshotExpired(message)
        yield found


def _new_deletions(facts: TableFacts, commit: Snapshot) -> Iterator[tuple[BucketId, str, int]]:
    """Yield the files whose deletion vectors a commit changed."""
    if commit.index_manifest is None or facts.schema.is_primary_key_table:
        return
    before = facts.snapshots.find(commit.id - 1)
    if before is None:
        message = f"snapshot {commit.id - 1} has expired"
        raise SnapshotExpired(message)
    yield from facts.new_deletions(before, commit)
