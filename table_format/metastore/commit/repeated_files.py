"""Checks that new files were not committed before: a second commit of the same messages would damage the table.

A snapshot that adds a file a second time cannot be read while the file is live, and doubles its rows after that. Only
snapshots that are younger than the messages can name the files, so this reads only what others commit during a write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from table_format.errors import CorruptionError, FileConflict
from table_format.io.table_store import TableStore
from table_format.metastore.commit.commit_job import CommitContext
from table_format.metastore.manifest.manifest_changes import FileChanges
from table_format.metastore.references.branch_list import all_branches
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot


def require_new(c: CommitContext, changes: FileChanges, latest: Snapshot | None, checked: Snapshot | None) -> None:
    """Refuse changes that add a file which a retained snapshot or a tag has.

    An earlier attempt has ``checked`` the snapshots up to one, so that each is read only once.

    Raises:
        FileConflict: names the file and the snapshot.
        CorruptionError, OSError: the snapshots cannot be read.
    """
    if any(entry.kind is FileKind.DELETE for entry in changes.entries):
        return  # a second commit would remove files that are gone, which is a conflict
    new = {entry.file.file_name: entry.file for entry in changes.entries}
    oldest_ms = changes.made_ms if changes.made_ms is not None else _oldest_ms(c, new.values())
    if not new or oldest_ms is None:
        return
    for snapshot, is_first in _younger(c, latest, oldest_ms):
        if checked is not None and snapshot.is_same(checked):
            return
        try:
            entries = _live_files(c, snapshot, changes) if is_first else c.manifests.delta_entries(snapshot)
        except CorruptionError:
            return  # expired in the meantime; later reads detect damage
        found = next((e for e in entries if e.kind is FileKind.ADD and e.file.file_name in new), None)
        if found is not None:
            raise _repeated(c, found, snapshot)


def _oldest_ms(c: CommitContext, files: Iterable[DataFileMeta]) -> int | None:
    """Return when the oldest file was created, for messages that do not say when they were made."""
    times = [file.creation_time for file in files if file.creation_time is not None]
    clock = c.store.runtime.clock
    # Files have the local time of their writer, whose zone is not known; snapshots have not.
    return min(times) - (clock.local_now_ms() - clock.now_ms()) if times else None


def _younger(c: CommitContext, latest: Snapshot | None, than_ms: int) -> Iterator[tuple[Snapshot, bool]]:
    """Yield the snapshots since a time, newest first, and whether all their files are to be searched.

    That is so if the snapshots before have expired. Tags and branches keep the files of some of these. A branch begins
    with a snapshot of this history; later it has files of its own, which may be committed to several branches.
    """
    snapshot = latest
    while snapshot is not None and snapshot.time_millis >= than_ms:
        before = c.snapshots.find(snapshot.id - 1) if snapshot.id > FIRST_SNAPSHOT_ID else None
        is_first = before is None and snapshot.id > FIRST_SNAPSHOT_ID
        yield snapshot, is_first
        if is_first:
            kept = (*_tagged(c), *_first_of_branches(c))
            yield from ((other, True) for other in kept if than_ms <= other.time_millis)
        snapshot = before


def _tagged(c: CommitContext) -> Iterator[Snapshot]:
    tags = TagStore(c.store)
    for name in tags.names():
        with suppress(CorruptionError):  # a damaged tag keeps nothing readable
            tag = tags.find(name)
            if tag is not None:
                yield tag.snapshot


def _first_of_branches(c: CommitContext) -> Iterator[Snapshot]:
    branches: list[TableStore] = []
    with suppress(CorruptionError):  # a damaged branch does not stop a commit
        branches.extend(all_branches(c.store))
    for branch in branches:
        if branch.paths.branch == c.store.paths.branch:
            continue
        with suppress(CorruptionError):
            snapshots = SnapshotStore(branch)
            earliest_id = snapshots.earliest_id()
            first = None if earliest_id is None else snapshots.find(earliest_id)
            if first is not None:
                yield first


def _live_files(c: CommitContext, snapshot: Snapshot, changes: FileChanges) -> Sequence[ManifestEntry]:
    """Return all files of a snapshot in the partitions of the changes."""
    wanted = FileFilter(partitions=changes.partitions)
    return live_files(c.manifests, snapshot, schema=c.schema, schemas={}, filter=wanted).entries


def _repeated(c: CommitContext, entry: ManifestEntry, snapshot: Snapshot) -> FileConflict:
    return FileConflict(
        f"{c.store.paths.root}: file '{entry.file.file_name}' of these messages was committed already; snapshot "
        f"{snapshot.id} has it. Nothing was committed"
    )
