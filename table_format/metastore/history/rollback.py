"""Rollback to an earlier snapshot (format chapter 10, section 8; Java ``RollbackHelper``).

If the catalog has a server that publishes snapshots, the server rolls back. Otherwise:

Later snapshots, long-lived changelogs and tags are removed; consumers and schemas stay. Other writers must have
stopped, because ids are reused. Before anything is changed, the existence of all files that the target needs is
checked.

Order of effects: 1 a snapshot that only a tag keeps gets its file back; 2 the hint LATEST is deleted, so that every
reader lists; 3 snapshots are deleted, newest first, so that after each deletion the table has the state of one of them;
if a tag keeps a different snapshot than the one that now has its id, that one is replaced; 4 changelogs and 5 tags are
deleted; 6 notices of crashed expiries with reused ids are deleted, and the hints are written; 7 files that nothing
names any more are deleted.

After a crash, a repeated call continues from every step; files that the first attempt could not delete any more are
orphans. Other processes cannot destroy anything in between: until step 3 is done, the target is below a gap in the ids,
where expiry and the deletion of tags keep its files as they do for a tag.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from table_format.codecs.publishable import snapshot_bytes
from table_format.errors import AlreadyExistsError, ConflictError, CorruptionError, MissingFile
from table_format.io.table_server import TableServer
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.file_deletions import FileDeletions
from table_format.metastore.expiry.unneeded import delete_unneeded, named_files
from table_format.metastore.history.history_files import HistoryFiles
from table_format.metastore.history.restored import restored
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.references.completeness import missing_file
from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.schema.table_identity import explaining_drop
from table_format.metastore.snapshot.changelog_store import ChangelogStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.arguments import whole_number
from table_format.model.snapshot import Snapshot
from table_format.options.table_options import TableOptions

_ROUNDS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackReport:
    """The target of a rollback and what it removed. ``unreadable`` states why files were kept."""

    snapshot: Snapshot
    snapshot_ids: tuple[int, ...] = ()
    changelog_ids: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    deletions: FileDeletions = field(default_factory=FileDeletions)
    unreadable: str | None = None


def find_snapshot(store: TableStore, snapshot_id: int) -> Snapshot:
    """Return the snapshot with this id, retained or kept by a tag.

    Raises:
        SnapshotExpired: the snapshot has expired, and no tag keeps it.
        SnapshotNotFound: there was never a snapshot with this id.
    """
    snapshot_id = whole_number(snapshot_id, "snapshot_id")
    snapshots = SnapshotStore(store)
    found = snapshots.find(snapshot_id)
    if found is not None:
        return found
    kept = TagStore(store).keeping(snapshot_id)
    return next(iter(kept.values())).snapshot if kept else snapshots.load(snapshot_id)


def rollback(store: TableStore, options: TableOptions, target: Snapshot) -> RollbackReport:
    """Make ``target`` the latest snapshot; get it with ``find_snapshot`` or from a tag.

    Raises:
        SnapshotExpired: the target is expiring, and some of its files are deleted; nothing was changed.
        CorruptionError: files of the target are missing or damaged; nothing was changed.
        ConflictError: other processes continue to commit.
        TableNotFound, TableReplaced: the table was dropped, renamed or created again; nothing stays there.
        OSError: the store failed; roll back again.
    """
    if store.server is not None:
        return _rollback_by_server(store, store.server, target)
    files = HistoryFiles(store)
    with explaining_drop(files.require_same_table):
        return _rollback(files, options, target)


def _rollback(files: HistoryFiles, options: TableOptions, target: Snapshot) -> RollbackReport:
    store = files.store
    manifests, snapshots, tags = ManifestStore(store, options), SnapshotStore(store), TagStore(store)
    _require_complete(store, target)
    later_tags = {name: tag for name, tag in tags.all().items() if tag.snapshot.id > target.id}
    present = snapshots.find(target.id)
    replaced = present if present is not None and not present.is_same(target) else None
    named = named_files((*_later(store, target.id), *([replaced] if replaced else [])), manifests)
    path = store.paths.snapshot(target.id)
    if present is None:
        snapshot = restored(store, target)
        files.note(path, snapshot_bytes(snapshot, path=path))
        with suppress(AlreadyExistsError):  # another process rolls back to it
            snapshots.create(snapshot)  # 1
    files.require_same_table()
    snapshots.hints.delete_latest()  # 2
    removed = _remove_snapshots(files, snapshots, target.id)  # 3
    if replaced is not None:
        files.write(path, snapshot_bytes(restored(store, target), path=path), is_new=False)
    files.require_same_table()
    changelogs = ChangelogStore(store).remove_after(target.id)  # 4
    for name in later_tags:
        tags.remove(name)  # 5
    files.require_same_table()
    snapshots.notices.withdraw_after(target.id)  # 6
    snapshots.hints.write_earliest(min(snapshots.ids_up_to(target.id), default=target.id))
    snapshots.hints.write_latest(target.id)
    deletions, unreadable = FileDeletions(), None
    try:
        deletions = delete_unneeded(store, options, named)  # 7
    except CorruptionError as error:
        unreadable = str(error)
    return RollbackReport(
        snapshot=target,
        snapshot_ids=removed,
        changelog_ids=changelogs,
        tags=tuple(later_tags),
        deletions=deletions,
        unreadable=unreadable,
    )


def _rollback_by_server(store: TableStore, server: TableServer, target: Snapshot) -> RollbackReport:
    """Let the server remove what is later, with the files that nothing names any more."""
    snapshots, tags = SnapshotStore(store), TagStore(store)
    _require_complete(store, target)
    before, tagged = set(snapshots.listed_ids()), set(tags.names())
    present = snapshots.find(target.id)
    is_retained = present is not None and present.is_same(target)
    server.roll_back(store.paths.branch, target.id if is_retained else next(iter(tags.keeping(target.id)), target.id))
    return RollbackReport(
        snapshot=target,
        snapshot_ids=tuple(sorted(before - set(snapshots.listed_ids()))),
        tags=tuple(sorted(tagged - set(tags.names()))),
    )


def _require_complete(store: TableStore, target: Snapshot) -> None:
    """Refuse a partly deleted snapshot, because the rollback would lose the later ones without a result."""
    with explaining_expiry(store, target):
        path = missing_file(store, target)
        if path is not None:
            raise MissingFile(
                path, f"snapshot {target.id} needs the file, which does not exist; roll back to another snapshot"
            )


def _later(store: TableStore, target_id: int) -> Iterator[Snapshot]:
    """Yield the later snapshots, including those of tags and changelogs, as far as they can be read."""
    snapshots = SnapshotStore(store)
    for snapshot_id in snapshots.listed_ids():
        if snapshot_id > target_id:
            with suppress(CorruptionError):
                if (snapshot := snapshots.find(snapshot_id)) is not None:
                    yield snapshot
    yield from (tag.snapshot for tag in TagStore(store).all().values() if tag.snapshot.id > target_id)
    with suppress(CorruptionError):
        yield from ChangelogStore(store).later_than(target_id)


def _remove_snapshots(files: HistoryFiles, snapshots: SnapshotStore, target_id: int) -> tuple[int, ...]:
    removed: list[int] = []
    for _ in range(_ROUNDS):
        later = [i for i in snapshots.listed_ids() if i > target_id]
        if not later:
            return tuple(sorted(set(removed)))
        files.require_same_table()
        for snapshot_id in reversed(later):
            snapshots.delete(snapshot_id)
        removed += later
    message = f"{files.store.paths.snapshot_directory}: other writers keep committing; stop them and roll back again"
    raise ConflictError(message)
