"""DELETE on a table without primary key: files are rewritten without the rows, or the rows are marked as deleted.

Java ``DeleteFromPaimonTableCommand``, ``AppendDeleteFileMaintainer``; format chapter 08, section 2. With
``deletion-vectors.enabled`` the data files stay, and the index files that hold vectors of files with deleted rows are
replaced. Only files that may hold a row of the kind are read. It is one commit, which fails when another commit
has removed one of the files meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from table_format.codecs.deletion_vector import DeletionVector
from table_format.errors import CommitOutcomeUnknown, UnsupportedFeature
from table_format.formats.bucket_files import BucketFiles
from table_format.formats.data_file_reader import POSITION
from table_format.indexes.deletion_vector_files import write_deletion_vector_files
from table_format.indexes.deletion_vectors import read_deletion_vector
from table_format.kernels.predicate import matches
from table_format.lsm.marks import BucketDeletions
from table_format.metastore.file_filter import FileFilter
from table_format.metastore.plan import by_bucket, live_files
from table_format.model.commit import CommitMessage, Committable
from table_format.model.data_file import DataFileMeta, FileSource
from table_format.model.manifest import ManifestEntry
from table_format.model.predicate import Predicate, columns_of
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from table_format.options.declare import Operation
from table_format.table.commit import expire_after_commit
from table_format.table.facts import TableFacts
from table_format.table.plan import Plan

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Bucket:
    """The files of one bucket that may hold rows to delete."""

    files: BucketFiles
    candidates: tuple[DataFileMeta, ...]
    deletions: BucketDeletions
    live: Mapping[str, DataFileMeta]
    """All live files of the bucket by name, if there are deletion vectors."""

    def vector_of(self, file: DataFileMeta) -> DeletionVector | None:
        stored = self.deletions.files.get(file.file_name)
        return None if stored is None else read_deletion_vector(self.files.store.io, stored, file.row_count)


def delete_rows(facts: TableFacts, plan: Plan, commit_user: str) -> tuple[Snapshot, ...]:
    """Delete the rows that the plan of a filter on the latest snapshot selects; the snapshots made.

    Raises:
        ConflictError: another commit removed or marked rows of the same files; nothing is visible.
        UnsupportedFeature: the table's ``deletion-vectors.enabled`` changed after rows were marked.
    """
    facts.require(Operation.WRITE)
    if plan.snapshot is None:
        return ()
    committer = facts.committer(commit_user)
    messages: list[CommitMessage] = []
    settled = False
    try:
        for bucket in _buckets(facts, plan):
            message = _message(bucket, plan.predicate)
            if message is not None:
                messages.append(message)
        committable = Committable(identifier=BATCH_COMMIT_IDENTIFIER, messages=tuple(messages))
        snapshots = committer.commit(committable) if messages else ()
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


def _buckets(facts: TableFacts, plan: Plan) -> Iterator[_Bucket]:
    deletions = facts.bucket_deletions(plan.snapshot)
    enabled = facts.options.deletion_vectors.enabled
    if deletions and not enabled:
        feature = "delete without deletion vectors on a table that has some"
        raise UnsupportedFeature(feature)
    files: dict[tuple[bytes, int, int], list[DataFileMeta]] = {}
    for split in plan.splits:
        files.setdefault((split.partition, split.bucket, split.total_buckets), []).extend(split.files)
    live: Mapping[tuple[bytes, int], Sequence[ManifestEntry]] = {}
    if deletions and plan.snapshot is not None:
        wanted = FileFilter(partitions=frozenset(partition for partition, _, _ in files))
        found = live_files(facts.manifests, plan.snapshot, schema=facts.schema, schemas=facts.schemas, filter=wanted)
        live = by_bucket(found.entries)
    for (partition, number, total), candidates in files.items():
        bucket = BucketFiles(
            store=facts.store,
            schema=facts.schema,
            schemas=facts.schemas,
            options=facts.options,
            partition=partition,
            partition_text=facts.partitions.text(partition),
            bucket=number,
            total_buckets=total,
        )
        known = {entry.file.file_name: entry.file for entry in live.get((partition, number), ())}
        yield _Bucket(bucket, tuple(candidates), deletions.get((partition, number), BucketDeletions()), known)


def _message(bucket: _Bucket, predicate: Predicate | None) -> CommitMessage | None:
    found = {file: positions for file in bucket.candidates if (positions := _selected(bucket, file, predicate)).size}
    if not found:
        return None
    if bucket.files.options.deletion_vectors.enabled:
        return _marked(bucket, found)
    new: list[DataFileMeta] = []
    with bucket.files.deleting_on_failure(new):
        for file, positions in found.items():
            new.extend(_rewritten(bucket.files, file, positions))
    return replace(bucket.files.message(new_files=tuple(new)), deleted_files=tuple(found))


def _selected(bucket: _Bucket, file: DataFileMeta, predicate: Predicate | None) -> Positions:
    """The positions of the rows that are there and meet the condition."""
    files, schema = bucket.files, bucket.files.schema
    fields = schema.select(sorted(columns_of(predicate))) if predicate is not None else ()
    batches = files.reader().read(
        files.partition,
        files.bucket,
        file,
        fields,
        predicate=predicate,
        deleted=bucket.vector_of(file),
        with_positions=True,
    )
    parts = [np.empty(0, np.int64)]
    for batch in batches:
        positions = batch.column(batch.schema.get_field_index(POSITION))
        if predicate is not None:
            positions = positions.filter(matches(predicate, batch, schema.fields))
        parts.append(positions.to_numpy())
    return np.concatenate(parts)


def _rewritten(bucket: BucketFiles, file: DataFileMeta, positions: Positions) -> tuple[DataFileMeta, ...]:
    """New files with the other rows, which keep their order among those of the bucket."""
    fields = bucket.schema.fields
    gone = DeletionVector.of(positions.tolist(), is_wide=True)
    first = file.min_sequence_number
    with bucket.writing(level=0, source=FileSource.APPEND, first_sequence_number=first) as writer:
        for batch in bucket.reader().read(bucket.partition, bucket.bucket, file, fields, deleted=gone):
            writer.write(batch)
        return writer.close()


def _marked(bucket: _Bucket, found: dict[DataFileMeta, Positions]) -> CommitMessage:
    is_wide = bucket.files.options.deletion_vectors.bitmap64
    names = {file.file_name for file in found}
    # The vectors of other files in an index file that goes move to the new one as they are.
    replaced = tuple(
        index
        for index in bucket.deletions.index_files
        if bucket.files.options.bucket.count > 0
        or any(range_.data_file in names for range_ in index.deletion_vector_ranges or ())
    )
    vectors = {
        range_.data_file: vector
        for index in replaced
        for range_ in index.deletion_vector_ranges or ()
        if (vector := bucket.vector_of(bucket.live[range_.data_file])) is not None
    }
    for file, positions in found.items():
        vector = vectors.get(file.file_name) or DeletionVector.of(is_wide=is_wide)
        vectors[file.file_name] = vector.union(positions.tolist())
    options = bucket.files.options
    come = write_deletion_vector_files(
        bucket.files.store,
        vectors,
        # A bucket has one index file, however large.
        target_bytes=options.deletion_vectors.index_file_target_size if options.bucket.count < 0 else sys.maxsize,
    )
    return replace(bucket.files.message(), new_index_files=come, deleted_index_files=replaced)
