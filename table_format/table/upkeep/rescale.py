"""Changes the number of buckets of partitions with rows (format chapter 11, section 5; Java ``RescaleProcedure``).

All rows of a partition are read at one snapshot, merged, and written to the new buckets. One OVERWRITE snapshot
replaces the old files. The commit fails if the partition has changed in the meantime, so no rows of others are lost.
Postponed rows have no bucket and stay unchanged. Streams pass over the snapshot, because the rows stay the same.
Changes that only a compaction shows them are therefore compacted before.

A row with hash h is in bucket |h| mod n. With g = gcd(n, m), it moves from bucket b of n only to buckets of m with
the same remainder mod g. Each remainder is a separate piece of work, and no row is read twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import gcd
from typing import Final, TypeAlias, assert_never

import numpy as np
import pyarrow as pa

from table_format.errors import ConflictError, InvalidInputError, UnsupportedFeature
from table_format.limits import MAX_BUCKETS
from table_format.metastore.references.expired_reads import on_latest
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model import arguments
from table_format.model.commit import CommitMessage, Committable
from table_format.model.manifest import ManifestEntry
from table_format.model.same_rows import SAME_ROWS
from table_format.model.schema import VALUE_KIND
from table_format.model.schema_change import SetOption
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from table_format.model.split import DataSplit
from table_format.options.bucket import BUCKET, DYNAMIC_OR_UNAWARE, POSTPONED
from table_format.options.bucket_mode import CrossPartition, Dynamic, Fixed, Postponed, Unaware
from table_format.options.check import check_alterable
from table_format.options.declare import Operation
from table_format.table.facts import HasFacts, TableFacts, reporting_drops
from table_format.table.read.split_reader import read_split
from table_format.table.read.splits import make_splits
from table_format.table.rows.partition_values import partition_filter
from table_format.table.upkeep.bucket_compaction import compact
from table_format.table.upkeep.compaction_report import CompactionReport
from table_format.table.upkeep.redistribution import BucketChoice, as_written, cut, distribute, with_buckets
from table_format.table.upkeep.threads import in_threads
from table_format.table.write.batch_commit import aborting_on_failure, expire_after_commit, fresh_user
from table_format.table.write.replaced_files import conflict_if_replaced
from table_format.table.write.stored_rows import StoredRows


@dataclass(frozen=True, slots=True)
class PartitionRescale:
    """Splits of one partition. Rows that belong to the given buckets are written."""

    splits: tuple[DataSplit, ...]
    bucket_count: int
    wanted: BucketChoice
    base: Snapshot


Performer: TypeAlias = Callable[[Sequence[PartitionRescale]], Iterable[CommitMessage]]
"""Does the work, in any process and order. On failure, it deletes the files that it has created."""

Compaction: TypeAlias = Callable[[], CompactionReport]
"""Compacts the partitions in full."""

_ROUNDS: Final = 3


def rescale_table(
    table: HasFacts, bucket: int | None = None, *, partitions: Sequence[Mapping[str, object]] | None = None
) -> tuple[Snapshot, ...]:
    """See ``Table.rescale``."""
    return rescale_with_option(table, bucket, partitions, lambda facts: rescale(facts, bucket, partitions=partitions))


@reporting_drops
def rescale_with_option(
    table: HasFacts,
    bucket: int | None,
    partitions: Sequence[Mapping[str, object]] | None,
    rescale_once: Callable[[TableFacts], tuple[Snapshot, ...]],
) -> tuple[Snapshot, ...]:
    """Rescale by ``rescale_once`` and, if that was the whole table, change its option ``bucket``.

    The rows are first, so that a conflict leaves the table unchanged. Until the option is changed, another writer may
    add a partition with the old number; after that, its commit is refused. So one more round finds all of them.

    A branch that begins with a snapshot gets the schema of that snapshot. So the last snapshot has the new number.
    """
    facts = table.current_facts
    made = rescale_once(facts)
    if bucket is None or partitions is not None or not isinstance(facts.bucket_mode, Fixed):
        return made
    if not _alter_bucket(facts, bucket):
        return made
    made = (*made, *rescale_once(table.current_facts))
    return (*made, *_with_new_option(table.current_facts))


def _with_new_option(facts: TableFacts) -> tuple[Snapshot, ...]:
    """Commit a snapshot without changes if the latest one has an older schema."""
    latest = facts.snapshots.latest()
    if latest is None:
        require_same_table(facts.store)
    if latest is None or latest.schema_id >= facts.schema.id:
        return ()
    nothing = _committable(())
    return (facts.committer(fresh_user(facts)).rewrite(nothing, latest, frozenset()),)


def _committable(messages: Sequence[CommitMessage]) -> Committable:
    return Committable(identifier=BATCH_COMMIT_IDENTIFIER, messages=tuple(messages), properties=SAME_ROWS)


def _alter_bucket(facts: TableFacts, count: int) -> bool:
    """Set the option ``bucket`` to the number of buckets. Return whether it changed."""
    require_same_table(facts.store)
    before = facts.schema_store.latest()
    changes = (SetOption(BUCKET.key, str(count)),)
    return facts.schema_store.change(changes, check=check_alterable).id != before.id


def rescale(
    facts: TableFacts,
    bucket: int | None,
    *,
    partitions: Sequence[Mapping[str, object]] | None = None,
    compaction: Compaction | None = None,
    perform: Performer | None = None,
    shares: int = 1,
) -> tuple[Snapshot, ...]:
    """Rewrite partitions for ``rescale_table``. ``perform`` does the work; by default this process does, in parallel.

    The new buckets for the rows of one bucket are divided into ``shares``; each share reads the bucket. ``compaction``
    is called if streams would not see some changes otherwise; by default, it runs in this process.

    Raises:
        ConflictError: others keep writing such changes, or changed one of the partitions in the meantime.
    """
    facts.require(Operation.READ)
    facts.require(Operation.WRITE)
    count = _bucket_count(facts, bucket)
    if compaction is None:
        compaction = partial(compact, facts, fresh_user(facts), full=True, partitions=partitions)
    compacted: list[Snapshot] = []
    for _ in range(_ROUNDS):
        base, entries, pieces = on_latest(
            facts.snapshots, lambda base: _planned(facts, base, count, partitions, shares)
        )
        report = compaction() if _has_unseen_changes(facts, entries) else CompactionReport()
        compacted += report.snapshots
        if not report.snapshots and not report.dropped:
            break  # there are none; files that a full compaction leaves alone have their changelog
    else:
        message = (
            f"{facts.name}: other writers keep writing rows that no compaction has shown to streams; stop them, or "
            "their compactions, and rescale again"
        )
        raise ConflictError(message)
    if base is None or not entries:
        return tuple(compacted)
    committer = facts.committer(fresh_user(facts))
    messages: list[CommitMessage] = []
    with aborting_on_failure(committer, messages):
        # One by one, so that results before a failure are known and deleted.
        messages.extend((perform or _in_this_process(facts))(pieces))
        snapshot = committer.rewrite(_committable(messages), base, frozenset(entry.partition for entry in entries))
    expire_after_commit(facts)
    return (*compacted, snapshot)


def _has_unseen_changes(facts: TableFacts, entries: Sequence[ManifestEntry]) -> bool:
    """Return whether a compaction has yet to write the changelog of some of these files."""
    producer = facts.options.stream.changelog_producer
    seen = producer.first_level_with_changelog(facts.options.compaction.num_levels)
    return any(entry.file.level < seen for entry in entries)


def _planned(
    facts: TableFacts,
    base: Snapshot | None,
    count: int,
    partitions: Sequence[Mapping[str, object]] | None,
    shares: int,
) -> tuple[Snapshot | None, Sequence[ManifestEntry], Sequence[PartitionRescale]]:
    entries = () if base is None else _entries(facts, base, count, partitions)
    return base, entries, () if base is None else _pieces(facts, base, entries, count, shares)


def rescale_work(facts: TableFacts, work: PartitionRescale) -> tuple[CommitMessage, ...]:
    """Write the rows of a piece of work to their new buckets, each of which is compacted into one run.

    After a failure no file of this work is left.

    Raises:
        FileConflict: others replaced files of the partition, and they were expired in the meantime.
        CorruptionError: a file is missing or damaged.
    """
    target = with_buckets(facts, work.bucket_count)
    # Compacted in full: otherwise, the changelog of a later compaction would repeat rows of level 0.
    how = StoredRows(work.base, compact="full", are_results=True)
    with conflict_if_replaced(facts, work.splits[0].partition):
        messages = distribute(target, _rows(facts, work.splits), work.wanted, how, replacing=True)
    return tuple(as_written(facts, message) for message in messages)


def _bucket_count(facts: TableFacts, bucket: int | None) -> int:
    mode = facts.bucket_mode
    match mode:
        case Fixed(own):
            wanted = own if bucket is None else bucket
        case Postponed():
            if bucket is None:
                way_out = "say the number of buckets to rescale to"
                message = f"{facts.name} postpones buckets ('bucket' = '{POSTPONED}'); {way_out}"
                raise InvalidInputError(message)
            wanted = bucket
        case Dynamic() | Unaware() | CrossPartition():
            feature = "rescale of a table without a fixed number of buckets"
            message = f"{facts.name} has 'bucket' = '{DYNAMIC_OR_UNAWARE}': its buckets come as they are needed, and"
            raise UnsupportedFeature(feature, f"{message} cannot be rescaled")
        case _:
            assert_never(mode)
    count = arguments.whole_number(wanted, "bucket")
    if not 0 < count <= MAX_BUCKETS:
        message = f"{count} is not a number of buckets; it takes 1 to {MAX_BUCKETS}"
        raise InvalidInputError(message)
    return count


def _entries(
    facts: TableFacts, base: Snapshot, count: int, partitions: Sequence[Mapping[str, object]] | None
) -> tuple[ManifestEntry, ...]:
    """Return the live files of the partitions that have another number of buckets."""
    plan = facts.live_files(base, partition_filter(facts.schema, facts.partitions, partitions))
    real = [entry for entry in plan.entries if entry.bucket >= 0]
    others = {entry.partition for entry in real if entry.total_buckets != count}
    return tuple(entry for entry in real if entry.partition in others)


def _pieces(
    facts: TableFacts, base: Snapshot, entries: Sequence[ManifestEntry], count: int, shares: int
) -> tuple[PartitionRescale, ...]:
    # All levels, even if scans skip level 0, whose rows must not be lost.
    splits = make_splits(
        entries,
        facts.schema,
        facts.options.scan,
        snapshot=base,
        deletion_files=facts.deletion_files(base),
    )
    by_partition: dict[bytes, list[DataSplit]] = {}
    for split in splits:
        by_partition.setdefault(split.partition, []).append(split)
    pieces: list[PartitionRescale] = []
    for members in by_partition.values():
        common = gcd(count, *(split.total_buckets for split in members))
        for remainder in range(common):
            read = tuple(split for split in members if split.bucket % common == remainder)
            if read:
                shared = cut(range(remainder, count, common), shares)
                pieces.extend(PartitionRescale(read, count, wanted, base) for wanted in shared)
    return tuple(pieces)


def _rows(facts: TableFacts, splits: Sequence[DataSplit]) -> Iterator[pa.RecordBatch]:
    keyed = facts.schema.is_primary_key_table
    schema = facts.schema
    for split in splits:
        rows = read_split(facts.store, facts.schemas, schema, facts.options, split, schema.fields, rewriting=True)
        for batch in rows:
            kinds = pa.array(np.zeros(batch.num_rows, np.int8))
            yield batch.append_column(VALUE_KIND.name, kinds) if keyed else batch


def _in_this_process(facts: TableFacts) -> Performer:
    return lambda pieces: in_threads(pieces, lambda work: rescale_work(facts, work))
