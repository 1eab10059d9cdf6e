"""Keeps the live files of some partitions from commit to commit.

Conflict checks need the live files of the affected partitions at the latest snapshot. If each commit read all
manifests, it would become slower with the number of files. So the state of one snapshot is kept, and later deltas are
applied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from table_format.errors import CorruptionError, MissingFile
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.replay import MergedEntries, ReplayError, live_entries, merge_entries
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.bucket_id import BucketId
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.predicate import Predicate
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot

"""A partition and a bucket in it."""

_LONGEST_STEP: Final = 64
"""If the state is more snapshots behind, reading everything is cheaper than applying deltas."""

_CAPACITY: Final = 200_000
"""The maximum number of entries that are kept between commits."""


class _Partition:
    """The live files of one partition by bucket, and the number of files by bucket count."""

    __slots__ = ("buckets", "totals")

    def __init__(self) -> None:
        self.buckets: dict[int, MergedEntries] = {}
        self.totals: Counter[int] = Counter()

    def apply(self, entry: ManifestEntry) -> None:
        """Apply an entry. Raises ``ReplayError``."""
        merge_entries((entry,), self.buckets.setdefault(entry.bucket, {}))
        if entry.total_buckets > 0:
            self.totals[entry.total_buckets] += 1 if entry.kind is FileKind.ADD else -1


class LiveState:
    """The live files by partition and bucket at one snapshot; partitions are read on first use."""

    def __init__(self, manifests: ManifestStore, snapshots: SnapshotStore, schema: TableSchema) -> None:
        self._manifests = manifests
        self._snapshots = snapshots
        self._schema = schema
        self._at: Snapshot | None = None
        self._partitions: dict[bytes, _Partition] = {}

    def files(self, snapshot: Snapshot, partitions: frozenset[bytes]) -> list[ManifestEntry]:
        """Return the live files of some partitions at a snapshot.

        Raises:
            CorruptionError: a manifest is missing or broken, or contradicts another.
        """
        self._ask(snapshot, partitions)
        found = [BucketId(p, bucket) for p in sorted(partitions) for bucket in sorted(self._partitions[p].buckets)]
        return self._live(snapshot, found)

    def bucket_files(self, snapshot: Snapshot, buckets: frozenset[BucketId]) -> list[ManifestEntry]:
        """Return the live files of some buckets at a snapshot; raises the same errors as ``files``."""
        self._ask(snapshot, frozenset(partition for partition, _ in buckets))
        return self._live(snapshot, sorted(buckets))

    def bucket_counts(self, snapshot: Snapshot, partitions: frozenset[bytes]) -> dict[bytes, set[int]]:
        """Return the bucket counts of the live files of partitions; raises the same errors as ``files``.

        A partition has one bucket count, unless a faulty writer has mixed them.
        """
        self._ask(snapshot, partitions)
        counts = {p: {total for total, files in self._partitions[p].totals.items() if files > 0} for p in partitions}
        self._trim()
        return {partition: totals for partition, totals in counts.items() if totals}

    def matching(self, snapshot: Snapshot, predicate: Predicate | None) -> frozenset[bytes]:
        """Return the partitions with live files that match a predicate on partition keys; all for ``None``."""
        self._follow(snapshot)
        return self._load(snapshot, FileFilter(partition_predicate=predicate), frozenset())

    def advance(self, snapshot: Snapshot) -> None:
        """Apply a snapshot that this process has just published on top of the state; never fails."""
        if self._at is not None and self._at.id == snapshot.id - 1:
            try:
                self._apply(snapshot)
            except (OSError, CorruptionError):
                # The snapshot is published, so an error here must not look like a failed commit.
                self.forget()

    def forget(self) -> None:
        """Discard the state."""
        self._at = None
        self._partitions = {}

    def _ask(self, snapshot: Snapshot, partitions: frozenset[bytes]) -> None:
        self._follow(snapshot)
        missing = partitions - self._partitions.keys()
        if missing:
            self._load(snapshot, FileFilter(partitions=missing), missing)

    def _live(self, snapshot: Snapshot, buckets: Iterable[BucketId]) -> list[ManifestEntry]:
        try:
            found = [e for p, bucket in buckets for e in live_entries(self._partitions[p].buckets.get(bucket, {}))]
        except ReplayError as e:
            raise self._manifests.contradiction(snapshot, e) from e
        self._trim()
        return found

    def _trim(self) -> None:
        if sum(len(files) for p in self._partitions.values() for files in p.buckets.values()) > _CAPACITY:
            self.forget()

    def _load(self, snapshot: Snapshot, wanted: FileFilter, partitions: frozenset[bytes]) -> frozenset[bytes]:
        plan = live_files(self._manifests, snapshot, schema=self._schema, schemas={}, filter=wanted)
        loaded = {partition: _Partition() for partition in sorted(partitions)}
        for entry in plan.entries:
            loaded.setdefault(entry.partition, _Partition()).apply(entry)
        self._partitions.update(loaded)
        return frozenset(loaded)

    def _follow(self, snapshot: Snapshot) -> None:
        at = self._at
        if at is not None and not at.is_same(snapshot):
            steps = self._steps(at, snapshot)
            if steps is None:
                self.forget()
            else:
                self._go(steps)
        if self._at is None or not self._at.is_same(snapshot):
            self.forget()
            self._at = snapshot

    def _go(self, steps: Sequence[Snapshot]) -> None:
        try:
            for step in steps:
                self._apply(step)
        except MissingFile:
            self.forget()  # a snapshot in between is expiring, which does not affect the last one

    def _steps(self, at: Snapshot, snapshot: Snapshot) -> Sequence[Snapshot] | None:
        if not at.id < snapshot.id <= at.id + _LONGEST_STEP:
            return None
        found = [self._snapshots.find(i) for i in range(at.id, snapshot.id)]
        steps = [step for step in found if step is not None]
        # After a rollback, ids are reused: check that the state is still part of the history.
        if len(steps) != len(found) or not steps[0].is_same(at):
            return None
        return [*steps[1:], snapshot]

    def _apply(self, snapshot: Snapshot) -> None:
        # Until the delta is completely applied, the state belongs to no snapshot, so that an interrupt cannot apply it
        # twice.
        self._at = None
        try:
            for entry in self._manifests.delta_entries(snapshot):
                if entry.partition in self._partitions:
                    self._partitions[entry.partition].apply(entry)
        except ReplayError:
            self.forget()  # reading everything reports the error
            return
        self._at = snapshot
