"""Checks a commit before it is published: schema, hash indexes, keys, and the files of the latest snapshot.

This module reads the facts; ``schema_fit``, ``key_changes`` and ``conflicts`` decide. A conflict is final for the
finished work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from table_format.errors import ConflictError, CorruptionError, MissingFile, SchemaChanged
from table_format.lsm.keys import key_ranges
from table_format.metastore.commit.commit_job import CommitContext, CommitJob, Proposal
from table_format.metastore.commit.conflicts import CommitFacts, find_bucket_change, find_conflict
from table_format.metastore.commit.key_changes import find_key_change
from table_format.metastore.commit.schema_fit import find_misfit
from table_format.metastore.manifest.index_entries import combine_index, find_hash_index_change
from table_format.metastore.manifest.manifest_changes import FileChanges, compact_changes
from table_format.metastore.schema.table_identity import replaced_schema
from table_format.model.arguments import whole_number
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.model.manifest import FileKind, IndexManifestEntry
from table_format.model.schema import TableSchema, identified
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.options.bucket_mode import is_bucketed


def check_fit(
    c: CommitContext, job: CommitJob, proposal: Proposal, latest: Snapshot | None, schema: TableSchema
) -> Sequence[IndexManifestEntry]:
    """Check changes against the latest snapshot and schema. Return the index files that are live after the commit.

    Raises:
        ConflictError: the changes conflict with the latest snapshot or schema.
        CorruptionError: the table's metadata cannot be read.
    """
    changes = proposal.changes
    _check_schema(c, job, changes, schema)
    before = () if latest is None else c.manifests.index_entries(latest)
    changed = find_hash_index_change(changes.bases.hash_indexes, before, c.partitions)
    if changed is not None:
        raise changed
    outdated = find_key_change(changes, c.schema, latest, c.snapshots, c.manifests)
    if outdated is not None:
        raise outdated
    index = combine_index(before, changes.index, bucketed=is_bucketed(c.bucket_mode)) if changes.index else before
    conflict = _find_conflict(c, job, proposal, index, latest)
    if conflict is not None:
        raise conflict
    return index


def find_lost_buckets(
    c: CommitContext, job: CommitJob, messages: Iterable[CommitMessage]
) -> dict[BucketId, ConflictError]:
    """Return the buckets whose compaction no longer fits the table, with reasons; empty if this is unknown."""
    buckets: dict[BucketId, list[CommitMessage]] = {}
    for message in messages:
        buckets.setdefault(message.bucket_id, []).append(message)
    lost: dict[BucketId, ConflictError] = {}
    try:
        latest, schema = c.snapshots.latest(), c.schemas.latest()
        for bucket, own in buckets.items():
            try:
                check_fit(c, job, Proposal(compact_changes(own)), latest, schema)
            except ConflictError as e:
                lost[bucket] = e
    except (OSError, CorruptionError):
        return {}
    return lost


def _check_schema(c: CommitContext, job: CommitJob, changes: FileChanges, latest: TableSchema) -> None:
    """Refuse files whose schema is not compatible with the latest one.

    Raises:
        SchemaChanged: the schemas are not compatible; the message names both and their difference.
        InvalidInputError: a message has an invalid schema id.
    """
    _check_identities(c, changes)
    rewritten = changes.rewrites or job.kind is not CommitKind.APPEND
    for schema_id in sorted(whole_number(i, "schema_id") for i in changes.schema_ids - {latest.id}):
        if schema_id > latest.id:
            misfit: str | None = f"schema {schema_id} does not exist any more"
        else:
            misfit = find_misfit(c.schemas.load(schema_id), latest, rewritten=rewritten)
        if misfit is not None:
            message = (
                f"the table at {c.store.paths.root}: this {job.kind.value} has schema {schema_id}, and the table "
                f"has schema {latest.id} now: {misfit}. Nothing was committed; load the table again and repeat"
            )
            raise SchemaChanged(message)


def _check_identities(c: CommitContext, changes: FileChanges) -> None:
    """Refuse files with a schema whose id another schema has now: readers would take them for files of that one.

    This reads nothing: the latest schema was just read, and that of an earlier id is cached or needed anyway.

    Raises:
        SchemaChanged: names the schema, and the one that replaced it.
    """
    for identity in sorted(changes.schemas):
        try:
            found = c.schemas.load(identified(identity)[0]).identity
        except MissingFile:
            found = ""
        if found != identity:
            message = (
                f"{replaced_schema(c.store, c.schemas, identity)}. New files have the old schema, and would be read "
                "with the new one. Nothing was committed; load the table again and write the rows again"
            )
            raise SchemaChanged(message)


def _find_conflict(
    c: CommitContext,
    job: CommitJob,
    proposal: Proposal,
    index: Sequence[IndexManifestEntry],
    latest: Snapshot | None,
) -> ConflictError | None:
    changes = proposal.changes
    counts = _bucket_counts(c, job, changes, latest)
    if latest is not None and not job.check_conflicts:
        return find_bucket_change(counts, changes.entries, c.partitions)
    base = proposal.base
    if base is None:
        base = () if latest is None else c.live.bucket_files(latest, changes.buckets)
    return find_conflict(
        CommitFacts(
            base=base,
            delta=changes.entries,
            kind=job.kind,
            base_id=0 if latest is None else latest.id,
            base_user="" if latest is None else latest.commit_user,
            commit_user=c.user,
            partitions=c.partitions,
            index=index,
            new_index_files=frozenset(e.index_file.file_name for e in changes.index if e.kind is FileKind.ADD),
            bucket_counts=counts,
            levels=changes.bases.levels,
            key_range_of=key_ranges(c.schema) if c.schema.is_primary_key_table else None,
        )
    )


def _bucket_counts(
    c: CommitContext, job: CommitJob, changes: FileChanges, latest: Snapshot | None
) -> Mapping[bytes, set[int]]:
    if latest is None or job.kind is CommitKind.OVERWRITE:
        return {}
    fixed = frozenset(e.partition for e in changes.entries if e.total_buckets > 0 and e.kind is FileKind.ADD)
    return c.live.bucket_counts(latest, fixed) if fixed else {}
