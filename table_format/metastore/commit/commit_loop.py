"""One snapshot, tried until it lands (format chapter 10, section 3; Java ``FileStoreCommitImpl.tryCommit``).

The effects of one attempt, in order; a crash between any two leaves files nobody names, and never a broken table:

1. delta manifests and their list, 2. changelog manifests and their list, 3. merged manifests, 4. the base list,
5. the index manifest, 6. ``snapshot-<id>``: the commit point, 7. the link is verified, 8. the hints (advisory).

An interrupt (Ctrl-C, ``MemoryError``, ``SystemExit``) may come between any two of them, and the process may go on. So
the publication is noted before 6, and nothing it names is deleted before the store was asked (``publications``).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Final

from table_format.codecs.publishable import snapshot_bytes
from table_format.errors import (
    CommitOutcomeUnknown,
    CommitRetriesExhausted,
    CorruptionError,
    OutcomeUnknownError,
    TableFormatError,
    TableNotFound,
    TableReplaced,
)
from table_format.io.sound_files import read_file
from table_format.metastore.commit.attempt import AttemptFiles, CommitContext, CommitJob, prepare
from table_format.metastore.commit.history_link import Link, verify_link
from table_format.metastore.commit.publications import Publication, Publications
from table_format.metastore.publish import PutOutcome, put_if_absent
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, FIRST_SNAPSHOT_ID, CommitKind, Snapshot

_LOOKS: Final = 6
_LOOK_WAIT_MS: Final = 50


class CommitLoop:
    """Lands jobs of one commit user, one after the other."""

    def __init__(self, context: CommitContext) -> None:
        self._context = context
        self._publications = Publications(context.snapshots, context.store.runtime.clock, context.user)
        self._looked_at: int | None = None

    def note_look(self, snapshot_id: int) -> None:
        """The user's commits were looked for up to this snapshot.

        A request of an earlier process of the same user may take effect after that look; the next commit with an
        identifier looks on from here. One that was made ends this: an earlier process left one request at most.
        """
        self._looked_at = snapshot_id

    def publish(self, job: CommitJob) -> Snapshot:
        """Make the job's snapshot, or find that an earlier attempt has made it.

        Raises:
            ConflictError: another commit made this one impossible, or others won every attempt; nothing is visible.
            CommitOutcomeUnknown: the snapshot may exist; nothing was deleted. Ask ``filter_committed``.
            OSError: the store failed before the snapshot was published; nothing is visible.
            CorruptionError: the table's metadata cannot be read; nothing is visible.
        """
        landed = self._publications.landed_as(job.key, job.files)
        if landed is not None:
            return landed
        before = self._publications.begun_before(job.key, job.files)
        work = AttemptFiles(self._context.store)
        try:
            return self._until_published(job, work, before)
        except OutcomeUnknownError:
            raise
        except (OSError, TableFormatError):
            work.discard_all()
            if before is None:
                raise
            # This call has failed; it is not told yet whether the one before it landed.
            landed = self._publications.outcome(job.key)
            if landed is None:
                raise
            return landed

    def leave_unresolved(self, identifier: int, kind: CommitKind) -> None:
        """Ask no more about a commit whose outcome is unknown; its files stay, named by a snapshot or not."""
        self._publications.leave((identifier, kind))

    def named_files(self) -> frozenset[str]:
        """The names of files that snapshots of this committer name; see ``Publications.named_files``."""
        return self._publications.named_files()

    # --- the loop ---------------------------------------------------------------------------------------------------

    def _until_published(self, job: CommitJob, work: AttemptFiles, before: Publication | None) -> Snapshot:
        c = self._context
        clock = c.store.runtime.clock
        options = c.options.commit
        started_ms = clock.monotonic_ms()
        since = self._begin_since(job) if before is None else before.since
        # Attempts of this call are known to have failed before the next begins. A twin exists only where the user
        # outlives the process, or after an attempt without answer.
        is_new = since is None and job.identifier == BATCH_COMMIT_IDENTIFIER
        retries = 0
        while True:
            read_at_ms = clock.monotonic_ms()
            latest = c.snapshots.latest()
            latest_id = 0 if latest is None else latest.id
            landed = None if since is None else self._find_published(job, since, latest_id, is_new=is_new)
            if landed is not None:
                self._note_published(job, landed, before)
                work.discard_all()
                return landed
            since = latest_id if since is None else since
            snapshot = self._attempt(job, work, latest, since, read_at_ms, before)
            if snapshot is not None:
                self._looked_at = None
                return snapshot
            spent_ms = clock.monotonic_ms() - started_ms
            if retries >= options.max_retries or (options.timeout_ms is not None and spent_ms > options.timeout_ms):
                message = (
                    f"Commit failed after {spent_ms} ms with {retries} retries: other writers won every attempt. "
                    "Nothing of it is visible; try again later, or raise 'commit.max-retries'"
                )
                raise CommitRetriesExhausted(message)
            self._wait(retries)
            retries += 1

    def _begin_since(self, job: CommitJob) -> int | None:
        """The snapshot after which an earlier process of the user may have made this job's; ``None`` for a new user."""
        return None if job.identifier == BATCH_COMMIT_IDENTIFIER else self._looked_at

    def _note_published(self, job: CommitJob, landed: Snapshot, before: Publication | None) -> None:
        self._looked_at = None
        self._publications.landed(self._publication(job, landed.id - 1, landed.id, 0).after(before), landed)

    def _wait(self, retries: int) -> None:
        c = self._context
        options = c.options.commit
        wait_ms = min(options.min_retry_wait_ms << min(retries, 32), options.max_retry_wait_ms)
        c.store.runtime.clock.sleep_ms(int(wait_ms * (1 + 0.2 * c.store.runtime.random.random())))

    def _find_published(self, job: CommitJob, since: int, latest_id: int, *, is_new: bool) -> Snapshot | None:
        """The snapshot of this job among those after ``since``: an attempt whose answer was lost, or a twin's."""
        snapshot, expired_id = self._publications.find(job.key, since, latest_id)
        if expired_id is None or is_new:
            return snapshot
        message = f"the snapshots after {since} have been expired, so it cannot be told whether it is among them"
        raise self._unknown(job, since, expired_id, message)

    def _unknown(self, job: CommitJob, since: int, attempted_id: int, why: str) -> CommitOutcomeUnknown:
        begun = self._publications.open(job.key) or self._publication(job, since, attempted_id, 0)
        self._publications.begin(replace(begun, is_reported=True))
        user = self._context.user
        message = (
            f"It is not known whether the {job.kind.value} of user '{user}' with identifier {job.identifier} was "
            f"published as snapshot {attempted_id}: {why}. Its files are left in place; ask filter_committed before "
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

    def _attempt(
        self,
        job: CommitJob,
        work: AttemptFiles,
        latest: Snapshot | None,
        since: int,
        read_at_ms: int,
        before: Publication | None,
    ) -> Snapshot | None:
        c, publications = self._context, self._publications
        clock = c.store.runtime.clock
        try:
            snapshot = prepare(c, job, work, latest)  # 1 to 5
        except CorruptionError:
            if latest is None or not c.snapshots.is_expiring(latest.id):
                raise
            # The base was expired while it was read: we are too late, and others have gone on.
            work.discard(work.passing)
            return None
        give_up_ms = read_at_ms + c.options.commit.attempt_ms
        if clock.monotonic_ms() >= give_up_ms:
            # First fence: after so long the next id may have been used and expired. Nothing was published.
            work.discard(work.passing)
            return None
        path = c.store.paths.snapshot(snapshot.id)
        data = snapshot_bytes(snapshot, path=path)
        publication = self._publication(job, since, snapshot.id, give_up_ms).after(before)
        publications.begin(publication)
        put = put_if_absent(c.store, path, data, give_up_ms=give_up_ms)  # 6
        match put.outcome:
            case PutOutcome.OTHERS:
                publications.refused(job.key, before)
                work.discard(work.passing)
                return None
            case PutOutcome.REFUSED if put.error is not None:
                publications.refused(job.key, before)
                raise put.error
            case PutOutcome.UNKNOWN | PutOutcome.REFUSED:
                raise self._unknown(job, since, snapshot.id, f"the store does not answer ({put.error})") from put.error
        try:
            is_linked = self._is_linked(job, snapshot, since)  # 7
        except (TableNotFound, TableReplaced):
            publications.refused(job.key, before)
            raise
        if not is_linked:
            publications.refused(job.key, before)
            work.discard(work.passing)
            return None
        self._write_hints(snapshot)  # 8
        c.live.advance(snapshot)
        # Last: until then a repetition of this call asks the store, and finds the snapshot.
        publications.landed(publication, snapshot)
        return snapshot

    def _is_linked(self, job: CommitJob, snapshot: Snapshot, since: int) -> bool:
        c = self._context
        error: OSError | CorruptionError | None = None
        for attempt in range(_LOOKS):
            try:
                self._require_same_table(snapshot)
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

    def _require_same_table(self, snapshot: Snapshot) -> None:
        """Take the snapshot back if the table was dropped, or made again, while it was being published.

        Then the id may be taken by a snapshot of the other table, which stays.

        Raises:
            TableNotFound, TableReplaced: nothing of it is visible.
            OSError: the store failed.
        """
        c = self._context
        try:
            require_same_table(c.store)
        except (TableNotFound, TableReplaced):
            path = c.store.paths.snapshot(snapshot.id)
            with suppress(FileNotFoundError):
                if read_file(c.store.io, path) == snapshot_bytes(snapshot, path=path):
                    c.snapshots.delete(snapshot.id)
            raise

    def _write_hints(self, snapshot: Snapshot) -> None:
        hints = self._context.snapshots.hints
        # The snapshot is published: a hint that cannot be written costs the next reader a listing.
        with suppress(OSError):
            hints.write_latest(snapshot.id)
        if snapshot.id == FIRST_SNAPSHOT_ID:
            with suppress(OSError):
                hints.create_earliest(snapshot.id)
