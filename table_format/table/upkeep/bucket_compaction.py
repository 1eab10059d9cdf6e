"""Compaction of buckets in a separate commit (format chapter 07; chapter 11, section 3).

The work of one bucket is a picklable fact and produces one commit message. It runs in parallel in this process, or in
the tasks of an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from table_format.append.compact import compact_append_files
from table_format.errors import BucketLost, ConflictError
from table_format.formats.bucket_files import BucketFiles
from table_format.io.paths import POSTPONE_BUCKET
from table_format.lsm.bucket_deletion_vectors import BucketDeletions
from table_format.lsm.compact import compact_bucket
from table_format.metastore.references.expired_reads import on_latest
from table_format.metastore.scan.file_plan import by_bucket
from table_format.model import arguments
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage, Committable
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import IndexFileMeta, ManifestEntry
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from table_format.options.bucket_mode import Postponed
from table_format.options.declare import Operation
from table_format.table.facts import TableFacts
from table_format.table.rows.partition_values import partition_filter
from table_format.table.upkeep.compaction_report import CompactedBucket, CompactionReport, DroppedBucket
from table_format.table.upkeep.postponed import PostponedPartition, give_buckets, postponed_partitions, removals
from table_format.table.upkeep.threads import Progress, in_threads
from table_format.table.write.batch_commit import aborting_on_failure, expire_after_commit
from table_format.table.write.replaced_files import conflict_if_replaced


@dataclass(frozen=True, slots=True)
class BucketCompaction:
    """The live files of one bucket of one partition. ``partition`` is a serialised BinaryRow.

    ``hash_file`` is the hash index of a dynamic bucket, if its rows will get other buckets.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    deletions: BucketDeletions | None = None
    hash_file: IndexFileMeta | None = None

    @property
    def bucket_id(self) -> BucketId:
        """The partition and bucket of the files."""
        return BucketId(self.partition, self.bucket)

    def only(self, files: Iterable[DataFileMeta]) -> BucketCompaction:
        """Return the part of some of the files, for a task that reads or writes only these."""
        kept = tuple(files)
        names = {file.file_name for file in kept}
        vectors = {} if self.deletions is None else self.deletions.files
        deletions = BucketDeletions({name: vector for name, vector in vectors.items() if name in names})
        return replace(self, files=kept, deletions=deletions, hash_file=None)


Work: TypeAlias = BucketCompaction | PostponedPartition

Performer: TypeAlias = Callable[[Sequence[Work]], Iterable[CommitMessage | BucketLost]]
"""Compacts buckets, in any process and order. On failure, it deletes the files that it has created."""


def compact(
    facts: TableFacts,
    commit_user: str,
    *,
    full: bool = False,
    partitions: Sequence[Mapping[str, object]] | None = None,
    buckets: Sequence[int] | None = None,
    perform: Performer | None = None,
    shares: int = 1,
    progress: Progress | None = None,
) -> CompactionReport:
    """Compact all or some partitions and buckets, where it is due or in full.

    ``perform`` compacts the buckets; by default this process does, in parallel, and calls ``progress`` with the number
    of finished buckets. Postponed rows get their buckets; those of a partition are divided into ``shares``. If another
    commit has changed a bucket in the meantime, even if its files have been expired since, the bucket is dropped and
    named in the report, and the others continue. If postponed rows get buckets, either all are published or none.

    Raises:
        ConflictError: others won every attempt to commit; nothing is visible, and no new file is left.
        UnsupportedFeature: the table has a feature without which the result would be wrong.
    """
    arguments.flag(full, "full")
    facts.require(Operation.COMPACT)
    pieces = _pieces(facts, partitions, buckets, shares)
    if not pieces:
        return CompactionReport()
    messages: list[CommitMessage] = []
    dropped: dict[BucketId, ConflictError] = {}
    committer = facts.committer(commit_user)

    def drop(partition: bytes, bucket: int, reason: ConflictError) -> None:
        dropped[BucketId(partition, bucket)] = reason

    with aborting_on_failure(committer, messages):
        # One by one, so that results before a failure are known and deleted.
        for outcome in (perform or _in_this_process(facts, full=full, progress=progress))(pieces):
            if isinstance(outcome, BucketLost):
                drop(outcome.partition, outcome.bucket, outcome)
            elif not outcome.is_empty:
                messages.append(outcome)
        postponed = [work for work in pieces if isinstance(work, PostponedPartition)]
        messages.extend(removals(postponed))
        committable = Committable(identifier=BATCH_COMMIT_IDENTIFIER, messages=tuple(messages))
        # Rows of a dropped bucket would be lost with their postponed files.
        snapshots = committer.commit(committable, on_drop=drop, whole=bool(postponed))
    if snapshots:
        expire_after_commit(facts)
    return _report(facts, snapshots, messages, dropped)


def _report(
    facts: TableFacts,
    snapshots: tuple[Snapshot, ...],
    messages: Sequence[CommitMessage],
    dropped: Mapping[BucketId, ConflictError],
) -> CompactionReport:
    shown = facts.partitions.text
    return CompactionReport(
        snapshots,
        tuple(
            sorted(
                CompactedBucket(shown(m.partition), m.bucket, len(m.compact_before), len(m.compact_after))
                for m in messages
                if m.bucket_id not in dropped
            )
        ),
        tuple(sorted(DroppedBucket(shown(partition), n, str(why)) for (partition, n), why in dropped.items())),
    )


def perform_work(facts: TableFacts, work: Work, *, full: bool) -> tuple[CommitMessage, ...]:
    """Compact one bucket, or assign buckets to postponed rows; nothing is visible before the commit.

    After a failure no file of this work is left.

    Raises:
        BucketLost: others replaced files of the bucket, and they were expired meanwhile.
        FileConflict: likewise for postponed rows.
        CorruptionError: a file is missing or damaged.
    """
    if isinstance(work, PostponedPartition):
        with conflict_if_replaced(facts, work.partition):
            return give_buckets(facts, work, full=full)
    with conflict_if_replaced(facts, work.partition, work.bucket):
        return (compact_work(facts, work, full=full),)


def outcomes_of(facts: TableFacts, work: Work, *, full: bool) -> tuple[CommitMessage | BucketLost, ...]:
    """Call ``perform_work``, but return a lost bucket instead of raising the error."""
    try:
        return perform_work(facts, work, full=full)
    except BucketLost as lost:
        return (lost,)


def compact_work(facts: TableFacts, work: BucketCompaction, *, full: bool) -> CommitMessage:
    """Compact one bucket; the message may be empty, and nothing is visible before it is committed.

    Raises:
        CorruptionError: a file is missing or damaged.
    """
    files = files_of(facts, work)
    if facts.schema.is_primary_key_table:
        return compact_bucket(files, work.files, full=full, deletions=work.deletions)
    return compact_append_files(files, work.files, full=full, deletions=work.deletions)


def files_of(facts: TableFacts, work: BucketCompaction) -> BucketFiles:
    """Return how the files of the bucket are read and written."""
    return facts.bucket_files(work.partition, work.bucket, work.total_buckets)


def _in_this_process(facts: TableFacts, *, full: bool, progress: Progress | None) -> Performer:
    return lambda pieces: in_threads(pieces, partial(outcomes_of, facts, full=full), progress)


def buckets_to_compact(
    facts: TableFacts, partitions: Sequence[Mapping[str, object]] | None, *, snapshot: Snapshot | None
) -> tuple[BucketCompaction, ...]:
    """Return the buckets of a snapshot, in all partitions or in those with some values."""
    if snapshot is None:
        return ()
    return _of_buckets(facts, snapshot, _live(facts, snapshot, partitions, None))


def _pieces(
    facts: TableFacts,
    partitions: Sequence[Mapping[str, object]] | None,
    buckets: Sequence[int] | None,
    shares: int,
) -> tuple[Work, ...]:
    return on_latest(facts.snapshots, lambda snapshot: _pieces_of(facts, snapshot, partitions, buckets, shares))


def _pieces_of(
    facts: TableFacts,
    snapshot: Snapshot | None,
    partitions: Sequence[Mapping[str, object]] | None,
    buckets: Sequence[int] | None,
    shares: int,
) -> tuple[Work, ...]:
    if snapshot is None:
        return ()
    entries = _live(facts, snapshot, partitions, buckets)
    postponed = postponed_partitions(facts, snapshot, entries, shares=shares)
    filled = {work.partition for work in postponed}
    return (*postponed, *_of_buckets(facts, snapshot, [e for e in entries if e.partition not in filled]))


def _live(
    facts: TableFacts,
    snapshot: Snapshot,
    partitions: Sequence[Mapping[str, object]] | None,
    buckets: Sequence[int] | None,
) -> Sequence[ManifestEntry]:
    # Postponed rows are in a bucket with a negative number.
    least = POSTPONE_BUCKET if isinstance(facts.bucket_mode, Postponed) else 0
    numbers = None if buckets is None else arguments.whole_numbers(buckets, "buckets", minimum=least)
    wanted = replace(
        partition_filter(facts.schema, facts.partitions, partitions),
        buckets=None if numbers is None else frozenset(numbers),
    )
    plan = facts.live_files(snapshot, wanted)
    return plan.entries


def _of_buckets(
    facts: TableFacts, snapshot: Snapshot, entries: Sequence[ManifestEntry]
) -> tuple[BucketCompaction, ...]:
    deletions = facts.bucket_deletions(snapshot)
    # Postponed files have no bucket yet.
    buckets = by_bucket(entry for entry in entries if entry.bucket >= 0)
    return tuple(
        BucketCompaction(
            bucket_id.partition,
            bucket_id.bucket,
            entries[0].total_buckets,
            tuple(entry.file for entry in entries),
            deletions.get(bucket_id),
        )
        for bucket_id, entries in buckets.items()
    )
