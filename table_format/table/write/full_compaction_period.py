"""Full compaction after every Nth commit: ``full-compaction.delta-commits`` (format chapter 07, section 3).

Commits are counted in the table, backwards from the latest snapshot, so the count continues across short-lived
writers, restarts and jobs. (Java counts per job, by the commit identifiers of a stream; batch jobs of its newer
releases compact with every commit.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from table_format.model.bucket_id import BucketId
from table_format.model.manifest import FileKind
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.options.bucket_mode import total_buckets
from table_format.table.facts import TableFacts


@dataclass(frozen=True, slots=True)
class FullCompactionPeriod:
    """The last N - 1 commits: the buckets they wrote to, and those of them that were compacted fully."""

    is_complete: bool
    written: frozenset[BucketId] = frozenset()
    compacted: frozenset[BucketId] = frozenset()

    @classmethod
    def of(cls, facts: TableFacts, latest: Snapshot | None) -> FullCompactionPeriod:
        """Return the commits up to a snapshot; expired ones count as commits without compaction."""
        commits = facts.options.compaction.full_compaction_delta_commits
        if commits is None:
            return cls(is_complete=False)
        top, bucket_count = facts.options.compaction.num_levels - 1, total_buckets(facts.bucket_mode)
        written: set[BucketId] = set()
        compacted: set[BucketId] = set()
        left, snapshot_id = commits - 1, 0 if latest is None else latest.id
        while left and snapshot_id > 0:
            snapshot = facts.snapshots.find(snapshot_id)
            entries = None if snapshot is None else facts.changed_files(snapshot)
            if snapshot is None or entries is None:
                left = 0
                break
            added = [e for e in entries if e.kind is FileKind.ADD]
            if snapshot.commit_kind is CommitKind.APPEND and added:
                # A partition with another number of buckets must be rescaled before this table writes to it again.
                written.update(e.bucket_id for e in added if e.total_buckets == bucket_count)
                left -= 1
            elif snapshot.commit_kind is CommitKind.COMPACT:
                compacted.update(e.bucket_id for e in added if e.file.level >= top)
                # Deletes are removed with their rows only if all files of a bucket are merged.
                compacted.update({e.bucket_id for e in entries} - {e.bucket_id for e in added})
            snapshot_id -= 1
        return cls(left == 0, frozenset(written), frozenset(compacted))

    def due(self, buckets: Iterable[BucketId], *, with_others: bool) -> frozenset[BucketId]:
        """Return the buckets that this commit compacts fully: of its own and, ``with_others``, of the period."""
        if not self.is_complete:
            return frozenset()
        return (frozenset(buckets) | (self.written if with_others else frozenset())) - self.compacted
