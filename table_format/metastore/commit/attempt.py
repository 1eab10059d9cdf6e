"""What one commit attempt writes before it is published (format chapter 10, section 3, steps 3 to 5).

Everything here goes to files that no snapshot names yet. Delta and changelog do not depend on the latest snapshot, so
they are written once; the base list, the index manifest and merged manifests belong to one attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from table_format.errors import ConflictError, CorruptionError, SchemaChanged
from table_format.io.table_store import TableStore
from table_format.lsm.keys import key_ranges
from table_format.metastore.commit.conflicts import CommitFacts, find_bucket_change, find_conflict
from table_format.metastore.commit.key_changes import find_key_change
from table_format.metastore.commit.schema_fit import find_misfit
from table_format.metastore.manifest.index_entries import combine_index, find_hash_index_change
from table_format.metastore.manifest.manifest_changes import Changes
from table_format.metastore.manifest.manifest_merge import MergedManifests, MergeRules, merge_manifests
from table_format.metastore.manifest.manifest_store import ManifestStore, NewFiles, WrittenList
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.manifest.replay import ReplayError
from table_format.metastore.manifest.statistics_file import read_statistics
from table_format.metastore.scan.live_state import LiveState
from table_format.metastore.scan.partition_test import may_hold_partitions
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.schema.table_identity import require_same_table
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.arguments import whole_number
from table_format.model.manifest import FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta
from table_format.model.schema import TableSchema
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from table_format.options.table_options import TableOptions


@dataclass(frozen=True, slots=True)
class Proposal:
    """Changes on top of one snapshot, and the live files of the touched partitions if they are known already."""

    changes: Changes
    base: Sequence[ManifestEntry] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitJob:
    """One snapshot to be made. ``propose`` is asked anew when another writer was faster."""

    identifier: int
    kind: CommitKind
    propose: Callable[[Snapshot | None], Proposal]
    check_conflicts: bool
    watermark: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    statistics: str | None = None
    operation: str | None = None
    files: frozenset[str] = frozenset()
    """Names of the files that the snapshot adds to the table."""

    @property
    def key(self) -> tuple[int, CommitKind]:
        """What tells this snapshot from the others of its user."""
        return self.identifier, self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitContext:
    """What all commits of one committer share."""

    store: TableStore
    schema: TableSchema
    options: TableOptions
    user: str
    snapshots: SnapshotStore
    schemas: SchemaStore
    manifests: ManifestStore
    partitions: Partitions
    live: LiveState

    @property
    def is_bucketed(self) -> bool:
        return self.schema.is_primary_key_table or self.options.bucket.count > 0


@dataclass(frozen=True, slots=True)
class WrittenChanges:
    """Changes and the lists that name their manifests."""

    changes: Changes
    delta: WrittenList
    changelog: WrittenList | None


class AttemptFiles:
    """What attempts at one job have written, so that it can be used again or taken back."""

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self.lasting = NewFiles()
        self.merging = NewFiles()
        self.passing = NewFiles()
        self.written: WrittenChanges | None = None
        self.merged: MergedManifests | None = None

    def discard(self, files: NewFiles) -> None:
        """Delete files that no snapshot names; what cannot be deleted stays behind as an orphan."""
        for path in files.paths:
            with suppress(OSError):
                self._store.io.delete(path)
        files.paths.clear()

    def discard_all(self) -> None:
        """Delete everything: the job has surely failed."""
        for files in (self.passing, self.merging, self.lasting):
            self.discard(files)


def prepare(c: CommitContext, job: CommitJob, work: AttemptFiles, latest: Snapshot | None) -> Snapshot:
    """Check the job against the latest snapshot and write all the next one names; the snapshot itself is not written.

    Raises:
        ConflictError: the job does not fit on the latest snapshot, or another table is in the place of this one.
        TableNotFound: the table was dropped or renamed.
        CorruptionError: the table's metadata cannot be read.
        OSError: the store failed.
    """
    require_same_table(c.store)
    proposal = job.propose(latest)
    changes = proposal.changes
    schema = c.schemas.latest()
    index = check_fit(c, job, proposal, latest, schema)
    schema_id = schema.id
    written = _write_changes(c, work, changes, schema_id)  # 1, 2
    base = _write_base(c, work, latest, schema_id)  # 3, 4
    index_manifest = latest.index_manifest if latest else None
    if changes.index:
        index_manifest = c.manifests.write_index(index, new=work.passing) if index else None  # 5
    return _snapshot(c, job, written, latest, base=base, index_manifest=index_manifest, schema_id=schema_id)


def check_fit(
    c: CommitContext, job: CommitJob, proposal: Proposal, latest: Snapshot | None, schema: TableSchema
) -> Sequence[IndexManifestEntry]:
    """Check changes against the latest snapshot and schema; the index files that would be alive with them.

    Raises:
        ConflictError: they do not fit.
        CorruptionError: the table's metadata cannot be read.
    """
    changes = proposal.changes
    _check_schema(c, job, changes, schema)
    before = () if latest is None else c.manifests.index_entries(latest)
    changed = find_hash_index_change(changes.hash_index_bases, before, c.partitions)
    if changed is not None:
        raise changed
    outdated = find_key_change(changes, c.schema, latest, c.snapshots, c.manifests)
    if outdated is not None:
        raise outdated
    index = combine_index(before, changes.index, bucketed=c.is_bucketed) if changes.index else before
    conflict = _find_conflict(c, job, proposal, index, latest)
    if conflict is not None:
        raise conflict
    return index


def _check_schema(c: CommitContext, job: CommitJob, changes: Changes, latest: TableSchema) -> None:
    """Refuse files that were written under a schema whose rows mean something else now.

    Raises:
        SchemaChanged: names both schemas and what is between them.
        InvalidInputError: a message says something that is no schema id.
    """
    rewritten = changes.rewrites or job.kind is not CommitKind.APPEND
    for schema_id in sorted(whole_number(i, "schema_id") for i in changes.schema_ids - {latest.id}):
        if schema_id > latest.id:
            misfit: str | None = f"it has no schema {schema_id} any more"
        else:
            misfit = find_misfit(c.schemas.load(schema_id), latest, rewritten=rewritten)
        if misfit is not None:
            message = (
                f"the table at {c.store.paths.root}: this {job.kind.value} was made under schema {schema_id}, and the "
                f"table has schema {latest.id} now: {misfit}. Nothing of it is visible; load the table again and repeat"
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
            key_range_of=key_ranges(c.schema) if c.schema.is_primary_key_table else None,
        )
    )


def _bucket_counts(
    c: CommitContext, job: CommitJob, changes: Changes, latest: Snapshot | None
) -> Mapping[bytes, set[int]]:
    if latest is None or job.kind is CommitKind.OVERWRITE:
        return {}
    fixed = frozenset(e.partition for e in changes.entries if e.total_buckets > 0 and e.kind is FileKind.ADD)
    return c.live.bucket_counts(latest, fixed) if fixed else {}


def _write_changes(c: CommitContext, work: AttemptFiles, changes: Changes, schema_id: int) -> WrittenChanges:
    if work.written is not None:
        if work.written.changes is changes:
            return work.written
        work.discard(work.lasting)
    delta = c.manifests.write_list(_write(c, changes.entries, schema_id, work.lasting), new=work.lasting)
    changelog = None
    if changes.changelog:
        changelog = c.manifests.write_list(_write(c, changes.changelog, schema_id, work.lasting), new=work.lasting)
    work.written = WrittenChanges(changes, delta, changelog)
    return work.written


def _write_base(c: CommitContext, work: AttemptFiles, latest: Snapshot | None, schema_id: int) -> WrittenList:
    if latest is None:
        return c.manifests.write_list((), new=work.passing)
    current = c.manifests.data_manifests(latest)
    merged = None if work.merged is None else work.merged.on_top_of(current)
    if merged is None:
        work.discard(work.merging)
        try:
            merged = merge_manifests(
                current,
                MergeRules.of(c.options.manifest),
                read=c.manifests.read,
                write=lambda entries: _write(c, entries, schema_id, work.merging),
                may_hold=lambda manifest, partitions: may_hold_partitions(c.partitions, manifest, partitions),
            )
        except ReplayError as e:
            raise c.manifests.contradiction(latest, e) from e
    work.merged = merged
    return c.manifests.write_list(merged.after, new=work.passing)


def _write(
    c: CommitContext, entries: Iterable[ManifestEntry], schema_id: int, new: NewFiles
) -> tuple[ManifestFileMeta, ...]:
    return c.manifests.write(tuple(entries), types=c.partitions.types, schema_id=schema_id, new=new)


def _snapshot(
    c: CommitContext,
    job: CommitJob,
    written: WrittenChanges,
    latest: Snapshot | None,
    *,
    base: WrittenList,
    index_manifest: str | None,
    schema_id: int,
) -> Snapshot:
    changes = written.changes
    changed = sum(e.file.row_count if e.kind is FileKind.ADD else -e.file.row_count for e in changes.entries)
    before = 0 if latest is None else latest.total_record_count
    watermarks = [w for w in (job.watermark, latest.watermark if latest else None) if w is not None]
    now_ms = c.store.runtime.clock.now_ms()
    return Snapshot(
        id=FIRST_SNAPSHOT_ID if latest is None else latest.id + 1,
        schema_id=schema_id,
        base_manifest_list=base.name,
        base_manifest_list_size=base.size,
        delta_manifest_list=written.delta.name,
        delta_manifest_list_size=written.delta.size,
        changelog_manifest_list=written.changelog.name if written.changelog else None,
        changelog_manifest_list_size=written.changelog.size if written.changelog else None,
        index_manifest=index_manifest,
        commit_user=c.user,
        commit_identifier=job.identifier,
        commit_kind=job.kind,
        # Never before the base: time travel searches by halves, and expiry asks for the successor's age.
        time_millis=now_ms if latest is None else max(now_ms, latest.time_millis),
        total_record_count=None if before is None else before + changed,
        delta_record_count=changed,
        changelog_record_count=sum(e.file.row_count for e in changes.changelog),
        watermark=max(watermarks, default=None),
        statistics=job.statistics or _inherited_statistics(c, latest, schema_id),
        properties=dict(job.properties),
        next_row_id=None if latest is None else latest.next_row_id,
        operation=job.operation,
    )


def _inherited_statistics(c: CommitContext, latest: Snapshot | None, schema_id: int) -> str | None:
    """The statistics of the snapshot before: they hold for the schema they were made of, and for no other."""
    if latest is None or latest.statistics is None or latest.schema_id != schema_id:
        return None
    try:
        found = read_statistics(c.store, latest)
    except CorruptionError:
        return None  # rows are worth more than what was once counted of them
    return latest.statistics if found is not None and found.schema_id == schema_id else None
