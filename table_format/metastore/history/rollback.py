"""Rollback to an earlier snapshot (format chapter 10, section 8; Java ``RollbackHelper``).

Later snapshots, long-lived changelogs and tags are removed; consumers and schemas stay. Other writers must have
stopped: ids are used again.

Before anything is changed, all files that the target needs are looked for.

Order of effects: 1 a snapshot that only a tag keeps gets its file back, 2 the hint LATEST goes, so that every reader
lists, 3 snapshots, newest first, so that after any of these steps the table is as it was at one of them; where a tag
keeps another snapshot than the one that has its id now, that one is replaced, 4 changelogs, 5 tags, 6 notices of
expiries that died, of ids which are used again, and the hints, 7 files that nothing names any more.

A repetition after a crash continues from every step; files that the first attempt could no longer delete are orphans.
What others do in between loses nothing: until step 3 is done the target lies below a gap in the ids, where expiry and
the deletion of tags keep what it needs as they keep it for a tag.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from table_format.errors import AlreadyExistsError, ConflictError, CorruptionError, MissingFile
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.file_deletions import FileDeletions
from table_format.metastore.expiry.unneeded import delete_unneeded, named_files
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.references.completeness import missing_file
from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.snapshot.changelog_store import ChangelogStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.arguments import whole_number
from table_format.model.snapshot import Snapshot
from table_format.options.table_options import TableOptions

_ROUNDS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackReport:
    """The target of a rollback and what it removed. ``unreadable`` says why files were kept."""

    snapshot: Snapshot
    snapshot_ids: tuple[int, ...] = ()
    changelog_ids: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    deletions: FileDeletions = field(default_factory=FileDeletions)
    unreadable: str | None = None


def find_snapshot(store: TableStore, snapshot_id: int) -> Snapshot:
    """The snapshot of that id, retained or kept by a tag.

    Raises:
        SnapshotExpired: it has been expired, and no tag keeps it.
        SnapshotNotFound: there was never one of that id.
    """
    snapshot_id = whole_number(snapshot_id, "snapshot_id")
    snapshots = SnapshotStore(store)
    found = snapshots.find(snapshot_id)
    if found is not None:
        return found
    kept = TagStore(store).keeping(snapshot_id)
    return next(iter(kept.values())).snapshot if kept else snapshots.load(snapshot_id)


def rollback(store: TableStore, options: TableOptions, target: Snapshot) -> RollbackReport:
    """Make ``target``, found by ``find_snapshot`` or a tag, the latest snapshot.

    Raises:
        SnapshotExpired: the target is being expired, and files of it are gone; nothing was changed.
        CorruptionError: files of the target are missing or damaged; nothing was changed.
        ConflictError: other processes continue to commit.
        OSError: the store failed; roll back again.
    """
    manifests, snapshots, tags = ManifestStore(store, options), SnapshotStore(store), TagStore(store)
    _require_complete(store, target)
    later_tags = {name: tag for name, tag in tags.all().items() if tag.snapshot.id > target.id}
    present = snapshots.find(target.id)
    replaced = present if present is not None and not present.is_same(target) else None
    named = named_files((*_later(store, target.id), *([replaced] if replaced else [])), manifests)
    if present is None:
        with suppress(AlreadyExistsError):  # by another process that rolls back to it
            snapshots.create(target)  # 1
    snapshots.hints.delete_latest()  # 2
    removed = _remove_snapshots(store, snapshots, target.id)  # 3
    if replaced is not None:
        snapshots.replace(target)
    changelogs = _remove_changelogs(store, target.id)  # 4
    for name in later_tags:
        tags.remove(name)  # 5
    snapshots.notices.withdraw_after(target.id)  # 6
    snapshots.hints.write_earliest(snapshots.ids()[0])
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


def _require_complete(store: TableStore, target: Snapshot) -> None:
    """A rollback to a snapshot that is partly deleted would give up the later ones for nothing."""
    with explaining_expiry(store, target.id):
        path = missing_file(store, target)
        if path is not None:
            raise MissingFile(
                path, f"snapshot {target.id} needs the file, which does not exist; roll back to another snapshot"
            )


def _later(store: TableStore, target_id: int) -> Iterator[Snapshot]:
    """The snapshots after the target with those of tags and changelogs, as far as they can be read."""
    snapshots = SnapshotStore(store)
    for snapshot_id in snapshots.listed_ids():
        if snapshot_id > target_id:
            with suppress(CorruptionError):
                if (snapshot := snapshots.find(snapshot_id)) is not None:
                    yield snapshot
    yield from (tag.snapshot for tag in TagStore(store).all().values() if tag.snapshot.id > target_id)
    with suppress(CorruptionError):
        yield from (changelog for changelog in ChangelogStore(store).all() if changelog.id > target_id)


def _remove_snapshots(store: TableStore, snapshots: SnapshotStore, target_id: int) -> tuple[int, ...]:
    removed: list[int] = []
    for _ in range(_ROUNDS):
        later = [i for i in snapshots.listed_ids() if i > target_id]
        if not later:
            return tuple(sorted(set(removed)))
        for snapshot_id in reversed(later):
            snapshots.delete(snapshot_id)
        removed += later
    message = f"{store.paths.snapshot_directory}: others keep committing; stop them and roll back again"
    raise ConflictError(message)


def _remove_changelogs(store: TableStore, target_id: int) -> tuple[int, ...]:
    changelogs = ChangelogStore(store)
    ids = changelogs.ids()
    later = [number for number in ids if number > target_id]
    if later:
        kept = [number for number in ids if number <= target_id]
        if kept:
            changelogs.hints.write_latest(kept[-1])
        else:
            changelogs.hints.write_latest_unknown()
    for number in reversed(later):
        changelogs.delete(number)
    return tuple(later)
