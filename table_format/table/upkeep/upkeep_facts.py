"""Reads the facts of a table that decide which maintenance is due (``due``): only metadata and heads of indexes.

It uses the planners of compaction, so that compaction does exactly what is due here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from table_format.append.compact import pick_groups
from table_format.lsm.bucket_deletion_vectors import BucketDeletions
from table_format.lsm.compact import due_compaction
from table_format.lsm.full_compaction_triggers import is_full_compaction_due
from table_format.lsm.keys import key_ranges
from table_format.lsm.levels import levels_of
from table_format.metastore.expiry.expire_changelogs import expirable_changelogs
from table_format.metastore.expiry.expire_snapshots import expirable_snapshots
from table_format.metastore.expiry.expire_tags import expire_tags
from table_format.metastore.expiry.retention import ExpiryRange
from table_format.metastore.history.automatic_tags import due_tags
from table_format.metastore.references.expired_reads import on_latest
from table_format.metastore.scan.file_plan import by_bucket
from table_format.model.arguments import optional_whole_number
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.snapshot import Snapshot
from table_format.table.facts import HasFacts, TableFacts, reporting_drops
from table_format.table.upkeep.declared_indexes import index_coverage
from table_format.table.upkeep.due import BucketState, DueWork, UpkeepFacts, due_upkeep
from table_format.table.upkeep.partition_expiry import expired, partition_facts


@reporting_drops
def due_upkeep_of(table: HasFacts, *, max_level0_age_ms: int | None = None) -> tuple[DueWork, ...]:
    """See ``Table.due_upkeep``."""
    age_ms = optional_whole_number(max_level0_age_ms, "max_level0_age_ms")
    facts = table.current_facts
    return due_upkeep(upkeep_facts(facts), facts.options, max_level0_age_ms=age_ms)


def upkeep_facts(facts: TableFacts) -> UpkeepFacts:
    """Read the facts off the latest snapshot and the history of the table.

    Raises:
        CorruptionError: the metadata of the table cannot be read.
    """
    clock = facts.store.runtime.clock
    local_now_ms = clock.local_now_ms()
    return UpkeepFacts(
        is_keyed=facts.schema.is_primary_key_table,
        local_now_ms=local_now_ms,
        buckets=on_latest(facts.snapshots, lambda latest: tuple(_buckets(facts, latest))),
        files_without_indexes=index_coverage(facts).differing,
        old_partitions=_old_partitions(facts, local_now_ms),
        due_tags=due_tags(facts.store, facts.options),
        expired_tags=expire_tags(facts.store, facts.options, dry_run=True),
        expirable_snapshots=_count(expirable_snapshots(facts.store, facts.options)),
        expirable_changelogs=_count(expirable_changelogs(facts.store, facts.options)),
    )


def _count(chosen: ExpiryRange | None) -> int:
    return 0 if chosen is None else len(chosen.ids)


def _old_partitions(facts: TableFacts, local_now_ms: int) -> tuple[str, ...]:
    options = facts.options.partitions
    if not facts.schema.partition_keys or options.expiration_time_ms is None:
        return ()
    found = on_latest(facts.snapshots, lambda latest: tuple(partition_facts(facts, latest)))
    return tuple(partition.partition for partition, _ in expired(found, options, local_now_ms=local_now_ms))


def _buckets(facts: TableFacts, snapshot: Snapshot | None) -> Iterator[BucketState]:
    entries = facts.live_files(snapshot).entries
    deletions = facts.bucket_deletions(snapshot)
    for bucket_id, group in by_bucket(entries).items():
        files = tuple(entry.file for entry in group)
        if bucket_id.bucket < 0:
            yield _postponed(facts, bucket_id, files)
        elif facts.schema.is_primary_key_table:
            yield _keyed(facts, bucket_id, group[0].total_buckets, files)
        else:
            yield _append(facts, bucket_id, group[0].total_buckets, files, deletions)


def _postponed(facts: TableFacts, bucket_id: BucketId, files: Sequence[DataFileMeta]) -> BucketState:
    text = facts.partitions.text(bucket_id.partition)
    return BucketState(partition=text, bucket=bucket_id.bucket, files=len(files), postponed=len(files))


def _keyed(facts: TableFacts, bucket_id: BucketId, total_buckets: int, files: Sequence[DataFileMeta]) -> BucketState:
    options = facts.options.compaction
    levels = levels_of(files, options.num_levels, key_ranges(facts.schema))
    unit = due_compaction(facts.bucket_files(*bucket_id, total_buckets), levels)
    local_now_ms = facts.store.runtime.clock.local_now_ms()
    times = (file.creation_time for file in levels.level0)
    return BucketState(
        partition=facts.partitions.text(bucket_id.partition),
        bucket=bucket_id.bucket,
        files=len(files),
        sorted_runs=len(levels.runs),
        level0_files=len(levels.level0),
        oldest_level0_ms=min((time for time in times if time is not None), default=None),
        due_files=0 if unit is None else len(unit.files),
        is_full_due=unit is not None and is_full_compaction_due(levels, options, local_now_ms=local_now_ms),
    )


def _append(
    facts: TableFacts,
    bucket_id: BucketId,
    total_buckets: int,
    files: Sequence[DataFileMeta],
    deletions: Mapping[BucketId, BucketDeletions],
) -> BucketState:
    bucket = facts.bucket_files(*bucket_id, total_buckets)
    groups = pick_groups(bucket, files, full=False, deletions=deletions.get(bucket_id))
    return BucketState(
        partition=facts.partitions.text(bucket_id.partition),
        bucket=bucket_id.bucket,
        files=len(files),
        due_files=sum(len(group) for group in groups),
    )
