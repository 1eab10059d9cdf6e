"""Commits to a table: append, compact, overwrite, drop (format chapter 10; Java ``FileStoreCommitImpl``).

A commit creates at most two snapshots, first the one with the new files, then the one with the results of compaction,
with the same user and identifier. Each is published exactly once, even with several attempts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from table_format.errors import (
    CommitOutcomeUnknown,
    ConflictError,
    InvalidInputError,
    OutcomeUnknownError,
    TableFormatError,
)
from table_format.io.table_store import TableStore
from table_format.io.uncommitted_files import delete_uncommitted
from table_format.metastore.commit.commit_check import find_lost_buckets
from table_format.metastore.commit.commit_job import CommitCheck, CommitContext, CommitJob, Proposal, checked
from table_format.metastore.commit.commit_loop import CommitLoop
from table_format.metastore.commit.listed_partitions import list_partitions, remove_partitions
from table_format.metastore.commit.message_files import message_files
from table_format.metastore.commit.proposals import (
    bucket_contents,
    propose_overwrite,
    propose_rescale,
    propose_rewrite,
)
from table_format.metastore.manifest.manifest_changes import FileChanges, append_changes, compact_changes
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import PartitionChoice, Partitions, PartitionSpec, select_partitions
from table_format.metastore.manifest.statistics_file import write_statistics
from table_format.metastore.scan.live_state import LiveState
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.arguments import mappings
from table_format.model.commit import CommitMessage, Committable
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from table_format.model.statistics import Statistics
from table_format.options.table_options import TableOptions

_log = logging.getLogger(__name__)

OnDrop: TypeAlias = Callable[[bytes, int, ConflictError], None]
"""A callback for a bucket whose compaction is dropped; takes the partition, the bucket number, and the reason."""


class TableCommit:
    """Commits of one user to one table, one by one."""

    def __init__(
        self,
        store: TableStore,
        schemas: SchemaStore,
        options: TableOptions,
        commit_user: str,
        *,
        snapshots: SnapshotStore | None = None,
        manifests: ManifestStore | None = None,
    ) -> None:
        schema = schemas.latest()
        snapshots = snapshots or SnapshotStore(store)
        manifests = manifests or ManifestStore(store, options)
        self._context = CommitContext(
            store=store,
            schema=schema,
            options=options,
            user=commit_user,
            snapshots=snapshots,
            schemas=schemas,
            manifests=manifests,
            partitions=Partitions(schema, options),
            live=LiveState(manifests, snapshots, schema),
        )
        self._loop = CommitLoop(self._context)
        self._deleted: set[str] = set()

    # --- what was committed -----------------------------------------------------------------------------------------

    def latest_id(self) -> int:
        """Return the id of the latest snapshot, or 0 if there is none.

        Use it as the argument ``since`` of ``filter_committed`` after a restart.
        """
        return self._context.snapshots.latest_id() or 0

    def filter_committed(self, identifiers: Iterable[int], *, since: int | None = None) -> tuple[int, ...]:
        """Return the identifiers that this user has not committed yet, ascending.

        ``since`` is a snapshot id from before the first attempt at any of them. Without it, a user whose snapshots
        have all expired counts as new.

        Raises:
            CommitOutcomeUnknown: a part of the history after ``since`` has expired, so it is not known.
        """
        uncertain = tuple(sorted(identifiers))
        if not uncertain:
            return ()
        snapshots = self._context.snapshots
        latest_id = snapshots.latest_id() or 0
        self._loop.note_search(latest_id)
        snapshot, expired_id = snapshots.newest(
            lambda s: s.commit_user == self._context.user, up_to=latest_id, after=since or 0
        )
        if snapshot is not None:
            return tuple(i for i in uncertain if i > snapshot.commit_identifier)
        if expired_id is not None and since is not None:
            raise self._cannot_tell(uncertain[0], since, expired_id)
        return uncertain

    def _cannot_tell(self, identifier: int, since: int, snapshot_id: int) -> CommitOutcomeUnknown:
        user = self._context.user
        message = (
            f"It is not known whether user '{user}' has committed identifier {identifier}: snapshot {snapshot_id} has "
            f"been expired, and the commit began after snapshot {since}. Look for its rows before repeating it"
        )
        return CommitOutcomeUnknown(user, identifier, snapshot_id, message)

    # --- commits ----------------------------------------------------------------------------------------------------

    def commit(
        self,
        committable: Committable,
        *,
        check_append_files: bool = False,
        ignore_empty: bool = True,
        on_drop: OnDrop | None = None,
        whole: bool = False,
        check: CommitCheck | None = None,
    ) -> tuple[Snapshot, ...]:
        """Publish new files, then results of compaction. Return the new snapshots, at most two.

        If another commit has changed some compacted buckets in the meantime, these are dropped with their files, and
        the others are committed. ``on_drop`` is called for each; without it, a commit of which nothing is left is a
        conflict. If the compaction fails after the new files are published, its results are dropped too, or kept if
        its outcome is unknown: the rows are the same without them. A writer that continues must then reload its
        buckets. With ``whole``, a compaction is published for all buckets or for none. A failure that is not raised is
        a warning in the log, because readers of some tables do not see rows before they are compacted. ``check`` is
        called before each attempt to publish new files.

        Raises:
            ConflictError: another commit made this one impossible, or others won every attempt; nothing is visible.
            CommitOutcomeUnknown: the commit may have succeeded; check ``filter_committed``.
            OSError: the store failed before anything was published; nothing is visible.
        """
        appended = append_changes(committable.messages)
        snapshots: list[Snapshot] = []
        if not appended.is_empty or not ignore_empty or self._context.options.commit.force_create_snapshot:
            kind = CommitKind.OVERWRITE if appended.removes else CommitKind.APPEND
            compares = check_append_files or appended.removes
            job = self._job(committable, kind, appended, check_conflicts=compares)
            snapshots.append(self._publish(job if check is None else checked(job, check)))
        return (*snapshots, *self._commit_compaction(committable, snapshots, on_drop=on_drop, whole=whole))

    def rearrange(self, committable: Committable) -> tuple[Snapshot, ...]:
        """Publish a compaction that moves rows to other buckets. Return at most one snapshot.

        It removes all files of each affected partition. If another commit had added a file to one of them, a key
        could be in two buckets.

        Raises:
            FileConflict: another commit changed an affected partition; nothing is visible.
            ConflictError, CommitOutcomeUnknown, OSError: as for ``commit``.
        """
        changes = compact_changes(committable.messages)
        if changes.is_empty:
            return ()
        job = self._job(committable, CommitKind.COMPACT, changes, check_conflicts=True)
        return (self._publish(replace(job, propose=lambda latest: propose_rescale(self._context, latest, changes))),)

    def overwrite(
        self,
        committable: Committable,
        *,
        partition: PartitionSpec | Sequence[PartitionSpec] | PartitionChoice | None = None,
        dynamic: bool | None = None,
    ) -> tuple[Snapshot, ...]:
        """Replace the rows of partitions by new files. Return the new snapshots, at most two.

        A dynamic overwrite replaces the partitions that have new files, and does nothing without new files. A static
        overwrite replaces all partitions with the values of ``partition`` (or of one of several), those that the
        function ``partition`` selects, or the whole table for ``None``. ``dynamic`` is by default the table's option
        for partitioned tables without ``partition``. Changelog files are not committed.

        Raises:
            InvalidInputError: a new file is outside ``partition``, or ``partition`` does not return partitions.
            ConflictError, CommitOutcomeUnknown, OSError: as for ``commit``.
        """
        c = self._context
        if dynamic is None:
            dynamic = partition is None and c.options.commit.dynamic_partition_overwrite
        target = partition if callable(partition) else self._specs(partition)
        new = append_changes(committable.messages).without_changelog()
        compacted = tuple(replace(m, compact_changelog_files=()) for m in committable.messages)
        self._check_inside(new, target)
        snapshots: list[Snapshot] = []
        if dynamic and c.schema.partition_keys:
            touched = frozenset(entry.partition for entry in new.entries)
            if touched:
                snapshots.append(self._publish(self._overwrite_job(committable, new, touched)))
        else:
            snapshots.append(self._publish(self._overwrite_job(committable, new, target)))
        return (*snapshots, *self._commit_compaction(replace(committable, messages=compacted), snapshots))

    def rewrite(self, committable: Committable, base: Snapshot, partitions: frozenset[bytes]) -> Snapshot:
        """Replace all files in the buckets of some partitions, in one OVERWRITE snapshot.

        The partitions must have the same files as at the snapshot ``base``, on which the work is based.

        Raises:
            FileConflict: another commit changed one of the partitions in the meantime; nothing is visible.
            ConflictError, CommitOutcomeUnknown, OSError: as for ``commit``.
        """
        new = append_changes(committable.messages).without_changelog()
        c = self._context
        before = bucket_contents(c, base, partitions)
        job = CommitJob(
            identifier=committable.identifier,
            kind=CommitKind.OVERWRITE,
            propose=lambda latest: propose_rewrite(c, latest, new, partitions, base=base, before=before),
            check_conflicts=True,
            properties=committable.properties,
            files=new.added_names,
        )
        snapshot = self._publish(job)
        remove_partitions(c, snapshot)
        return snapshot

    def drop_partitions(
        self, specs: Sequence[PartitionSpec], *, identifier: int = BATCH_COMMIT_IDENTIFIER
    ) -> tuple[Snapshot, ...]:
        """Delete all rows of the partitions that match one of the specs.

        Raises:
            InvalidInputError: there is no spec, or one is empty or names other columns.
            ConflictError, CommitOutcomeUnknown, OSError: as for ``commit``.
        """
        if not specs or not all(specs):
            message = "name the partitions to drop, each by at least one value; to remove all rows, truncate the table"
            raise InvalidInputError(message)
        for spec in specs:
            self._context.partitions.check_spec(spec)
        return self._remove(tuple(dict(spec) for spec in specs), identifier)

    def truncate(self, *, identifier: int = BATCH_COMMIT_IDENTIFIER) -> tuple[Snapshot, ...]:
        """Remove all rows; raises the same errors as ``commit``."""
        return self._remove(({},), identifier)

    def analyze(self, statistics: Statistics, *, identifier: int = BATCH_COMMIT_IDENTIFIER) -> Snapshot:
        """Publish statistics of the table in a snapshot without changes; raises the same errors as ``commit``."""
        c = self._context
        name = write_statistics(c.store, statistics)
        nothing = Proposal(FileChanges())
        job = CommitJob(
            identifier=identifier,
            kind=CommitKind.ANALYZE,
            propose=lambda _latest: nothing,
            check_conflicts=False,
            statistics=name,
            files=frozenset((name,)),
        )
        try:
            return self._publish(job)
        except OutcomeUnknownError:
            raise
        except (OSError, TableFormatError):  # after an interrupt, the snapshot may have been published
            delete_uncommitted(c.store.io, (c.store.paths.statistics(name),))
            raise

    def abort(self, messages: Iterable[CommitMessage], *, named: Collection[str] = ()) -> None:
        """Delete the files of messages that no commit of this committer has published.

        After an interrupt, the store is searched for the commit. Files that are ``named`` stay. Files that cannot be
        deleted stay as orphans.

        Raises:
            CommitOutcomeUnknown: a commit of this committer with an unknown outcome may contain them; nothing is
                deleted.
        """
        self._delete_unpublished(messages, self._loop.named_files().union(named))

    def has_requested(self, identifier: int, messages: Sequence[CommitMessage]) -> bool:
        """Return whether this object has requested this commit before, as far as it remembers."""
        return self._loop.has_requested(identifier, append_changes(messages).added_names)

    def refuse_unknown(self) -> None:
        """Refuse to continue after an error reported the outcome of a commit as unknown.

        Raises:
            CommitOutcomeUnknown: the outcome of a commit is unknown; the error is about the first one.
        """
        self._loop.refuse_unknown()

    def abandon(self, messages: Iterable[CommitMessage]) -> None:
        """Abort while another error is handled: if an outcome is unknown, all files stay, and nothing is raised."""
        # The caller must see the original error; files that stay are at worst orphans.
        with suppress(TableFormatError, OSError):
            self.abort(messages)

    def _delete_unpublished(self, messages: Iterable[CommitMessage], named: frozenset[str]) -> None:
        files = message_files(self._context.store, self._context.partitions, messages, kept=named)
        # Recorded first, so that after an interrupt no message is committed whose files are partly deleted.
        self._deleted |= files.names
        delete_uncommitted(self._context.store.io, files.paths)

    def _publish(self, job: CommitJob) -> Snapshot:
        if not self._deleted.isdisjoint(job.files):
            name = min(self._deleted & job.files)
            message = (
                f"file '{name}' cannot be committed, because an abort has deleted it; write the rows "
                "again and commit them"
            )
            raise InvalidInputError(message)
        snapshot = self._loop.publish(job)
        list_partitions(self._context, snapshot)
        return snapshot

    # --- jobs -------------------------------------------------------------------------------------------------------

    def _job(
        self, committable: Committable, kind: CommitKind, changes: FileChanges, *, check_conflicts: bool
    ) -> CommitJob:
        proposal = Proposal(changes)
        return CommitJob(
            identifier=committable.identifier,
            kind=kind,
            propose=lambda _latest: proposal,
            check_conflicts=check_conflicts,
            watermark=committable.watermark,
            properties=committable.properties,
            operation=None if kind is CommitKind.COMPACT else committable.operation,
            files=changes.added_names,
        )

    def _commit_compaction(
        self,
        committable: Committable,
        before: Sequence[Snapshot],
        *,
        on_drop: OnDrop | None = None,
        whole: bool = False,
    ) -> tuple[Snapshot, ...]:
        messages = committable.messages
        while not (changes := compact_changes(messages)).is_empty:
            job = self._job(committable, CommitKind.COMPACT, changes, check_conflicts=True)
            try:
                return (self._publish(job),)
            except (OSError, TableFormatError) as e:
                is_partial = isinstance(e, ConflictError) and not whole
                lost = find_lost_buckets(self._context, job, messages) if is_partial else {}
                left = tuple(m for m in messages if m.bucket_id not in lost)
                if not before and not (lost and (on_drop is not None or not compact_changes(left).is_empty)):
                    raise
                # The rows are published, and a compaction does not change them: after an error, the caller would write
                # them twice.
                if not lost:
                    self._warn_of_missing_compaction(before[-1], e)
                if isinstance(e, OutcomeUnknownError):
                    self._loop.leave_unresolved(committable.identifier, CommitKind.COMPACT)
                    return ()
                if not lost:
                    self._drop_compaction(messages)
                    return ()
                self._drop_compaction(m for m in messages if m.bucket_id in lost)
                for (partition, bucket), reason in lost.items():
                    if on_drop is not None:
                        on_drop(partition, bucket, reason)
                messages = left
        return ()

    def _warn_of_missing_compaction(self, snapshot: Snapshot, reason: Exception) -> None:
        c = self._context
        text = "%s: the compaction that belongs to snapshot %s failed: %s. The rows are committed; %s"
        is_hidden = c.schema.is_primary_key_table and c.options.skips_level_0
        rest = "they are visible after the next compaction" if is_hidden else "the next compaction takes them"
        _log.warning(text, c.store.paths.root, snapshot.id, reason, rest)

    def _drop_compaction(self, messages: Iterable[CommitMessage]) -> None:
        # Files of the published part stay, also if the compaction only moved them to another level.
        results = [
            replace(
                m,
                compact_before=(*m.compact_before, *m.new_files),
                new_files=(),
                changelog_files=(),
                new_index_files=(),
            )
            for m in messages
        ]
        # The rows are published, whatever the outcome of earlier commits; the files then stay.
        with suppress(CommitOutcomeUnknown):
            self._delete_unpublished(results, self._loop.named_files())

    def _remove(self, specs: tuple[PartitionSpec, ...], identifier: int) -> tuple[Snapshot, ...]:
        nothing = Committable(identifier=identifier, messages=())
        snapshot = self._publish(self._overwrite_job(nothing, FileChanges(), specs))
        remove_partitions(self._context, snapshot)
        return (snapshot,)

    def _overwrite_job(
        self,
        committable: Committable,
        new: FileChanges,
        target: frozenset[bytes] | tuple[PartitionSpec, ...] | PartitionChoice,
    ) -> CommitJob:
        return CommitJob(
            identifier=committable.identifier,
            kind=CommitKind.OVERWRITE,
            propose=lambda latest: propose_overwrite(self._context, latest, new, target),
            check_conflicts=True,
            watermark=committable.watermark,
            properties=committable.properties,
            files=new.added_names,
        )

    def _specs(self, partition: PartitionSpec | Sequence[PartitionSpec] | None) -> tuple[PartitionSpec, ...]:
        found: tuple[PartitionSpec, ...]
        if partition is None or isinstance(partition, Mapping):
            found = ({**(partition or {})},)
        else:
            found = tuple({**spec} for spec in mappings(partition, "partition"))
        for spec in found:
            self._context.partitions.check_spec(spec)
        return found

    def _check_inside(self, new: FileChanges, target: tuple[PartitionSpec, ...] | PartitionChoice) -> None:
        partitions = self._context.partitions
        if isinstance(target, tuple):
            inside = frozenset(filter(partitions.test(target), new.partitions))
            shown = f"the partitions to overwrite, {', '.join(map(partitions.shown_spec, target))}"
        else:
            inside = select_partitions(target, new.partitions) if new.partitions else frozenset()
            shown = "the partitions that the condition selects"
        for entry in new.entries:
            if entry.partition not in inside:
                where = partitions.shown(entry.partition)
                message = f"new rows are in {where}, outside {shown} (file '{entry.file.file_name}')"
                raise InvalidInputError(message)
