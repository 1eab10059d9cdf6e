"""The input of a commit: a job that creates one snapshot, and a proposal of changes for one base."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from table_format.io.table_store import TableStore
from table_format.metastore.manifest.manifest_changes import FileChanges
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.scan.live_state import LiveState
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.manifest import ManifestEntry
from table_format.model.schema import TableSchema
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.options.bucket_mode import BucketMode, bucket_mode
from table_format.options.table_options import TableOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitContext:
    """The context of all commits of one committer."""

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
    def bucket_mode(self) -> BucketMode:
        """How the table assigns rows to buckets."""
        return bucket_mode(self.schema, self.options.bucket)


CommitCheck: TypeAlias = Callable[[Snapshot | None], None]
"""Raises a ``ConflictError`` if work no longer fits the latest snapshot."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Changes for one base snapshot, and the live files of the affected partitions if they are already known."""

    changes: FileChanges
    base: Sequence[ManifestEntry] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitJob:
    """One snapshot to create. ``propose`` is called again if another writer was faster."""

    identifier: int
    kind: CommitKind
    propose: Callable[[Snapshot | None], Proposal]
    check_conflicts: bool
    watermark: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    statistics: str | None = None
    operation: str | None = None
    files: frozenset[str] = frozenset()
    """The names of the files that the snapshot adds to the table."""

    @property
    def key(self) -> tuple[int, CommitKind]:
        """The identity of this snapshot among the snapshots of its user."""
        return self.identifier, self.kind


def checked(job: CommitJob, check: CommitCheck) -> CommitJob:
    """Return the same job with another check of the latest snapshot."""

    def propose(latest: Snapshot | None) -> Proposal:
        check(latest)
        return job.propose(latest)

    return replace(job, propose=propose)
