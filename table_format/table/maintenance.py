"""Looking after a table: compaction as one commit of its own (format chapter 07; chapter 11, section 3).

The work of one bucket is a picklable fact and becomes one commit message, wherever that is done: side by side in this
process, or in the tasks of an engine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeAlias

from table_format.append.compact import compact_append_files
from table_format.errors import CommitOutcomeUnknown
from table_format.formats.bucket_files import BucketFiles
from table_format.lsm.compact import compact_bucket
from table_format.lsm.marks import BucketDeletions
from table_format.metastore.file_filter import FileFilter
from table_format.metastore.plan import by_bucket, live_files
from table_format.model.commit import CommitMessage, Committable
from table_format.model.data_file import DataFileMeta
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from table_format.options.declare import Operation
from table_format.table.commit import expire_after_commit
from table_format.table.facts import TableFacts
from table_format.table.partition_values import partition_spec

MAX_THREADS: Final = 4
"""Buckets compacted side by side at most; each merges with bounded memory."""


@dataclass(frozen=True, slots=True)
class BucketWork:
    """The live files of one bucket of one partition. ``partition`` is a serialised BinaryRow."""

    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    deletions: BucketDeletions | None = None


Performer: TypeAlias = Callable[[Sequence[BucketWork]], Iterable[CommitMessage]]
"""Compacts buckets, in any place and order; what it has made when it fails is its own to delete."""


def compact(
    facts: TableFacts,
    commit_user: str,
    *,
    full: bool = False,
    partitions: Sequence[Mapping[str, object]] | None = None,
    buckets: Sequence[int] | None = None,
    perform: Performer | None = None,
) -> tuple[Snapshot, ...]:
    """Compact what is due, or everything, in all partitions or in those with some values, in all or some buckets.

    Returns the snapshots made. ``perform`` does the work of the buckets; without it they are compacted side by side in
    this process.

    Raises:
        ConflictError: another commit changed a bucket meanwhile; nothing is visible, and no file of it is left.
        UnsupportedFeature: the table has a feature without which the result would be wrong.
    """
    facts.require(Operation.COMPACT)
    works = bucket_works(facts, partitions, buckets, snapshot=facts.snapshots.latest())
    if not works:
        return ()
    messages: list[CommitMessage] = []
    committer = facts.committer(commit_user)
    settled = False
    try:
        # One by one: what came before a failure is known, and deleted.
        messages.extend(m for m in (perform or _side_by_side(facts, full=full))(works) if not m.is_empty)
        snapshots = committer.commit(Committable(identifier=BATCH_COMMIT_IDENTIFIER, messages=tuple(messages)))
        settled = True
    except CommitOutcomeUnknown:
        settled = True
        raise
    finally:
        if not settled:
            committer.abort(messages)
    if snapshots:
        expire_after_commit(facts)
    return snapshots


def compact_work(facts: TableFacts, work: BucketWork, *, full: bool) -> CommitMessage:
    """Compact one bucket; the message may be empty, and nothing is visible before it is committed.

    Raises:
        CorruptionError: a file is missing or damaged.
    """
    files = files_of(facts, work)
    if facts.schema.is_primary_key_table:
        return compact_bucket(files, work.files, full=full, deletions=work.deletions)
    return compact_append_files(files, work.files, full=full, deletions=work.deletions)


def files_of(facts: TableFacts, work: BucketWork) -> BucketFiles:
    """How the files of the bucket are read and written."""
    return BucketFiles(
        store=facts.store,
        schema=facts.schema,
        schemas=facts.schemas,
        options=facts.options,
        partition=work.partition,
        partition_text=facts.partitions.text(work.partition),
        bucket=work.bucket,
        total_buckets=work.total_buckets,
    )


def _side_by_side(facts: TableFacts, *, full: bool) -> Performer:
    def perform(works: Sequence[BucketWork]) -> Iterable[CommitMessage]:
        threads = min(len(works), MAX_THREADS, os.cpu_count() or 1)
        if threads == 1:
            yield from (compact_work(facts, work, full=full) for work in works)
            return
        with ThreadPoolExecutor(threads, "compact") as pool:
            # All are waited for, so that what succeeded beside a failure is known and deleted.
            running = [pool.submit(compact_work, facts, work, full=full) for work in works]
        failures = [future.exception() for future in running]
        for future, failure in zip(running, failures, strict=True):
            if failure is None:
                yield future.result()
        for failure in failures:
            if failure is not None:
                raise failure

    return perform


def bucket_works(
    facts: TableFacts,
    partitions: Sequence[Mapping[str, object]] | None,
    buckets: Sequence[int] | None = None,
    *,
    snapshot: Snapshot | None,
) -> tuple[BucketWork, ...]:
    """The buckets of a snapshot: all, or those with some numbers in partitions with some values."""
    if snapshot is None:
        return ()
    chosen = None if buckets is None else frozenset(buckets)
    wanted = FileFilter(buckets=chosen)
    if partitions is not None:
        specs = [partition_spec(facts.schema, partition) for partition in partitions]
        wanted = FileFilter(partition_predicate=facts.partitions.predicate(specs), buckets=chosen)
    plan = live_files(facts.manifests, snapshot, schema=facts.schema, schemas=facts.schemas, filter=wanted)
    deletions = facts.bucket_deletions(snapshot)
    # Postponed files have no bucket yet.
    found = by_bucket(entry for entry in plan.entries if entry.bucket >= 0)
    return tuple(
        BucketWork(
            partition,
            bucket,
            entries[0].total_buckets,
            tuple(entry.file for entry in entries),
            deletions.get((partition, bucket)),
        )
        for (partition, bucket), entries in found.items()
    )
