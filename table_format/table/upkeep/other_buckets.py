"""The buckets that the Nth commit of ``full-compaction.delta-commits`` compacts besides those that it writes to."""

from __future__ import annotations

from collections.abc import Collection

from table_format.metastore.references.expired_reads import on_latest
from table_format.model.bucket_id import BucketId
from table_format.model.snapshot import Snapshot
from table_format.options.bucket_mode import extends_buckets
from table_format.table.facts import TableFacts
from table_format.table.upkeep.bucket_compaction import BucketCompaction, buckets_to_compact
from table_format.table.write.compaction_policy import CompactionPolicy


def other_buckets_due(facts: TableFacts, written: Collection[BucketId]) -> tuple[BucketCompaction, ...]:
    """Return the remaining work of a due commit after its writers have compacted the buckets that they wrote to.

    A write of one process does it itself. If several tasks write, none of them knows what the others leave.
    """
    return on_latest(facts.snapshots, lambda latest: _due(facts, latest, frozenset(written)))


def _due(facts: TableFacts, latest: Snapshot | None, written: frozenset[BucketId]) -> tuple[BucketCompaction, ...]:
    policy = CompactionPolicy(facts, replacing=False, extends_buckets=extends_buckets(facts.bucket_mode), shared=False)
    due = policy.due(latest, written).full - written
    if not due:
        return ()
    return tuple(work for work in buckets_to_compact(facts, None, snapshot=latest) if work.bucket_id in due)
