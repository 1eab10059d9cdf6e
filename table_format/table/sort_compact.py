"""Sort compaction: rows near each other in some columns come to lie near each other in files.

Java ``SortCompactAction`` and Spark's ``CompactProcedure`` publish an INSERT OVERWRITE of the partitions, which takes
away what others appended meanwhile. Here it is a COMPACT of named files, since no row changes: concurrent appends to a
table without primary key stay, and whatever touches the same files is a conflict. With dynamic buckets keys change
their bucket, so there every other write to the partition is one (format chapter 11, section 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from table_format.append.sort import sort_append_files
from table_format.errors import InvalidInputError, UnsupportedFeature
from table_format.indexes.deletion_vectors import BucketDeletions
from table_format.indexes.hash_index import hash_entries
from table_format.kernels.sort_keys import OrderStrategy, SortKey
from table_format.lsm.sort import CompactedBucket, sort_buckets
from table_format.model.commit import CommitMessage, Committable
from table_format.model.manifest import IndexManifestEntry
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from table_format.model.types import NESTED
from table_format.options.bucket import DYNAMIC_OR_UNAWARE
from table_format.options.declare import Operation
from table_format.table.commit import aborting_on_failure, expire_after_commit, fresh_user
from table_format.table.facts import TableFacts
from table_format.table.maintenance import BucketWork, bucket_works, compact, files_of

_HILBERT_MIN_COLUMNS: Final = 2

SortPerformer: TypeAlias = Callable[[Sequence[BucketWork], SortKey], Iterable[CommitMessage]]
"""Puts the rows of partitions without buckets in order; what it has made when it fails is its own to delete."""


def sort_compact(
    facts: TableFacts,
    commit_user: str,
    order_by: Sequence[str],
    strategy: str = OrderStrategy.ORDER,
    *,
    partitions: Sequence[Mapping[str, object]] | None = None,
    directory: str | None = None,
    perform: SortPerformer | None = None,
) -> tuple[Snapshot, ...]:
    """Put the rows of all or some partitions in order, in one commit; the snapshots made.

    A table with dynamic buckets is compacted in full first, which is a commit of its own where there is work to do.
    What does not fit in memory waits in a temporary directory below ``directory``. ``perform`` sorts the partitions of
    a table without primary key somewhere else.

    Raises:
        InvalidInputError: a column cannot be sorted by, or the strategy is unknown.
        UnsupportedFeature: the table has fixed buckets, or ``perform`` cannot sort dynamic ones.
        ConflictError: another commit changed what was sorted; nothing of it is visible.
    """
    key = sort_key(facts, order_by, strategy)
    facts.require(Operation.COMPACT)
    before: tuple[Snapshot, ...] = ()
    if facts.schema.is_primary_key_table:
        if perform is not None:
            feature = "sort compaction of dynamic buckets as a Spark job"
            message = f"table {facts.name}: {feature} is not supported by this version; use compact() of the table"
            raise UnsupportedFeature(feature, message)
        before = compact(facts, fresh_user(facts), full=True, partitions=partitions).snapshots
    snapshot = facts.snapshots.latest()
    works = bucket_works(facts, partitions, snapshot=snapshot)
    if not works:
        return before
    committer = facts.committer(commit_user)
    messages: list[CommitMessage] = []
    with aborting_on_failure(committer, messages):
        # One by one: what came before a failure is known, and deleted.
        if perform is not None:
            messages.extend(perform(works, key))
        else:
            messages.extend(_messages(facts, works, snapshot, key, directory))
        committable = Committable(identifier=BATCH_COMMIT_IDENTIFIER, messages=tuple(messages))
        is_keyed = facts.schema.is_primary_key_table
        snapshots = committer.rearrange(committable) if is_keyed else committer.commit(committable)
    if snapshots:
        expire_after_commit(facts)
    return (*before, *snapshots)


def sort_key(facts: TableFacts, order_by: Sequence[str], strategy: str) -> SortKey:
    """The order that is asked for, if it can be.

    Raises:
        ColumnNotFound, InvalidInputError, UnsupportedFeature: as ``sort_compact``.
    """
    schema, bucket = facts.schema, facts.options.bucket
    if bucket.count != DYNAMIC_OR_UNAWARE:
        feature = "sort compaction of a table with fixed buckets"
        message = (
            f"table {facts.name} has 'bucket' = {bucket.count}: the bucket of a row and its place in it are decided by "
            f"its key or its arrival. Sort compaction needs 'bucket' = {DYNAMIC_OR_UNAWARE}"
        )
        raise UnsupportedFeature(feature, message)
    known = [s.value for s in OrderStrategy]
    if strategy not in known:
        message = f"order strategy '{strategy}' is not known; strategies are {', '.join(known)}"
        raise InvalidInputError(message)
    columns = tuple(order_by)
    if not columns or len(set(columns)) != len(columns):
        message = f"name the columns to order by, each once; given: {', '.join(columns) or 'none'}"
        raise InvalidInputError(message)
    if strategy == OrderStrategy.HILBERT and len(columns) < _HILBERT_MIN_COLUMNS:
        message = f"the Hilbert curve needs two columns at least, given: {columns[0]}; with one use 'order'"
        raise InvalidInputError(message)
    for field in schema.select(columns):
        if field.name in schema.partition_keys:
            message = f"'{field.name}' is a partition column: all rows of a partition have the same value"
            raise InvalidInputError(message)
        if isinstance(field.type, NESTED):
            message = f"'{field.name}' of type {field.type} has no order; order by columns of scalar types"
            raise InvalidInputError(message)
    return SortKey(OrderStrategy(strategy), columns, text_bytes=facts.options.compaction.zorder_text_bytes)


def _messages(
    facts: TableFacts, works: Sequence[BucketWork], snapshot: Snapshot | None, key: SortKey, directory: str | None
) -> Iterator[CommitMessage]:
    if not facts.schema.is_primary_key_table:
        for work in works:
            yield sort_append_files(
                files_of(facts, work), work.files, key, deletions=work.deletions, directory=directory
            )
        return
    index = hash_entries(facts.manifests.index_entries(snapshot)) if snapshot is not None else {}
    partitions: dict[bytes, list[CompactedBucket]] = {}
    for work in works:
        bucket = _compacted(facts, work, index.get(work.partition, {}))
        partitions.setdefault(work.partition, []).append(bucket)
    for buckets in partitions.values():
        yield from sort_buckets(buckets, key, directory=directory)


def _compacted(facts: TableFacts, work: BucketWork, index: Mapping[int, IndexManifestEntry]) -> CompactedBucket:
    entry = index.get(work.bucket)
    return CompactedBucket(
        files_of(facts, work),
        work.files,
        work.deletions or BucketDeletions(),
        None if entry is None else entry.index_file,
    )
