"""Checks that new files were not committed before: a second commit of the same messages would damage the table.

A snapshot that adds a file a second time cannot be read while the file is live, and doubles its rows after that. Only
snapshots that are younger than the files can name them, so this reads only what others commit during a write.
"""

from __future__ import annotations

from collections.abc import Sequence

from table_format.errors import CorruptionError, FileConflict
from table_format.metastore.commit.commit_job import CommitContext
from table_format.metastore.manifest.manifest_changes import FileChanges
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import live_files
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot


def require_new(c: CommitContext, changes: FileChanges, latest: Snapshot | None, checked: Snapshot | None) -> None:
    """Refuse changes that add a file which a retained snapshot has added, up to the latest.

    An earlier attempt has ``checked`` the snapshots up to one, so that each is read only once.

    Raises:
        FileConflict: names the file and the snapshot.
        OSError: the store failed.
    """
    new = {entry.file.file_name: entry for entry in changes.entries if entry.kind is FileKind.ADD}
    times = [entry.file.creation_time for entry in new.values() if entry.file.creation_time is not None]
    if not times:
        return
    clock = c.store.runtime.clock
    # Files have local times, snapshots have not.
    oldest_ms = min(times) - (clock.local_now_ms() - clock.now_ms())
    snapshot = latest
    while snapshot is not None and snapshot.time_millis >= oldest_ms:
        if checked is not None and snapshot.is_same(checked):
            return
        before = c.snapshots.find(snapshot.id - 1) if snapshot.id > FIRST_SNAPSHOT_ID else None
        is_first_retained = before is None and snapshot.id > FIRST_SNAPSHOT_ID
        try:
            entries = _live_files(c, snapshot, changes) if is_first_retained else c.manifests.delta_entries(snapshot)
        except CorruptionError:
            return  # expired in the meantime; later reads detect damage
        found = next((e for e in entries if e.kind is FileKind.ADD and e.file.file_name in new), None)
        if found is not None:
            raise _repeated(c, found, snapshot)
        snapshot = before


def _live_files(c: CommitContext, snapshot: Snapshot, changes: FileChanges) -> Sequence[ManifestEntry]:
    """Return all files of a snapshot where the changes are. Snapshots before it have expired."""
    wanted = FileFilter(partitions=changes.partitions)
    return live_files(c.manifests, snapshot, schema=c.schema, schemas={}, filter=wanted).entries


def _repeated(c: CommitContext, entry: ManifestEntry, snapshot: Snapshot) -> FileConflict:
    return FileConflict(
        f"{c.store.paths.root}: file '{entry.file.file_name}' of these messages was committed already; snapshot "
        f"{snapshot.id} has it. Nothing was committed"
    )
