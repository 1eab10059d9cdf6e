"""One snapshot, tried until it lands (format chapter 10, section 3; Java ``FileStoreCommitImpl.tryCommit``).

The effects of one attempt, in order; a crash between any two leaves files nobody names, and never a broken table:

1. delta manifests and their list, 2. changelog manifests and their list (both kept for the next attempt),
3. merged manifests, 4. base list, 5. index manifest, 6. ``snapshot-<id>``: the commit point, 7. the link is verified,
8. hints (advisory).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from table_format.codecs.snapshot_json import encode_snapshot
from table_format.errors import (
    CommitOutcomeUnknown,
    CommitRetriesExhausted,
    ConflictError,
    CorruptionError,
    OutcomeUnknownError,
    TableFormatError,
)
from table_format.io.table_store import TableStore
from table_format.lsm.keys import key_ranges
from table_format.metastore.changes import Changes
from table_format.metastore.commit_link import Link, verify_link
from table_format.metastore.conflicts import CommitFacts, bucket_counts, find_bucket_change, find_conflict
from table_format.metastore.index_entries import combine_index
from table_format.metastore.live_state import LiveState
from table_format.metastore.manifest_merge import MergedManifests, MergeRules, merge_manifests
from table_format.metastore.manifests import ManifestStore, NewFiles, WrittenList
from table_format.metastore.partitions import Partitions
from table_format.metastore.plan import may_hold_partitions
from table_format.metastore.publish import PutOutcome, put_if_absent
from table_format.metastore.replay import ReplayError
from table_format.metastore.schemas import SchemaStore
from table_format.metastore.snapshots import SnapshotStore
from table_format.model.manifest import FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta
from table_format.model.schema import TableSchema
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from table_format.options.table_options import TableOptions

_LOOKS = 6
_LOOK_WAIT_MS = 50


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


class _Work:
    """What attempts at one job have written, so that it can be used again or taken back."""

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self.lasting = NewFiles()
        self.merging = NewFiles()
        self.passing = NewFiles()
        self.changes: Changes | None = None
        self.delta: WrittenList | None = None
        self.changelog: WrittenList | None = None
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


class CommitLoop:
    """Lands jobs of one commit user, one after the other."""

    def __init__(self, context: CommitContext) -> None:
        self._context = context
        self._unresolved: dict[tuple[int, CommitKind], int] = {}

    def land(self, job: CommitJob) -> Snapshot:
        """Make the job's snapshot, or find that an earlier attempt has made it.

        Raises:
            ConflictError: another commit made this one impossible, or others won every attempt; nothing is visible.
            CommitOutcomeUnknown: the snapshot may exist; nothing was deleted. Ask ``filter_committed``.
            OSError: the store failed before the snapshot was published; nothing is visible.
            CorruptionError: the table's metadata cannot be read; nothing is visible.
        """
        work = _Work(self._context.store)
        try:
            snapshot = self._until_landed(job, work)
        except OutcomeUnknownError:
            raise
        except (OSError, TableFormatError):
            work.discard_all()
            raise
        self._unresolved.pop((job.identifier, job.kind), None)
        return snapshot

    # --- the loop ---------------------------------------------------------------------------------------------------

    def _until_landed(self, job: CommitJob, work: _Work) -> Snapshot:
        c = self._context
        clock = c.store.runtime.clock
        options = c.options.commit
        started_ms = clock.monotonic_ms()
        since = self._unresolved.get((job.identifier, job.kind))
        retries = 0
        while True:
            read_at_ms = clock.monotonic_ms()
            latest = c.snapshots.latest()
            latest_id = 0 if latest is None else latest.id
            landed = None if since is None else self._find_landed(job, since, latest_id)
            if landed is not None:
                work.discard_all()
                return landed
            since = latest_id if since is None else since
            snapshot = self._attempt(job, work, latest, since, read_at_ms)
            if snapshot is not None:
                return snapshot
            spent_ms = clock.monotonic_ms() - started_ms
            if retries >= options.max_retries or (options.timeout_ms is not None and spent_ms > options.timeout_ms):
                message = (
                    f"Commit failed after {spent_ms} ms with {retries} retries: other writers won every attempt. Nothing "
                    "of it is visible; try again later, or raise 'commit.max-retries'"
                )
                raise CommitRetriesExhausted(message)
            self._wait(retries)
            retries += 1

    def _wait(self, retries: int) -> None:
        c = self._context
        options = c.options.commit
        wait_ms = min(options.min_retry_wait_ms << min(retries, 32), options.max_retry_wait_ms)
        c.store.runtime.clock.sleep_ms(int(wait_ms * (1 + 0.2 * c.store.runtime.random.random())))

    def _find_landed(self, job: CommitJob, since: int, latest_id: int) -> Snapshot | None:
        """The snapshot of this job among those after ``since``: an attempt whose answer was lost, or a twin's."""
        for snapshot_id in range(latest_id, since, -1):
            snapshot = self._context.snapshots.find(snapshot_id)
            if snapshot is None:
                message = f"the snapshots after {since} have been expired, so it cannot be told whether it is among them"
                raise self._unknown(job, since, snapshot_id, message)
            if (snapshot.commit_user, snapshot.commit_identifier, snapshot.commit_kind) == (
                self._context.user,
                job.identifier,
                job.kind,
            ):
                return snapshot
        return None

    def _unknown(self, job: CommitJob, since: int, attempted_id: int, why: str) -> CommitOutcomeUnknown:
        self._unresolved[job.identifier, job.kind] = since
        user = self._context.user
        message = (
            f"It is not known whether the {job.kind.value} of user '{user}' with identifier {job.identifier} was "
            f"published as snapshot {attempted_id}: {why}. Its files are left in place; ask filter_committed before "
            "repeating it"
        )
        return CommitOutcomeUnknown(user, job.identifier, attempted_id, message)

    # --- one attempt ------------------------------------------------------------------------------------------------

    def _attempt(
        self, job: CommitJob, work: _Work, latest: Snapshot | None, since: int, read_at_ms: int
    ) -> Snapshot | None:
        c = self._context
        clock = c.store.runtime.clock
        snapshot = self._prepare(job, work, latest)
        give_up_ms = read_at_ms + c.options.commit.attempt_ms
        if clock.monotonic_ms() >= give_up_ms:
            # First fence: after so long the next id may have been used and expired. Nothing was published.
            work.discard(work.passing)
            return None
        path = c.store.paths.snapshot(snapshot.id)
        put = put_if_absent(c.store, path, encode_snapshot(snapshot), give_up_ms=give_up_ms)  # 6
        match put.outcome:
            case PutOutcome.OTHERS:
                work.discard(work.passing)
                return None
            case PutOutcome.REFUSED if put.error is not None:
                raise put.error
            case PutOutcome.UNKNOWN | PutOutcome.REFUSED:
                raise self._unknown(job, since, snapshot.id, f"the store does not answer ({put.error})") from put.error
        if not self._is_linked(job, snapshot, since):  # 7
            work.discard(work.passing)
            return None
        self._write_hints(snapshot)  # 8
        c.live.advance(snapshot)
        return snapshot

    def _is_linked(self, job: CommitJob, snapshot: Snapshot, since: int) -> bool:
        c = self._context
        error: OSError | CorruptionError | None = None
        for attempt in range(_LOOKS):
            try:
                link = verify_link(snapshot, c.snapshots, c.manifests)
                if link is Link.FALSE:
                    # Others have gone on without us, on top of the snapshot that had this id before.
                    c.snapshots.delete(snapshot.id)
            except (OSError, CorruptionError) as e:
                error = e
                c.store.runtime.clock.sleep_ms(_LOOK_WAIT_MS << attempt)
                continue
            if link is Link.UNKNOWN:
                break
            return link is Link.SOUND
        why = "it was created, but whether others build on it cannot be told"
        raise self._unknown(job, since, snapshot.id, why) from error

    def _write_hints(self, snapshot: Snapshot) -> None:
        snapshots = self._context.snapshots
        # The snapshot is published: a hint that cannot be written costs the next reader a listing.
        with suppress(OSError):
            snapshots.write_latest_hint(snapshot.id)
        if snapshot.id == FIRST_SNAPSHOT_ID:
            with suppress(OSError):
                snapshots.write_earliest_hint(snapshot.id)

    # --- what the snapshot names ------------------------------------------------------------------------------------

    def _prepare(self, job: CommitJob, work: _Work, latest: Snapshot | None) -> Snapshot:
        c = self._context
        proposal = job.propose(latest)
        changes = proposal.changes
        index = self._combined_index(changes, latest)
        self._check(job, proposal, index, latest)
        schema_id = c.schemas.latest().id
        self._write_changes(work, changes, schema_id)  # 1, 2
        base = self._write_base(work, latest, schema_id)  # 3, 4
        index_manifest = self._write_index(work, changes, index, latest)  # 5
        return self._snapshot(job, work, changes, latest, base, index_manifest, schema_id)

    def _check(
        self,
        job: CommitJob,
        proposal: Proposal,
        index: Sequence[IndexManifestEntry],
        latest: Snapshot | None,
    ) -> None:
        c = self._context
        changes = proposal.changes
        conflict: ConflictError | None = None
        if latest is None or not (job.check_conflicts or job.kind is CommitKind.OVERWRITE):
            if job.kind is not CommitKind.OVERWRITE:
                conflict = find_bucket_change(self._bucket_counts(changes, latest), changes.entries, c.partitions)
        else:
            touched = changes.partitions
            facts = CommitFacts(
                base=c.live.files(latest, touched) if proposal.base is None else proposal.base,
                delta=changes.entries,
                kind=job.kind,
                base_id=latest.id,
                base_user=latest.commit_user,
                commit_user=c.user,
                partitions=c.partitions,
                index=index,
                touched=touched,
                key_range_of=key_ranges(c.schema) if c.schema.is_primary_key_table else None,
            )
            conflict = find_conflict(facts)
        if conflict is not None:
            raise conflict

    def _bucket_counts(self, changes: Changes, latest: Snapshot | None) -> Mapping[bytes, set[int]]:
        fixed = frozenset(e.partition for e in changes.entries if e.total_buckets > 0 and e.kind is FileKind.ADD)
        if latest is None or not fixed:
            return {}
        return bucket_counts(self._context.live.files(latest, fixed))

    def _combined_index(self, changes: Changes, latest: Snapshot | None) -> Sequence[IndexManifestEntry]:
        c = self._context
        before = () if latest is None else c.manifests.index_entries(latest)
        return combine_index(before, changes.index, bucketed=c.is_bucketed) if changes.index else before

    def _write_changes(self, work: _Work, changes: Changes, schema_id: int) -> None:
        if work.changes is changes and work.delta is not None:
            return
        manifests = self._context.manifests
        work.discard(work.lasting)
        work.changes = changes
        work.delta = manifests.write_list(self._write(changes.entries, schema_id, work.lasting), new=work.lasting)
        work.changelog = None
        if changes.changelog:
            written = self._write(changes.changelog, schema_id, work.lasting)
            work.changelog = manifests.write_list(written, new=work.lasting)

    def _write_base(self, work: _Work, latest: Snapshot | None, schema_id: int) -> WrittenList:
        c = self._context
        current = () if latest is None else c.manifests.data_manifests(latest)
        merged = None if work.merged is None else work.merged.on_top_of(current)
        if merged is None:
            work.discard(work.merging)
            try:
                merged = merge_manifests(
                    current,
                    MergeRules.of(c.options.manifest),
                    read=c.manifests.read,
                    write=lambda entries: self._write(entries, schema_id, work.merging),
                    may_hold=self._may_hold,
                )
            except ReplayError as e:
                if latest is None:
                    raise
                raise c.manifests.contradiction(latest, e) from e
        work.merged = merged
        return c.manifests.write_list(merged.after, new=work.passing)

    def _may_hold(self, manifest: ManifestFileMeta, partitions: frozenset[bytes]) -> bool:
        return may_hold_partitions(self._context.partitions, manifest, partitions)

    def _write(self, entries: Iterable[ManifestEntry], schema_id: int, new: NewFiles) -> tuple[ManifestFileMeta, ...]:
        c = self._context
        return c.manifests.write(tuple(entries), types=c.partitions.types, schema_id=schema_id, new=new)

    def _write_index(
        self,
        work: _Work,
        changes: Changes,
        index: Sequence[IndexManifestEntry],
        latest: Snapshot | None,
    ) -> str | None:
        if not changes.index:
            return None if latest is None else latest.index_manifest
        return self._context.manifests.write_index(index, new=work.passing) if index else None

    def _snapshot(
        self,
        job: CommitJob,
        work: _Work,
        changes: Changes,
        latest: Snapshot | None,
        base: WrittenList,
        index_manifest: str | None,
        schema_id: int,
    ) -> Snapshot:
        delta = work.delta or WrittenList("", 0)
        changed = sum(e.file.row_count if e.kind is FileKind.ADD else -e.file.row_count for e in changes.entries)
        before = 0 if latest is None else latest.total_record_count
        watermarks = [w for w in (job.watermark, latest.watermark if latest else None) if w is not None]
        now_ms = self._context.store.runtime.clock.now_ms()
        return Snapshot(
            id=FIRST_SNAPSHOT_ID if latest is None else latest.id + 1,
            schema_id=schema_id,
            base_manifest_list=base.name,
            base_manifest_list_size=base.size,
            delta_manifest_list=delta.name,
            delta_manifest_list_size=delta.size,
            changelog_manifest_list=work.changelog.name if work.changelog else None,
            changelog_manifest_list_size=work.changelog.size if work.changelog else None,
            index_manifest=index_manifest,
            commit_user=self._context.user,
            commit_identifier=job.identifier,
            commit_kind=job.kind,
            # Never before the base: time travel searches by halves, and expiry asks for the successor's age.
            time_millis=now_ms if latest is None else max(now_ms, latest.time_millis),
            total_record_count=None if before is None else before + changed,
            delta_record_count=changed,
            changelog_record_count=sum(e.file.row_count for e in changes.changelog),
            watermark=max(watermarks, default=None),
            # Statistics were made for the schema they were committed under, and hold for no other.
            statistics=latest.statistics if latest is not None and latest.schema_id == schema_id else None,
            properties=dict(job.properties),
            next_row_id=None if latest is None else latest.next_row_id,
        )
