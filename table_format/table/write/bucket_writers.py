"""Keeps the writer of a bucket from its first row until all its files are committed.

The next batch starts from the latest snapshot, so that sequence numbers and compaction include the commits of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from table_format.lsm.background import RunningCompaction
from table_format.metastore.commit.key_places import snapshot_identity, snapshots_since
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import FileKind
from table_format.model.snapshot import Snapshot
from table_format.table.facts import TableFacts
from table_format.table.write.bucket_writer import BucketWriter
from table_format.table.write.uncommitted_files import UncommittedFiles
from table_format.table.write.writer_opening import OpenWriter, bucket_states
from table_format.table.write.written_files import is_deleted


class BucketWriters(Mapping[BucketId, BucketWriter]):
    """The writers of a write, by bucket. They continue from the state of their buckets at the snapshot ``base``.

    ``latest`` finds the next snapshot to start from. With ``numbers_follow_base``, messages name it as the one from
    which the sequence numbers of their rows continue.
    """

    def __init__(
        self,
        facts: TableFacts,
        open_writer: OpenWriter,
        latest: Callable[[], Snapshot | None],
        *,
        numbers_follow_base: bool,
    ) -> None:
        self.base: Snapshot | None = None
        self.uncommitted = UncommittedFiles()
        self.numbers_bases: dict[BucketId, str] = {}
        self._facts = facts
        self._open_writer = open_writer
        self._latest = latest
        self._numbers_follow_base = numbers_follow_base
        self._writers: dict[BucketId, BucketWriter] = {}
        self._looked_for: set[str] = set()

    def __getitem__(self, bucket_id: BucketId) -> BucketWriter:
        return self._writers[bucket_id]

    def __iter__(self) -> Iterator[BucketId]:
        return iter(self._writers)

    def __len__(self) -> int:
        return len(self._writers)

    def open(self, bucket_ids: Iterable[BucketId]) -> None:
        """Open writers for the buckets that have none.

        Raises:
            BucketCountChanged: a partition was written with another number of buckets.
            CorruptionError: a manifest is missing or damaged.
        """
        self._open([bucket_id for bucket_id in bucket_ids if bucket_id not in self._writers])

    def follow_table(self) -> None:
        """Start from the latest snapshot, and forget the writers whose files are all committed.

        Raises:
            ConflictError: snapshots are gone, and others commit faster than the history can be read.
            CorruptionError: a manifest is missing or damaged.
        """
        latest = self._latest()
        if latest is None:
            return
        # After a rollback, another snapshot may have the same id.
        is_same = snapshot_identity(latest) == snapshot_identity(self.base)
        if is_same and not self.uncommitted:
            return
        running: dict[BucketId, RunningCompaction] = {}
        if self._writers:
            committed = self._no_longer_waiting(latest)
            if is_same and not committed:
                return
            for bucket_id in list(self._writers):
                arrived = self.uncommitted.settle(bucket_id, committed)
                writer = self._writers[bucket_id]
                if self.uncommitted.waits(bucket_id):
                    writer.were_committed(arrived)
                    continue
                del self._writers[bucket_id]
                self.uncommitted.forget_compacted(bucket_id)
                if (compaction := writer.release()) is not None:
                    running[bucket_id] = compaction
        self.base = latest
        self._resume(running)

    def handed_over(self, messages: Sequence[CommitMessage]) -> None:
        """Note that the caller has these messages, and wait for their commit."""
        self.uncommitted.add(messages)

    def abort(self) -> None:
        """Delete the files that the writers have not returned; keep the writers until ``forget``."""
        for writer in self._writers.values():
            writer.abort()

    def forget(self) -> None:
        """Forget all writers; the next rows of their buckets get new ones."""
        self._writers.clear()

    def _open(self, missing: Sequence[BucketId], running: Mapping[BucketId, RunningCompaction] | None = None) -> None:
        if not missing:
            return
        for state in bucket_states(self._facts, self.base, missing):
            bucket_id = state.bucket_id
            compaction = None if running is None else running.get(bucket_id)
            self._writers[bucket_id] = self._open_writer(replace(state, running=compaction))
            if self._numbers_follow_base:
                self.numbers_bases[bucket_id] = snapshot_identity(self.base)

    def _resume(self, running: Mapping[BucketId, RunningCompaction]) -> None:
        """Pass running compactions of old writers to new ones; none is lost if this fails."""
        try:
            self._open(list(running), running)
        except BaseException:  # also an interrupt: no writer may continue with files that are deleted here
            for bucket_id in running:
                self._writers.pop(bucket_id, None)
            for compaction in running.values():
                compaction.discard()
            raise

    def _added_since(self, base: Snapshot | None, latest: Snapshot) -> set[str] | None:
        """Return the files that commits have added since ``base``; ``None`` if one of the snapshots is gone."""
        since = snapshots_since(snapshot_identity(base), latest, self._facts.snapshots)
        if since is None:
            return None
        names: set[str] = set()
        for snapshot in since:
            entries = self._facts.changed_files(snapshot)
            if entries is None:
                return None
            names.update(entry.file.file_name for entry in entries if entry.kind is FileKind.ADD)
        return names

    def _no_longer_waiting(self, latest: Snapshot) -> set[str]:
        """Return the files that were committed since the base, also those whose commit was expired or rolled back."""
        added = self._added_since(self.base, latest)
        if added is not None:
            oldest = next(((b, f) for b, f in self.uncommitted.waiting() if f.file_name not in added), None)
            if oldest is None or not self._may_be_rolled_back(*oldest, added):
                return added
        from table_format.metastore.expiry.orphans import reached_names  # imported here, because few writers need it

        waiting = {file.file_name: (bucket_id, file) for bucket_id, file in self.uncommitted.waiting()}
        # Look for names first. A file that is deleted in between then counts as deleted.
        named = reached_names(self._facts.store, self._facts.options, frozenset(waiting)) if waiting else frozenset()
        deleted = {name for name, place in waiting.items() if name not in named and is_deleted(self._facts, *place)}
        return (added or set()) | named | deleted

    def _may_be_rolled_back(self, bucket_id: BucketId, oldest: DataFileMeta, added: set[str]) -> bool:
        """Return whether the oldest waiting file may have been committed and rolled back, which leaves few traces.

        The rollback has deleted the file, unless a branch keeps it. Then later files are committed before it, although
        writes are committed in their order. Such a file is looked for only once, because its caller may have given up.
        """
        if is_deleted(self._facts, bucket_id, oldest):
            return True
        if oldest.file_name in self._looked_for or not self.uncommitted.is_passed(oldest.file_name, added):
            return False
        self._looked_for.add(oldest.file_name)
        return True


class DetachedWriters(BucketWriters):
    """The writers of a write that ignores the state of buckets: of an overwrite, or of a table where buckets do not
    matter. Each call starts with new writers and empty buckets.
    """

    def __init__(self, facts: TableFacts, open_writer: OpenWriter) -> None:
        super().__init__(facts, open_writer, lambda: None, numbers_follow_base=False)

    def handed_over(self, messages: Sequence[CommitMessage]) -> None:  # noqa: ARG002 - none waits for its commit
        """Do nothing, because no later row depends on the messages that the caller has."""
        self.forget()
