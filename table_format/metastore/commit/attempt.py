"""Writes the files of one commit attempt before it is published (format chapter 10, section 3, steps 3 to 5).

No snapshot names these files yet. Delta and changelog do not depend on the latest snapshot, so they are written once.
The base list, the index manifest and merged manifests belong to one attempt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from table_format.io.table_store import TableStore
from table_format.io.uncommitted_files import delete_uncommitted
from table_format.metastore.commit.commit_check import check_fit
from table_format.metastore.commit.commit_job import CommitContext, CommitJob
from table_format.metastore.commit.next_snapshot import WrittenFiles, next_snapshot
from table_format.metastore.commit.repeated_files import require_new
from table_format.metastore.manifest.manifest_changes import FileChanges
from table_format.metastore.manifest.manifest_merge import MergedManifests, MergeRules, merge_manifests
from table_format.metastore.manifest.manifest_store import NewFiles, WrittenList
from table_format.metastore.manifest.replay import ReplayError
from table_format.metastore.scan.partition_test import may_hold_partitions
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.manifest import ManifestEntry, ManifestFileMeta
from table_format.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class WrittenChanges:
    """Changes, and the manifest lists that name their manifests."""

    changes: FileChanges
    delta: WrittenList
    changelog: WrittenList | None


class AttemptFiles:
    """The files written by attempts at one job, for reuse or deletion.

    ``are_requested`` is true after a snapshot with some of them was requested, whatever the outcome. ``were_visible``
    is true after such a snapshot was taken back: a change of the history may have deleted the files that it names. No
    snapshot up to ``checked`` has the new data files of the job.
    """

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self.lasting = NewFiles()
        self.merging = NewFiles()
        self.passing = NewFiles()
        self.checked: Snapshot | None = None
        self.are_requested = False
        self.were_visible = False
        self.written: WrittenChanges | None = None
        self.merged: MergedManifests | None = None

    def discard(self, files: NewFiles) -> None:
        """Delete files that no snapshot names."""
        delete_uncommitted(self._store.io, files.paths)
        files.paths.clear()

    def discard_all(self) -> None:
        """Delete everything, because the job has certainly failed."""
        for files in (self.passing, self.merging, self.lasting):
            self.discard(files)

    def start_over(self) -> None:
        """Write everything again in the next attempt, because a snapshot with it was taken back.

        The files stay as orphans: another writer may have continued from that snapshot while it was visible.
        """
        for files in (self.passing, self.merging, self.lasting):
            files.paths.clear()
        self.written = self.merged = None
        self.were_visible = True


def prepare(c: CommitContext, job: CommitJob, files: AttemptFiles, latest: Snapshot | None) -> Snapshot:
    """Propose and check changes, and write all files that the next snapshot names, but not the snapshot itself.

    Raises:
        ConflictError: the job conflicts with the latest snapshot, or another table has replaced this one.
        TableNotFound: the table was dropped or renamed.
        CorruptionError: the table's metadata cannot be read.
        OSError: the store failed.
    """
    require_same_table(c.store)
    proposal = job.propose(latest)
    changes, schema = proposal.changes, c.schemas.latest()
    require_new(c, changes, latest, files.checked)
    files.checked = latest
    index = check_fit(c, job, proposal, latest, schema)
    new = _write_changes(c, files, changes, schema.id)  # 1, 2
    base = _write_base(c, files, latest, schema.id)  # 3, 4
    index_manifest = latest.index_manifest if latest else None
    if changes.index:
        index_manifest = c.manifests.write_index(index, new=files.passing) if index else None  # 5
    written = WrittenFiles(changes, new.delta, new.changelog, base, index_manifest)
    return next_snapshot(c, job, written, latest, schema_id=schema.id)


def _write_changes(c: CommitContext, files: AttemptFiles, changes: FileChanges, schema_id: int) -> WrittenChanges:
    if files.written is not None:
        if files.written.changes is changes:
            return files.written
        files.discard(files.lasting)
    delta = c.manifests.write_list(_write(c, changes.entries, schema_id, files.lasting), new=files.lasting)
    changelog = None
    if changes.changelog:
        changelog = c.manifests.write_list(_write(c, changes.changelog, schema_id, files.lasting), new=files.lasting)
    files.written = WrittenChanges(changes, delta, changelog)
    return files.written


def _write_base(c: CommitContext, files: AttemptFiles, latest: Snapshot | None, schema_id: int) -> WrittenList:
    if latest is None:
        return c.manifests.write_list((), new=files.passing)
    current = c.manifests.data_manifests(latest)
    merged = None if files.merged is None else files.merged.on_top_of(current)
    if merged is None:
        files.discard(files.merging)
        try:
            merged = merge_manifests(
                current,
                MergeRules.of(c.options.manifest),
                read=c.manifests.read,
                write=lambda entries: _write(c, entries, schema_id, files.merging),
                may_hold=lambda manifest, partitions: may_hold_partitions(c.partitions, manifest, partitions),
            )
        except ReplayError as e:
            raise c.manifests.contradiction(latest, e) from e
    files.merged = merged
    return c.manifests.write_list(merged.after, new=files.passing)


def _write(
    c: CommitContext, entries: Iterable[ManifestEntry], schema_id: int, new: NewFiles
) -> tuple[ManifestFileMeta, ...]:
    return c.manifests.write(tuple(entries), types=c.partitions.types, schema_id=schema_id, new=new)
