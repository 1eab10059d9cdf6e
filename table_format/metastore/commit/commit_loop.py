"""Publishes one snapshot, with retries (format chapter 10, section 3; Java ``FileStoreCommitImpl.tryCommit``).

One attempt prepares (1 to 5), publishes (6) and confirms (7, 8). Its effects are listed here in order. A crash between
any two of them leaves orphan files, but never a broken table:

1. delta manifests and their list, 2. changelog manifests and their list, 3. merged manifests, 4. the base list,
5. the index manifest, 6. ``snapshot-<id>``: the commit point, 7. the link is verified, 8. the hints (advisory).

If the catalog has a server that publishes snapshots, 6 is a request, and 7 and 8 are left to the server.

An interrupt (Ctrl-C, ``MemoryError``, ``SystemExit``) may occur between any two of them, and the process may continue.
The publication is therefore recorded before 6, and its files are not deleted before the store has been searched
(``publications``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from table_format.codecs.publishable import snapshot_bytes
from table_format.counted import counted
from table_format.errors import (
    CommitOutcomeUnknown,
    CommitRetriesExhausted,
    ConflictError,
    CorruptionError,
    OutcomeUnknownError,
    TableFormatError,
    TableNotFound,
    TableReplaced,
)
from table_format.io.table_server import PartitionChange
from table_format.metastore.commit.attempt import AttemptFiles, prepare
from table_format.metastore.commit.commit_job import CommitContext, CommitJob
from table_format.metastore.commit.confirmation import confirm, write_hints
from table_format.metastore.commit.history_link import Link
from table_format.metastore.commit.partition_changes import partition_changes
from table_format.metastore.commit.publications import Publication, Publications
from table_format.metastore.commit.server_commit import commit_to_server
from table_format.metastore.publish import PutOutcome, put_if_absent
from table_format.metastore.references.completeness import missing_file
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One attempt at a job on top of ``latest``.

    Its snapshot is requested after snapshot ``since`` was the latest, and until the monotonic time ``give_up_ms``.
    ``earlier`` is an unsettled publication of the same work.
    """

    job: CommitJob
    latest: Snapshot | None
    since: int
    give_up_ms: int
    earlier: Publication | None


class CommitLoop:
    """Publishes the jobs of one commit user, one by one."""

    def __init__(self, context: CommitContext) -> None:
        self._context = context
        self._publications = Publications(context.snapshots, context.store.runtime.clock, context.user)
        self._searched_up_to: int | None = None

    def note_search(self, snapshot_id: int) -> None:
        """Record that the user's commits were searched up to this snapshot.

        A request of an earlier process of the same user may take effect after that search, so the next commit with an
        identifier continues the search from here. Once a commit is published, this is no longer necessary, because an
        earlier process left at most one request.
        """
        self._searched_up_to = snapshot_id

    def publish(self, job: CommitJob) -> Snapshot:
        """Publish the snapshot of a job, or find the snapshot that an earlier attempt has published.

        Raises:
            ConflictError: another commit made this one impossible, or other writers won every attempt; nothing was
            committed.
            CommitOutcomeUnknown: the snapshot may exist; nothing was deleted. Check ``filter_committed``.
            OSError: the store failed before the snapshot was published; nothing is visible.
            CorruptionError: the table's metadata cannot be read; nothing is visible.
        """
        published = self._publications.published_as(job.key, job.files)
        if published is not None:
            self._require_in_history(published)
            return published
        earlier = self._publications.begun_before(job.key, job.files)
        files = AttemptFiles(self._context.store)
        try:
            return self._until_published(job, files, earlier)
        except OutcomeUnknownError:
            raise
        except (OSError, TableFormatError):
            files.discard_all()
            if earlier is None:
                raise
            # This call has failed. It is not known yet whether the previous call has published the snapshot.
            published = self._publications.outcome(job.key)
            if published is None:
                raise
            return published
        except BaseException:  # an interrupt: no snapshot can name the files unless one was requested
            if not files.are_requested:
                files.discard_all()
            raise

    def _require_in_history(self, published: Snapshot) -> None:
        """Refuse to repeat a commit that was rolled back: its files are deleted. One that has expired is still done."""
        snapshots = self._context.snapshots
        if published.id <= (snapshots.latest_id() or 0):
            found = snapshots.find(published.id)
            if found is None or found.is_same(published):
                return
        message = (
            f"{self._context.store.paths.root}: these messages were committed as snapshot {published.id}, which was "
            "rolled back since. Nothing was committed; write the rows again"
        )
        raise ConflictError(message)

    def leave_unresolved(self, identifier: int, kind: CommitKind) -> None:
        """Give up on a commit whose outcome is unknown. Its files stay."""
        self._publications.leave((identifier, kind))

    def has_requested(self, identifier: int, files: frozenset[str]) -> bool:
        """Return whether this commit was requested before; see ``Publications.has_requested``."""
        return self._publications.has_requested(identifier, files)

    def refuse_unknown(self) -> None:
        """Refuse to continue after an unknown outcome; see ``Publications.refuse_reported``."""
        self._publications.refuse_reported()

    def named_files(self) -> frozenset[str]:
        """Return the names of the files that snapshots of this committer name; see ``Publications.named_files``."""
        return self._publications.named_files()

    # --- the loop ---------------------------------------------------------------------------------------------------

    def _until_published(self, job: CommitJob, files: AttemptFiles, earlier: Publication | None) -> Snapshot:
        c = self._context
        clock = c.store.runtime.clock
        options = c.options.commit
        started_ms = clock.monotonic_ms()
        since = self._begin_since(job) if earlier is None else earlier.since
        # An attempt of this call begins only after the previous one is known to have failed. Another publication of the
        # job exists only if the user outlives the process, or after an attempt without an answer.
        is_new = since is None and job.identifier == BATCH_COMMIT_IDENTIFIER
        retries = 0
        while True:
            read_at_ms = clock.monotonic_ms()
            latest = c.snapshots.latest()
            latest_id = 0 if latest is None else latest.id
            published = None if since is None else self._find_published(job, since, latest_id, is_new=is_new)
            if published is not None:
                self._note_published(job, published, earlier)
                files.discard_all()
                return published
            since = latest_id if since is None else since
            give_up_ms = read_at_ms + options.attempt_ms
            attempt = _Attempt(job=job, latest=latest, since=since, give_up_ms=give_up_ms, earlier=earlier)
            snapshot = self._attempt(attempt, files)
            if snapshot is not None:
                self._searched_up_to = None
                return snapshot
            spent_ms = clock.monotonic_ms() - started_ms
            if retries >= options.max_retries or (options.timeout_ms is not None and spent_ms > options.timeout_ms):
                message = (
                    f"Commit failed after {spent_ms} ms with {counted(retries, 'retry', 'retries')}: other writers "
                    "won every attempt. Nothing was committed; try again later, or raise 'commit.max-retries'"
                )
                raise CommitRetriesExhausted(message)
            self._wait(retries)
            retries += 1

    def _begin_since(self, job: CommitJob) -> int | None:
        """Return the id after which an earlier process may have published this job; ``None`` for a new user."""
        return None if job.identifier == BATCH_COMMIT_IDENTIFIER else self._searched_up_to

    def _note_published(self, job: CommitJob, snapshot: Snapshot, earlier: Publication | None) -> None:
        self._searched_up_to = None
        publication = self._publication(job, snapshot.id - 1, snapshot.id, 0).after(earlier)
        self._publications.published(publication, snapshot)

    def _wait(self, retries: int) -> None:
        c = self._context
        options = c.options.commit
        wait_ms = min(options.min_retry_wait_ms << min(retries, 32), options.max_retry_wait_ms)
        c.store.runtime.clock.sleep_ms(int(wait_ms * (1 + 0.2 * c.store.runtime.random.random())))

    def _find_published(self, job: CommitJob, since: int, latest_id: int, *, is_new: bool) -> Snapshot | None:
        """Return this job's snapshot after ``since``, from an attempt whose answer was lost, or an earlier process."""
        snapshot, expired_id = self._publications.find(job.key, since, latest_id)
        if expired_id is None or is_new:
            return snapshot
        message = f"the snapshots after {since} have expired, so it cannot be determined whether it was among them"
        raise self._unknown(job, since, expired_id, message)

    def _unknown(self, job: CommitJob, since: int, attempted_id: int, why: str) -> CommitOutcomeUnknown:
        begun = self._publications.open(job.key) or self._publication(job, since, attempted_id, 0)
        self._publications.begin(replace(begun, is_reported=True))
        user = self._context.user
        message = (
            f"It is not known whether the {job.kind.value} of user '{user}' with identifier {job.identifier} was "
            f"published as snapshot {attempted_id}: {why}. Its files are kept; check filter_committed before "
            "repeating it"
        )
        return CommitOutcomeUnknown(user, job.identifier, attempted_id, message)

    def _publication(self, job: CommitJob, since: int, attempted_id: int, give_up_ms: int) -> Publication:
        return Publication(
            key=job.key,
            files=job.files,
            since=since,
            attempted_id=attempted_id,
            last_effect_ms=give_up_ms + self._context.options.commit.request_ms,
        )

    # --- one attempt ------------------------------------------------------------------------------------------------

    def _attempt(self, attempt: _Attempt, files: AttemptFiles) -> Snapshot | None:
        """Prepare, publish and confirm; return ``None`` if another writer was faster."""
        job, publications = attempt.job, self._publications
        snapshot = self._prepare(attempt, files)
        if snapshot is None:
            files.discard(files.passing)
            return None
        with self._locked(attempt) as locked:
            publication = self._publication(job, attempt.since, snapshot.id, locked.give_up_ms).after(attempt.earlier)
            is_published = self._is_in_time(locked) and self._publish(locked, publication, snapshot, files)
        if not is_published:
            publications.refused(job.key, attempt.earlier)
            files.discard(files.passing)
            return None
        if self._context.store.server is None:
            write_hints(self._context, snapshot)  # 8
        self._context.live.advance(snapshot)
        # Last: before this, a repeated call searches the store and finds the snapshot.
        publications.published(publication, snapshot)
        return snapshot

    def _prepare(self, attempt: _Attempt, files: AttemptFiles) -> Snapshot | None:
        """Write all files that the snapshot names; return ``None`` if it is too late to publish on this base."""
        c, latest = self._context, attempt.latest
        try:
            snapshot = prepare(c, attempt.job, files, latest)  # 1 to 5
        except CorruptionError:
            if latest is None or not c.snapshots.is_expiring(latest.id):
                raise
            return None  # the base expired while it was read: other writers have committed
        if files.were_visible:
            self._require_files(snapshot)
        # First fence: after this time, the next id may have been used and expired. Nothing was published.
        return None if c.store.runtime.clock.monotonic_ms() >= attempt.give_up_ms else snapshot

    def _require_files(self, snapshot: Snapshot) -> None:
        """Refuse to repeat a commit whose files were deleted together with its snapshot."""
        store = self._context.store
        path = missing_file(store, snapshot)
        if path is not None:
            message = (
                f"{store.paths.root}: a rollback or fast-forward during this commit has removed its snapshot and its "
                f"file {path}. Nothing was committed; stop other writers during such changes, and write the rows again"
            )
            raise ConflictError(message)

    @contextmanager
    def _locked(self, attempt: _Attempt) -> Iterator[_Attempt]:
        """Hold the lock of the table, if it has one. The attempt must publish before another writer can take it."""
        lock, clock = self._context.store.lock, self._context.store.runtime.clock
        if lock is None:
            yield attempt
            return
        with lock.held(clock) as end_ms:
            yield replace(attempt, give_up_ms=min(attempt.give_up_ms, end_ms))

    def _is_in_time(self, attempt: _Attempt) -> bool:
        """Second fence: waiting for the lock may have taken too long."""
        clock = self._context.store.runtime.clock
        return self._context.store.lock is None or clock.monotonic_ms() < attempt.give_up_ms

    def _publish(self, attempt: _Attempt, publication: Publication, snapshot: Snapshot, files: AttemptFiles) -> bool:
        """Create the snapshot's file and confirm it; return ``False`` if another writer was faster."""
        data = snapshot_bytes(snapshot, path=self._context.store.paths.snapshot(snapshot.id))
        changes = self._partition_changes(files)
        files.are_requested = True
        self._publications.begin(publication)
        if not self._put(attempt, snapshot, data, changes):
            return False
        # A server refuses what does not follow its latest snapshot, or belongs to another table.
        if self._context.store.server is not None or self._confirm(attempt, snapshot):
            return True
        files.start_over()
        return False

    def _partition_changes(self, files: AttemptFiles) -> Sequence[PartitionChange]:
        """Return what the commit changes in each partition, which only a server wants to know."""
        if self._context.store.server is None or files.written is None:
            return ()
        return partition_changes(self._context.partitions, files.written.changes.entries)

    def _put(self, attempt: _Attempt, snapshot: Snapshot, data: bytes, changes: Sequence[PartitionChange]) -> bool:
        """Publish the snapshot; return ``False`` if another writer has published one with its id."""
        c, snapshot_id = self._context, snapshot.id
        if c.store.server is None:
            put = put_if_absent(c.store, c.store.paths.snapshot(snapshot_id), data, give_up_ms=attempt.give_up_ms)  # 6
        else:
            try:
                put = commit_to_server(c, c.store.server, snapshot, changes, give_up_ms=attempt.give_up_ms)  # 6
            except TableFormatError:
                self._publications.refused(attempt.job.key, attempt.earlier)
                raise
        match put.outcome:
            case PutOutcome.OURS:
                return True
            case PutOutcome.OTHERS:
                return False
            case PutOutcome.REFUSED if put.error is not None:
                self._publications.refused(attempt.job.key, attempt.earlier)
                raise put.error
            case PutOutcome.UNKNOWN | PutOutcome.REFUSED:
                why = f"the store does not answer ({put.error})"
                raise self._unknown(attempt.job, attempt.since, snapshot_id, why) from put.error

    def _confirm(self, attempt: _Attempt, snapshot: Snapshot) -> bool:
        """Return whether the snapshot is part of the history. If not, it has been removed."""
        try:
            confirmed = confirm(self._context, snapshot, attempt.latest)  # 7
        except (TableNotFound, TableReplaced):
            self._publications.refused(attempt.job.key, attempt.earlier)
            raise
        if confirmed.link is Link.ROLLED_BACK:
            why = (
                f"snapshot {snapshot.id - 1}, on which it was built, was removed meanwhile, but earlier ones exist. If "
                "the table was rolled back, roll it back again"
            )
            raise self._unknown(attempt.job, attempt.since, snapshot.id, why)
        if confirmed.link is Link.UNKNOWN:
            why = "it was created, but it is not known whether later snapshots follow it"
            raise self._unknown(attempt.job, attempt.since, snapshot.id, why) from confirmed.error
        return confirmed.link is Link.SOUND
