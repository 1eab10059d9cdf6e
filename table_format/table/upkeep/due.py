"""Decides which maintenance of a table is due, and why, by the options of the table. Pure: facts in, decisions out.

``upkeep_facts`` reads the facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from table_format.counted import counted
from table_format.options.compaction import (
    INCREMENTAL_SIZE_THRESHOLD,
    OPTIMIZATION_INTERVAL,
    TOTAL_SIZE_THRESHOLD,
    TRIGGER,
)
from table_format.options.partitions import EXPIRATION_TIME
from table_format.options.table_options import TableOptions
from table_format.options.tags import AUTOMATIC_CREATION

_SECOND_MS = 1000


class Upkeep(StrEnum):
    """A kind of maintenance."""

    COMPACT = "compact"
    REWRITE_FILE_INDEX = "rewrite_file_index"
    EXPIRE_PARTITIONS = "expire_partitions"
    CREATE_TAGS = "create_tags"
    EXPIRE_TAGS = "expire_tags"
    EXPIRE_SNAPSHOTS = "expire_snapshots"
    EXPIRE_CHANGELOGS = "expire_changelogs"


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketState:
    """One bucket, or one partition of a table without buckets, as its metadata shows it.

    ``due_files`` is the number of files that the due compaction would take; 0 if none is due. ``is_full_due`` says
    that a full compaction is due by time or size, even with few sorted runs. ``oldest_level0_ms`` is local wall-clock
    time. ``postponed`` is the number of files whose rows wait for their buckets.
    """

    partition: str
    bucket: int
    files: int
    sorted_runs: int = 0
    level0_files: int = 0
    oldest_level0_ms: int | None = None
    due_files: int = 0
    is_full_due: bool = False
    postponed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepFacts:
    """The facts of a table for the decision. The lists of names are what the options currently select."""

    is_keyed: bool
    local_now_ms: int
    buckets: Sequence[BucketState] = ()
    files_without_indexes: Mapping[str, int] = field(default_factory=dict)
    old_partitions: Sequence[str] = ()
    due_tags: Sequence[str] = ()
    expired_tags: Sequence[str] = ()
    expirable_snapshots: int = 0
    expirable_changelogs: int = 0


@dataclass(frozen=True, slots=True)
class DueWork:
    """Work that is due: the reason in one line, and the partitions, if not all.

    If ``full`` is set, only a full compaction helps: a normal one would not move the files.
    """

    kind: Upkeep
    reason: str
    partitions: tuple[str, ...] = ()
    full: bool = False

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


def due_upkeep(
    facts: UpkeepFacts, options: TableOptions, *, max_level0_age_ms: int | None = None
) -> tuple[DueWork, ...]:
    """Return the work that is due, in the best order: first what creates snapshots, then expiry.

    With ``max_level0_age_ms``, a full compaction is also due if a file has been on level 0 for longer.

    >>> bucket = BucketState(partition="", bucket=0, files=6, sorted_runs=6, level0_files=5, due_files=6)
    >>> facts = UpkeepFacts(is_keyed=True, local_now_ms=0, buckets=[bucket], expirable_snapshots=3)
    >>> for work in due_upkeep(facts, TableOptions()):
    ...     print(work)
    compact: 1 of 1 bucket: up to 6 sorted runs, and 'num-sorted-run.compaction-trigger' is 5
    expire_snapshots: 3 snapshots may be deleted by the options
    """
    return tuple(_due(facts, options, max_level0_age_ms))


def _due(facts: UpkeepFacts, options: TableOptions, max_level0_age_ms: int | None) -> Iterator[DueWork]:
    if facts.old_partitions:
        reason = (
            f"{counted(len(facts.old_partitions), 'partition is', 'partitions are')} older than '{EXPIRATION_TIME.key}'"
        )
        yield DueWork(Upkeep.EXPIRE_PARTITIONS, reason, tuple(facts.old_partitions))
    yield from _compactions(facts, options, max_level0_age_ms)
    if facts.files_without_indexes:
        count = sum(facts.files_without_indexes.values())
        reason = f"{counted(count, 'file has', 'files have')} other indexes than the options declare"
        yield DueWork(Upkeep.REWRITE_FILE_INDEX, reason, tuple(sorted(facts.files_without_indexes)))
    if facts.due_tags:
        reason = f"'{AUTOMATIC_CREATION.key}' asks for {_listed(facts.due_tags)}"
        yield DueWork(Upkeep.CREATE_TAGS, reason)
    if facts.expired_tags:
        yield DueWork(Upkeep.EXPIRE_TAGS, f"the time of {_listed(facts.expired_tags)} is over")
    if facts.expirable_snapshots:
        yield DueWork(
            Upkeep.EXPIRE_SNAPSHOTS, f"{counted(facts.expirable_snapshots, 'snapshot')} may be deleted by the options"
        )
    if facts.expirable_changelogs:
        yield DueWork(
            Upkeep.EXPIRE_CHANGELOGS,
            f"{counted(facts.expirable_changelogs, 'changelog')} may be deleted by the options",
        )


def _compactions(facts: UpkeepFacts, options: TableOptions, max_level0_age_ms: int | None) -> Iterator[DueWork]:
    due = [bucket for bucket in facts.buckets if bucket.due_files or bucket.postponed]
    if due:
        of = counted(len(facts.buckets), "bucket")
        many = counted(len(due), "partition or bucket", "partitions or buckets")
        where = f"{len(due)} of {of}" if facts.is_keyed else many
        reason = f"{where}: {'; '.join(_reasons(facts, due, options))}"
        yield DueWork(Upkeep.COMPACT, reason, _partitions(due))
    if max_level0_age_ms is None or not facts.is_keyed:
        return
    taken = {(bucket.partition, bucket.bucket) for bucket in due}
    aged = {
        bucket: facts.local_now_ms - bucket.oldest_level0_ms
        for bucket in facts.buckets
        if bucket.oldest_level0_ms is not None and (bucket.partition, bucket.bucket) not in taken
    }
    old = [bucket for bucket, age_ms in aged.items() if age_ms > max_level0_age_ms]
    if old:
        oldest_ms = max(aged[bucket] for bucket in old)
        reason = (
            f"{len(old)} of {counted(len(facts.buckets), 'bucket')}: a file has been on level 0 for "
            f"{oldest_ms // _SECOND_MS} s, longer than {max_level0_age_ms // _SECOND_MS} s"
        )
        yield DueWork(Upkeep.COMPACT, reason, _partitions(old), full=True)


def _reasons(facts: UpkeepFacts, due: Sequence[BucketState], options: TableOptions) -> Iterator[str]:
    postponed = sum(bucket.postponed for bucket in due)
    if postponed:
        yield f"{counted(postponed, 'file holds', 'files hold')} rows that wait for their buckets"
    if not facts.is_keyed:
        small = sum(bucket.due_files for bucket in due)
        yield counted(small, "small file or file with many deleted rows", "small files or files with many deleted rows")
        return
    unseen = sum(bucket.level0_files for bucket in due) if options.skips_level_0 else 0
    if unseen:
        yield f"{counted(unseen, 'file on level 0 is', 'files on level 0 are')} invisible to readers"
    runs = max(bucket.sorted_runs for bucket in due)
    trigger = options.compaction.trigger
    if runs >= trigger:
        yield f"up to {counted(runs, 'sorted run')}, and '{TRIGGER.key}' is {trigger}"
    early = sum(bucket.is_full_due for bucket in due)
    if early:
        group = options.compaction
        keys = {
            OPTIMIZATION_INTERVAL.key: group.optimization_interval_ms,
            TOTAL_SIZE_THRESHOLD.key: group.total_size_threshold,
            INCREMENTAL_SIZE_THRESHOLD.key: group.incremental_size_threshold,
        }
        named = " or ".join(f"'{key}'" for key, value in keys.items() if value is not None)
        yield f"{counted(early, 'is', 'are')} due in full by {named}"
    if not (postponed or unseen or early or runs >= trigger):
        waiting = sum(bucket.level0_files for bucket in due)
        yield f"{counted(waiting, 'file on level 0 is', 'files on level 0 are')} due to move up"


def _partitions(buckets: Sequence[BucketState]) -> tuple[str, ...]:
    return tuple(sorted({bucket.partition for bucket in buckets if bucket.partition}))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"tags {', '.join(names[:3])}{more}" if len(names) > 1 else f"tag {names[0]}"
