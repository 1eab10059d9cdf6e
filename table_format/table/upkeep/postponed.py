"""Compaction of postponed rows: it assigns their buckets in commit order (format chapter 11, 4).

Java ``PostponeBucketCompactSplitSource``, ``RewritePostponeBucketCommittableOperator``, ``PostponeUtils``. One
COMPACT snapshot adds the rows to real buckets, like newly written rows, and removes the postponed files. A partition
keeps its number of buckets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from table_format.counted import counted
from table_format.errors import BucketCountChanged
from table_format.formats.batch_rows import batch_rows_of
from table_format.formats.data_file_reader import DataFileReader
from table_format.io.paths import POSTPONE_BUCKET
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import FileIdentifier, FileKind, ManifestEntry
from table_format.model.schema import VALUE_KIND
from table_format.model.snapshot import Snapshot
from table_format.table.facts import TableFacts
from table_format.table.upkeep.redistribution import BucketChoice, as_compacted, cut, distribute, with_buckets
from table_format.table.write.stored_rows import StoredRows


@dataclass(frozen=True, slots=True)
class PostponedPartition:
    """Postponed files of a partition, in the order of their rows, and the buckets that this work fills."""

    partition: bytes
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    base: Snapshot
    wanted: BucketChoice
    existing: tuple[int, ...]
    """Buckets that have files, which are compacted too."""


def postponed_partitions(
    facts: TableFacts, snapshot: Snapshot, entries: Sequence[ManifestEntry], *, shares: int = 1
) -> tuple[PostponedPartition, ...]:
    """Return the work for the live files ``entries`` of a snapshot, in ``shares`` for each partition.

    Raises:
        BucketCountChanged: the files of a partition do not agree on its number of buckets.
    """
    postponed: dict[bytes, list[ManifestEntry]] = {}
    existing: dict[bytes, set[int]] = {}
    for entry in entries:
        if entry.bucket != POSTPONE_BUCKET:
            existing.setdefault(entry.partition, set()).add(entry.bucket)
    for entry in in_order_of_commits(facts, snapshot, [e for e in entries if e.bucket == POSTPONE_BUCKET]):
        postponed.setdefault(entry.partition, []).append(entry)
    known = _known_counts(facts, (e for e in entries if e.partition in postponed and e.bucket != POSTPONE_BUCKET))
    pieces: list[PostponedPartition] = []
    for partition, found in postponed.items():
        files = tuple(entry.file for entry in found)
        count = known.get(partition) or facts.options.postpone.buckets_for(
            sum(file.row_count for file in files), sum(file.file_size for file in files)
        )
        there = existing.get(partition, set())
        pieces.extend(
            PostponedPartition(partition, count, files, snapshot, wanted, tuple(sorted(there & wanted)))
            for wanted in cut(range(count), shares)
        )
    return tuple(pieces)


def give_buckets(facts: TableFacts, work: PostponedPartition, *, full: bool) -> tuple[CommitMessage, ...]:
    """Write the rows to the buckets of the work, and compact these where it is due, or in full.

    Raises:
        CorruptionError: a file is missing or damaged; no file of this work is left.
    """
    target = with_buckets(facts, work.total_buckets)
    how = StoredRows(
        work.base,
        compact="full" if full else True,
        are_results=False,
        buckets=tuple(BucketId(work.partition, bucket) for bucket in work.existing),
    )
    messages = distribute(target, _rows(facts, work), work.wanted, how, replacing=False)
    return tuple(as_compacted(facts, message) for message in messages)


def removals(pieces: Sequence[PostponedPartition]) -> tuple[CommitMessage, ...]:
    """Return the message that removes the postponed files from the table after all shares are done."""
    files: Mapping[bytes, tuple[DataFileMeta, ...]] = {work.partition: work.files for work in pieces}
    return tuple(
        CommitMessage(
            partition=partition, bucket=POSTPONE_BUCKET, total_buckets=POSTPONE_BUCKET, compact_before=postponed
        )
        for partition, postponed in files.items()
    )


def in_order_of_commits(
    facts: TableFacts, snapshot: Snapshot, entries: Sequence[ManifestEntry]
) -> tuple[ManifestEntry, ...]:
    """Return live files in commit order, because later rows must win.

    Files record when they were created, by the clock of their writer. This time only orders files whose snapshots
    have been expired.
    """
    waiting = {entry.identifier for entry in entries}
    ranks: dict[FileIdentifier, tuple[int, int]] = {}
    for snapshot_id in range(snapshot.id, 0, -1):
        found = facts.snapshots.find(snapshot_id) if waiting else None
        changed = None if found is None else facts.changed_files(found)
        if changed is None:
            break
        for position, entry in enumerate(changed):
            if entry.kind is FileKind.ADD and entry.identifier in waiting:
                ranks[entry.identifier] = (snapshot_id, position)
                waiting.discard(entry.identifier)
    return tuple(sorted(entries, key=lambda e: ranks.get(e.identifier, (0, e.file.creation_time or 0))))


def _known_counts(facts: TableFacts, entries: Iterator[ManifestEntry]) -> dict[bytes, int]:
    known: dict[bytes, int] = {}
    for entry in entries:
        count = known.setdefault(entry.partition, entry.total_buckets)
        if count != entry.total_buckets:
            message = (
                f"{facts.partitions.shown(entry.partition)} of {facts.name} has files written with "
                f"{counted(count, 'bucket')} and others written with {entry.total_buckets}; "
                f"rescale it by table.rescale() or the job rescale_table"
            )
            raise BucketCountChanged(message)
    return known


def _rows(facts: TableFacts, work: PostponedPartition) -> Iterator[pa.RecordBatch]:
    reader = DataFileReader(facts.store, facts.schemas, facts.schema, facts.options, rewriting=True)
    fields = (*facts.schema.fields, VALUE_KIND)
    for file in work.files:
        yield from reader.read(work.partition, POSTPONE_BUCKET, file, fields, batch_rows=batch_rows_of((file,), fields))
