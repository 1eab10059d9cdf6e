"""Sort compaction: stores rows with similar values of some columns close together in files.

Java ``SortCompactAction`` and Spark's ``CompactProcedure`` publish an INSERT OVERWRITE of the partitions, which
removes rows that others have appended in the meantime. This module publishes a COMPACT of named files, since no row
changes: concurrent appends to a table without primary key stay, and a commit that changes the same files is a
conflict. With dynamic buckets, keys change their bucket, so every other write to the partition is a conflict (format
chapter 11, section 1).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias, assert_never

from table_format.append.sort import sort_append_files
from table_format.errors import BucketLost, InvalidInputError, UnsupportedFeature
from table_format.indexes.deletion_vectors import BucketDeletions
from table_format.indexes.hash_index import hash_entries
from table_format.kernels.sort_keys import OrderStrategy, SortKey
from table_format.lsm.sort import BucketToSort, sort_buckets
from table_format.metastore.references.expired_reads import on_latest
from table_format.model.arguments import name_or_names
from table_format.model.commit import CommitMessage, Committable
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from table_format.model.types import NESTED
from table_format.options.bucket import DYNAMIC_OR_UNAWARE
from table_format.options.bucket_mode import CrossPartition, Dynamic, Fixed, Postponed, Unaware, total_buckets
from table_format.options.declare import Operation
from table_format.table.facts import TableFacts
from table_format.table.upkeep.bucket_compaction import BucketCompaction, buckets_to_compact, compact, files_of
from table_format.table.write.batch_commit import aborting_on_failure, expire_after_commit, fresh_user
from table_format.table.write.replaced_files import conflict_if_replaced

_log = logging.getLogger(__name__)

_HILBERT_MIN_COLUMNS: Final = 2

SortPerformer: TypeAlias = Callable[[Sequence[BucketCompaction], SortKey], Iterable[CommitMessage | BucketLost]]
"""Sorts the rows of partitions. On failure, it deletes the files that it has created. Partitions without buckets are
independent: a partition whose files others have replaced is reported as lost.
"""


def sort_compact(
    facts: TableFacts,
    commit_user: str,
    order_by: Sequence[str],
    strategy: str = OrderStrategy.ORDER,
    *,
    partitions: Sequence[Mapping[str, object]] | None = None,
    directory: str | None = None,
    perform: SortPerformer | None = None,
    compact_first: Callable[[], tuple[Snapshot, ...]] | None = None,
) -> tuple[Snapshot, ...]:
    """Sort the rows of all or some partitions, in one commit. Return the new snapshots.

    A table with dynamic buckets is first compacted in full, in a separate commit if necessary. Rows that do not fit
    in memory are spilled to a temporary directory in ``directory``. ``perform`` sorts in another place, and
    ``compact_first`` compacts there. Partitions without buckets that another commit has changed are skipped, unless
    all have changed.

    Raises:
        InvalidInputError: a column cannot be sorted by, or the strategy is unknown.
        UnsupportedFeature: the table has fixed buckets.
        ConflictError: another commit changed the sorted files; nothing was committed.
    """
    key = sort_key(facts, order_by, strategy)
    facts.require(Operation.COMPACT)
    before: tuple[Snapshot, ...] = ()
    if facts.schema.is_primary_key_table:
        if compact_first is not None:
            before = compact_first()
        else:
            before = compact(facts, fresh_user(facts), full=True, partitions=partitions).snapshots
    compactions = _compactions(facts, partitions)
    if not compactions:
        return before
    committer = facts.committer(commit_user)
    messages: list[CommitMessage] = []
    with aborting_on_failure(committer, messages):
        messages.extend(_not_lost(facts, (perform or _in_this_process(facts, directory))(compactions, key)))
        committable = Committable(identifier=BATCH_COMMIT_IDENTIFIER, messages=tuple(messages))
        is_keyed = facts.schema.is_primary_key_table
        snapshots = committer.rearrange(committable) if is_keyed else committer.commit(committable)
    if snapshots:
        expire_after_commit(facts)
    return (*before, *snapshots)


def sort_key(facts: TableFacts, order_by: Sequence[str], strategy: str) -> SortKey:
    """Return the requested order, if it is possible.

    Raises:
        ColumnNotFound, InvalidInputError, UnsupportedFeature: as ``sort_compact``.
    """
    _require_sortable(facts)
    schema = facts.schema
    known = [s.value for s in OrderStrategy]
    if strategy not in known:
        message = f"order strategy '{strategy}' is not known; strategies are {', '.join(known)}"
        raise InvalidInputError(message)
    columns = name_or_names(order_by, "order_by")
    if not columns or len(set(columns)) != len(columns):
        message = f"name the columns to order by, each once; given: {', '.join(columns) or 'none'}"
        raise InvalidInputError(message)
    if strategy == OrderStrategy.HILBERT and len(columns) < _HILBERT_MIN_COLUMNS:
        message = f"the Hilbert curve needs at least two columns, given: {columns[0]}; with one use 'order'"
        raise InvalidInputError(message)
    for field in schema.select(columns):
        if field.name in schema.partition_keys:
            message = f"'{field.name}' is a partition column: all rows of a partition have the same value"
            raise InvalidInputError(message)
        if isinstance(field.type, NESTED):
            message = f"'{field.name}' of type {field.type} has no order; order by columns of scalar types"
            raise InvalidInputError(message)
    return SortKey(OrderStrategy(strategy), columns, text_bytes=facts.options.compaction.zorder_text_bytes)


def _require_sortable(facts: TableFacts) -> None:
    schema = facts.schema
    mode = facts.bucket_mode
    match mode:
        case Dynamic() | Unaware():
            return
        case Fixed() | Postponed():
            feature = "sort compaction of a table with fixed buckets"
            message = (
                f"table {facts.name} has 'bucket' = {total_buckets(mode)}: the key or the arrival of a row decides "
                f"its bucket and its position. Sort compaction needs 'bucket' = {DYNAMIC_OR_UNAWARE}"
            )
            raise UnsupportedFeature(feature, message)
        case CrossPartition():
            feature = "sort compaction of a table whose keys move between partitions"
            message = (
                f"table {facts.name} has the primary key {', '.join(schema.primary_keys)} without all partition "
                "columns: the bucket of each key is kept in indexes beside the table, which sorting would not tell"
            )
            raise UnsupportedFeature(feature, message)
        case _:
            assert_never(mode)


def bucket_to_sort(facts: TableFacts, work: BucketCompaction) -> BucketToSort:
    """Return a dynamic bucket after its full compaction."""
    return BucketToSort(files_of(facts, work), work.files, work.deletions or BucketDeletions(), work.hash_file)


def by_partition(compactions: Iterable[BucketCompaction]) -> Mapping[bytes, Sequence[BucketCompaction]]:
    """The buckets of each partition."""
    partitions: dict[bytes, list[BucketCompaction]] = {}
    for work in compactions:
        partitions.setdefault(work.partition, []).append(work)
    return partitions


def _compactions(facts: TableFacts, partitions: Sequence[Mapping[str, object]] | None) -> Sequence[BucketCompaction]:
    return on_latest(facts.snapshots, lambda snapshot: _compactions_of(facts, snapshot, partitions))


def _compactions_of(
    facts: TableFacts, snapshot: Snapshot | None, partitions: Sequence[Mapping[str, object]] | None
) -> Sequence[BucketCompaction]:
    compactions = buckets_to_compact(facts, partitions, snapshot=snapshot)
    if snapshot is None or not facts.schema.is_primary_key_table:
        return compactions
    index = hash_entries(facts.manifests.index_entries(snapshot))
    found = [index.get(work.partition, {}).get(work.bucket) for work in compactions]
    return [
        replace(work, hash_file=None if entry is None else entry.index_file)
        for work, entry in zip(compactions, found, strict=True)
    ]


def _not_lost(facts: TableFacts, outcomes: Iterable[CommitMessage | BucketLost]) -> Iterator[CommitMessage]:
    """Yield messages one by one, so that results before a failure are known and deleted."""
    reason: BucketLost | None = None
    is_empty = True
    for outcome in outcomes:
        if isinstance(outcome, BucketLost):
            where = facts.partitions.shown(outcome.partition)
            _log.warning("%s: %s was not put in order: %s", facts.name, where, outcome)
            reason = outcome
        else:
            is_empty = False
            yield outcome
    if reason is not None and is_empty:
        raise reason


def _in_this_process(facts: TableFacts, directory: str | None) -> SortPerformer:
    def in_order(compactions: Sequence[BucketCompaction], key: SortKey) -> Iterator[CommitMessage | BucketLost]:
        for work in compactions:
            try:
                with conflict_if_replaced(facts, work.partition, work.bucket):
                    bucket = files_of(facts, work)
                    message = sort_append_files(bucket, work.files, key, deletions=work.deletions, directory=directory)
            except BucketLost as lost:
                yield lost
            else:
                yield message

    def in_buckets(compactions: Sequence[BucketCompaction], key: SortKey) -> Iterator[CommitMessage]:
        for partition, members in by_partition(compactions).items():
            with conflict_if_replaced(facts, partition):
                yield from sort_buckets([bucket_to_sort(facts, work) for work in members], key, directory=directory)

    return in_buckets if facts.schema.is_primary_key_table else in_order
