"""Looking after a table: compaction as one commit of its own (format chapter 07; chapter 11, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from table_format.append.compact import compact_append_files
from table_format.errors import CommitOutcomeUnknown, UnsupportedFeature
from table_format.formats.bucket_files import BucketFiles
from table_format.lsm.compact import compact_bucket
from table_format.metastore.changes import DELETION_VECTORS
from table_format.metastore.file_filter import FileFilter
from table_format.metastore.plan import by_bucket, live_files
from table_format.model.commit import CommitMessage, Committable
from table_format.model.manifest import ManifestEntry
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from table_format.options.declare import Operation
from table_format.table.commit import expire_after_commit
from table_format.table.facts import TableFacts
from table_format.table.partition_values import partition_spec


def compact(
    facts: TableFacts,
    commit_user: str,
    *,
    full: bool = False,
    partitions: Sequence[Mapping[str, object]] | None = None,
) -> tuple[Snapshot, ...]:
    """Compact what is due, or everything, in all partitions or in those with some values; the snapshots made.

    Raises:
        ConflictError: another commit changed a bucket meanwhile; nothing is visible, and no file of it is left.
        UnsupportedFeature: the table has a feature without which the result would be wrong.
    """
    facts.require(Operation.COMPACT)
    messages: list[CommitMessage] = []
    committer = facts.committer(commit_user)
    settled = False
    try:
        for (partition, bucket), entries in _buckets(facts, partitions).items():
            message = _compacted(facts, partition, bucket, entries, full=full)
            if not message.is_empty:
                messages.append(message)
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


def _buckets(
    facts: TableFacts, partitions: Sequence[Mapping[str, object]] | None
) -> dict[tuple[bytes, int], list[ManifestEntry]]:
    snapshot = facts.snapshots.latest()
    if snapshot is None:
        return {}
    if any(i.index_file.index_type == DELETION_VECTORS for i in facts.manifests.index_entries(snapshot)):
        feature = "deletion vectors"
        message = f"snapshot {snapshot.id} of {facts.name} has deletion vectors, which this version cannot compact"
        raise UnsupportedFeature(feature, message)
    wanted = FileFilter()
    if partitions is not None:
        specs = [partition_spec(facts.schema, partition) for partition in partitions]
        wanted = FileFilter(partition_predicate=facts.partitions.predicate(specs))
    plan = live_files(facts.manifests, snapshot, schema=facts.schema, schemas=facts.schemas, filter=wanted)
    # Postponed files have no bucket yet.
    return by_bucket(entry for entry in plan.entries if entry.bucket >= 0)


def _compacted(
    facts: TableFacts, partition: bytes, bucket: int, entries: Sequence[ManifestEntry], *, full: bool
) -> CommitMessage:
    files = BucketFiles(
        store=facts.store,
        schema=facts.schema,
        schemas=facts.schemas,
        options=facts.options,
        partition=partition,
        partition_text=facts.partitions.text(partition),
        bucket=bucket,
        total_buckets=entries[0].total_buckets,
    )
    live = [entry.file for entry in entries]
    if facts.schema.is_primary_key_table:
        return compact_bucket(files, live, full=full)
    return compact_append_files(files, live, full=full)
