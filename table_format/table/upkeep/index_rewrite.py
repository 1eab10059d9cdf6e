"""Builds new indexes for existing data files (format chapter 09, section 1; Java ``RewriteFileIndexProcedure``).

After a change of the index options, files have other indexes than declared. This module reads the indexed columns of
each such file, one by one. One commit removes and adds the same data file with its new indexes. Data files are
neither written nor deleted; rows, levels and deletion vectors stay the same. The replaced index file is deleted when
the last snapshot that names it expires.

Files are committed in groups, so interrupted work can resume: files with the right indexes are skipped. If others
have changed a bucket in the meantime, the bucket is processed again on the latest snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Final, TypeAlias

import pyarrow as pa

from table_format.codecs.file_index import encode_file_index
from table_format.errors import BucketLost, ConflictError
from table_format.formats.data_file_reader import DataFileReader
from table_format.formats.index_writer import build_indexes, index_file_name
from table_format.indexes.file_index import INDEX_SUFFIX
from table_format.io.uncommitted_files import DeletingOnFailure, delete_uncommitted
from table_format.metastore.references.expired_reads import on_latest
from table_format.metastore.scan.file_filter import FileFilter
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage, Committable
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import ManifestEntry
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from table_format.options.declare import Operation
from table_format.table.facts import HasFacts, TableFacts, reporting_drops
from table_format.table.rows.partition_values import partition_filter
from table_format.table.upkeep.compaction_report import DroppedBucket
from table_format.table.upkeep.declared_indexes import DeclaredIndexes
from table_format.table.upkeep.threads import in_threads
from table_format.table.write.batch_commit import aborting_on_failure, expire_after_commit, fresh_user
from table_format.table.write.replaced_files import conflict_if_replaced

FILES_PER_COMMIT: Final = 512
"""Data files per commit: the most work that an interrupt can lose."""

_FILES_OF_WORK: Final = 16
_TRIES: Final = 4
"""Attempts on a bucket that others keep changing."""


@dataclass(frozen=True, slots=True)
class IndexRewrite:
    """Some data files of one bucket. ``partition`` is a serialised BinaryRow."""

    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...]

    @property
    def bucket_id(self) -> BucketId:
        """The partition and bucket of the files."""
        return BucketId(self.partition, self.bucket)


Performer: TypeAlias = Callable[[Sequence[IndexRewrite]], Iterable[CommitMessage | BucketLost]]
"""Builds indexes, in any process and order. On failure, it deletes the files that it has created."""


@dataclass(frozen=True, slots=True)
class IndexRewriteReport:
    """The result: the examined data files, those with new indexes, and the buckets that others kept changing.

    ``partitions`` are the partitions of the rewritten files as texts such as ``dt=2026-01-01``; "" if there are none.
    """

    snapshots: tuple[Snapshot, ...] = ()
    files: int = 0
    rewritten: int = 0
    partitions: tuple[str, ...] = ()
    dropped: tuple[DroppedBucket, ...] = ()

    @property
    def skipped(self) -> int:
        """Files that already have their indexes, can have none, or were removed by others."""
        return max(self.files - self.rewritten, 0)


@reporting_drops
def rewrite_table_indexes(
    table: HasFacts, *, partitions: Sequence[Mapping[str, object]] | None = None
) -> IndexRewriteReport:
    """See ``Table.rewrite_file_index``."""
    return rewrite_indexes(table.current_facts, partitions=partitions)


def rewrite_indexes(
    facts: TableFacts,
    *,
    partitions: Sequence[Mapping[str, object]] | None = None,
    perform: Performer | None = None,
    files_per_commit: int = FILES_PER_COMMIT,
) -> IndexRewriteReport:
    """Rewrite indexes like ``rewrite_table_indexes``. ``perform`` builds the indexes; by default this process does,
    in parallel.
    """
    facts.require(Operation.READ)
    facts.require(Operation.COMPACT)
    wanted = partition_filter(facts.schema, facts.partitions, partitions)
    rewriting = _Rewriting(facts, perform or _in_this_process(facts), files_per_commit)
    files, pieces = on_latest(facts.snapshots, lambda latest: _planned(facts, latest, wanted))
    for _ in range(_TRIES):
        lost = rewriting.run(pieces)
        if not lost:
            break
        again = replace(
            wanted,
            partitions=frozenset(bucket_id.partition for bucket_id in lost),
            buckets=frozenset(bucket_id.bucket for bucket_id in lost),
        )
        _, pieces = on_latest(facts.snapshots, partial(_planned, facts, wanted=again, only=frozenset(lost)))
    return rewriting.report(files, lost if pieces else {})


@dataclass
class _Rewriting:
    """Does and commits work group by group, and notes the results."""

    facts: TableFacts
    perform: Performer
    files_per_commit: int
    snapshots: list[Snapshot] = field(default_factory=list)
    rewritten: set[tuple[BucketId, str]] = field(default_factory=set)

    def run(self, pieces: Iterable[IndexRewrite]) -> Mapping[BucketId, ConflictError]:
        """The buckets that others have changed and that may still have files to process."""
        lost: dict[BucketId, ConflictError] = {}
        for group in _groups(pieces, self.files_per_commit):
            lost |= self._commit(group)
        return lost

    def report(self, files: int, lost: Mapping[BucketId, ConflictError]) -> IndexRewriteReport:
        """The report of all work."""
        shown = self.facts.partitions.text
        partitions = sorted({shown(bucket_id.partition) for bucket_id, _ in self.rewritten})
        dropped = (DroppedBucket(shown(partition), bucket, str(why)) for (partition, bucket), why in lost.items())
        return IndexRewriteReport(
            tuple(self.snapshots), files, len(self.rewritten), tuple(partitions), tuple(sorted(dropped))
        )

    def _commit(self, group: Sequence[IndexRewrite]) -> Mapping[BucketId, ConflictError]:
        lost: dict[BucketId, ConflictError] = {}
        dropped: dict[BucketId, ConflictError] = {}
        messages: list[CommitMessage] = []
        # Each group has its own user, because a user commits an identifier only once.
        committer = self.facts.committer(fresh_user(self.facts))

        def drop(partition: bytes, bucket: int, reason: ConflictError) -> None:
            dropped[BucketId(partition, bucket)] = reason

        with aborting_on_failure(committer, messages):
            # One by one, so that results before a failure are known and deleted.
            for outcome in self.perform(group):
                if isinstance(outcome, BucketLost):
                    lost[BucketId(outcome.partition, outcome.bucket)] = outcome
                elif not outcome.is_empty:
                    messages.append(outcome)
            committable = Committable(identifier=BATCH_COMMIT_IDENTIFIER, messages=tuple(messages))
            snapshots = committer.commit(committable, on_drop=drop)
        self.snapshots.extend(snapshots)
        if snapshots:
            done = (message for message in messages if message.bucket_id not in dropped)
            self.rewritten.update((m.bucket_id, file.file_name) for m in done for file in m.compact_after)
            expire_after_commit(self.facts)
        return lost | dropped


def rewrite_work(facts: TableFacts, work: IndexRewrite) -> tuple[CommitMessage, ...]:
    """Build the indexes of some files of a bucket; nothing is visible before the message is committed.

    After a failure no file of this work is left.

    Raises:
        BucketLost: others replaced one of the files, and it was expired in the meantime.
        CorruptionError: a data file is missing or damaged.
    """
    declared = DeclaredIndexes(facts)
    made: list[str] = []
    pairs: list[tuple[DataFileMeta, DataFileMeta]] = []
    with (
        DeletingOnFailure(lambda: delete_uncommitted(facts.store.io, made)),
        conflict_if_replaced(facts, work.partition, work.bucket),
    ):
        for file in work.files:
            if not declared.differ(work.bucket_id, file, checks_content=True):
                continue
            after = _with_indexes(facts, declared, work, file, made)
            if after != file:
                pairs.append((file, after))
    if not pairs:
        return ()
    # Without a schema id: no row is written, and an index that a later schema does not declare is not a conflict.
    message = CommitMessage(
        partition=work.partition,
        bucket=work.bucket,
        total_buckets=work.total_buckets,
        compact_before=tuple(before for before, _ in pairs),
        compact_after=tuple(after for _, after in pairs),
    )
    return (message,)


def outcomes_of(facts: TableFacts, work: IndexRewrite) -> tuple[CommitMessage | BucketLost, ...]:
    """Call ``rewrite_work``, but return a lost bucket instead of raising the error."""
    try:
        return rewrite_work(facts, work)
    except BucketLost as lost:
        return (lost,)


def _in_this_process(facts: TableFacts) -> Performer:
    return lambda pieces: in_threads(pieces, partial(outcomes_of, facts))


def _with_indexes(
    facts: TableFacts, declared: DeclaredIndexes, work: IndexRewrite, file: DataFileMeta, made: list[str]
) -> DataFileMeta:
    """Return the same data file with the indexes it should have. ``made`` collects the separate index files."""
    others = tuple(name for name in file.extra_files if not name.endswith(INDEX_SUFFIX))
    bare = replace(file, extra_files=others, embedded_file_index=None)
    stored = facts.schemas[file.schema_id]
    # All stored rows, including deleted ones: positions in an index are positions in the file.
    reader = DataFileReader(facts.store, facts.schemas, stored, facts.options)

    def read(column: str) -> Iterator[pa.RecordBatch]:
        return reader.read(work.partition, work.bucket, file, [stored.field(column)])

    wanted = declared.of_file(file)
    payloads = build_indexes(wanted, read)
    possible = [index for index in wanted if index.index_type in payloads.get(index.name, {})]
    if declared.has(work.bucket_id, file, possible, checks_content=True):
        return file  # the other indexes cannot hold a value of their column
    if not payloads:
        return bare
    data = encode_file_index(payloads)
    if len(data) <= facts.options.file_index.in_manifest_threshold:
        return replace(bare, embedded_file_index=data)
    name = index_file_name(file.file_name, facts.store.runtime.ids.uuid(), data)
    path = facts.store.paths.beside(facts.partitions.text(work.partition), work.bucket, file, name)
    made.append(path)
    facts.store.io.create(path, data)
    return replace(bare, extra_files=(*others, name))


def _planned(
    facts: TableFacts, latest: Snapshot | None, wanted: FileFilter, only: frozenset[BucketId] | None = None
) -> tuple[int, Sequence[IndexRewrite]]:
    """Return the number of data files, and the files that may have other indexes than they should."""
    if latest is None:
        return 0, ()
    plan = facts.live_files(latest, wanted)
    # Postponed files have no indexes.
    entries = [e for e in plan.entries if e.bucket >= 0 and (only is None or e.bucket_id in only)]
    declared = DeclaredIndexes(facts)
    return len(entries), _pieces(entry for entry in entries if declared.may_differ(entry.bucket_id, entry.file))


def _pieces(entries: Iterable[ManifestEntry]) -> Sequence[IndexRewrite]:
    buckets: dict[tuple[bytes, int, int], list[DataFileMeta]] = {}
    for entry in entries:
        buckets.setdefault((entry.partition, entry.bucket, entry.total_buckets), []).append(entry.file)
    return [
        IndexRewrite(*bucket, tuple(files[start : start + _FILES_OF_WORK]))
        for bucket, files in sorted(buckets.items(), key=lambda item: item[0])
        for start in range(0, len(files), _FILES_OF_WORK)
    ]


def _groups(pieces: Iterable[IndexRewrite], files_at_once: int) -> Iterator[Sequence[IndexRewrite]]:
    """Yield the work in groups of about this many files, in order."""
    left = iter(pieces)
    while group := list(islice(left, max(files_at_once // _FILES_OF_WORK, 1))):
        yield group
