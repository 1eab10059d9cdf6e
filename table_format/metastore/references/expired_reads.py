"""Explains a missing file to a reader: the table or the snapshot is gone by now, or the table is damaged.

Only this module makes that decision. A snapshot is retained while its file exists and no expiry has announced its
deletion, or while a tag that is not being deleted keeps it. After a rollback, another snapshot may have its id. If a
retained snapshot lacks a file, the table is damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Final, TypeAlias, TypeVar

from table_format.errors import CorruptionError, SnapshotExpired, TableFormatError, TableNotFound, TableReplaced
from table_format.io.table_store import TableStore
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.schema.table_identity import require_same_table
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.snapshot import Snapshot
from table_format.model.split import DataSplit, SnapshotRef, SplitContent

T = TypeVar("T")

ReadSnapshot: TypeAlias = int | Snapshot | SnapshotRef
"""A snapshot that is read. If only its id is given, another snapshot with this id is taken for it."""

LOST: Final = "while it was being read"
"""The words that every error of this module about a read of a lost snapshot or table contains."""

READ_ANOTHER: Final = f"{LOST}; read a retained one"
WRITE_AGAIN: Final = "after this write had begun with it. Nothing was committed; write the rows again"

_ROUNDS: Final = 4


@contextmanager
def explaining_expiry(
    store: TableStore, *snapshots: ReadSnapshot | None, as_changes: bool = False, advice: str | None = None
) -> Iterator[None]:
    """Guard reads of snapshots: a missing file of an expired snapshot raises ``SnapshotExpired``.

    With a ``Snapshot`` instead of an id, another snapshot that has its id by now is noticed. ``None`` stands for the
    state of an empty table. With ``as_changes``, the block reads the changes of the snapshots, which no tag keeps.
    ``advice`` says what was interrupted, and what to do; without it, the block reads.

    Raises:
        SnapshotExpired: the block found a damaged or missing file, and one of the snapshots is not retained any more.
        TableNotFound, TableReplaced: the block found such a file, and the table has been dropped.
        CorruptionError: all snapshots are retained, so the table is damaged.
    """
    try:
        yield
    except CorruptionError as error:
        explained = explain_missing(store, error, *snapshots, as_changes=as_changes, advice=advice)
        if explained is error:
            raise
        raise explained from error


@contextmanager
def explaining_expiry_of_splits(store: TableStore, splits: Sequence[DataSplit]) -> Iterator[None]:
    """Guard reads of splits of a plan; errors are explained in the same way as by ``explaining_expiry``."""
    try:
        yield
    except CorruptionError as error:
        for branch, snapshot, as_changes in snapshots_of(splits):
            explained = explain_missing(_branch(store, branch), error, snapshot, as_changes=as_changes)
            if explained is not error:
                raise explained from error
        raise


def explaining_expiry_of_rows(store: TableStore, split: DataSplit, rows: Iterable[T]) -> Generator[T]:
    """Yield the rows of a split of a plan; errors are explained in the same way as by ``explaining_expiry``."""
    with explaining_expiry_of_splits(store, [split]):
        yield from rows


def snapshots_of(splits: Iterable[DataSplit]) -> list[tuple[str | None, SnapshotRef, bool]]:
    """Return each snapshot that splits read, with its branch if it has one, and whether its changes are read."""
    found = {(split.branch, ref, split.content is SplitContent.CHANGES) for split in splits for ref in split.snapshots}
    return sorted(found, key=lambda each: (each[0] or "", each[1].id))


def _branch(store: TableStore, branch: str | None) -> TableStore:
    return store if branch is None else replace(store, paths=store.paths.for_branch(branch))


def explain_missing(
    store: TableStore,
    error: CorruptionError,
    *snapshots: ReadSnapshot | None,
    as_changes: bool = False,
    advice: str | None = None,
) -> TableFormatError:
    """Return the error to raise: that the table or a snapshot is gone, or ``error`` itself if this is not known."""
    read = [snapshot for snapshot in snapshots if snapshot is not None]
    try:
        if read:
            require_same_table(store)
        for snapshot in read:
            reason = _loss_of(store, snapshot, as_changes=as_changes)
            if reason is not None:
                return SnapshotExpired(f"{reason} {advice or READ_ANOTHER} ({error})")
    except (TableNotFound, TableReplaced) as dropped:
        return dropped if advice is not None else type(dropped)(f"{dropped}. This happened {LOST} ({error})")
    except OSError:
        return error
    return error


def _loss_of(store: TableStore, snapshot: ReadSnapshot, *, as_changes: bool) -> str | None:
    """Return what happened to a snapshot; ``None`` if it is retained."""
    snapshots = SnapshotStore(store)
    snapshot_id = snapshot if isinstance(snapshot, int) else snapshot.id
    if not is_retained(store, snapshot, as_changes=as_changes):
        is_rolled_back = snapshot_id > (snapshots.latest_id() or 0)
        return f"snapshot {snapshot_id} was {'removed by a rollback' if is_rolled_back else 'expired'}"
    if isinstance(snapshot, int) or not snapshots.has_removed(snapshot):
        return None
    return f"snapshot {snapshot_id} was replaced by a rollback or a fast-forward"


def is_retained(store: TableStore, snapshot: ReadSnapshot, *, as_changes: bool = False) -> bool:
    """Return whether the snapshot is listed and not expiring, or kept by a tag. Raises ``OSError``."""
    snapshot_id = snapshot if isinstance(snapshot, int) else snapshot.id
    if not SnapshotStore(store).is_expiring(snapshot_id):
        return True
    if as_changes:
        return False
    tags = TagStore(store)
    for name in tags.names():
        is_being_deleted = tags.is_being_deleted(name)  # read first: its notice is deleted after the tag
        with suppress(CorruptionError):  # a damaged tag does not keep anything readable
            tag = tags.find(name)
            if tag is not None and _is_read(tag.snapshot, snapshot) and not is_being_deleted:
                return True
    return False


def _is_read(kept: Snapshot, read: ReadSnapshot) -> bool:
    """Return whether a kept snapshot is the one that is read. After a rollback, another one may have its id."""
    if isinstance(read, int):
        return kept.id == read
    return kept.id == read.id and read.delta_manifest_list in (None, kept.delta_manifest_list)


def retry_if_expired(work: Callable[[], T]) -> T:
    """Run work that starts from the latest snapshot, and repeat it if that snapshot expires during the work.

    Raises:
        SnapshotExpired: a given snapshot has expired, or snapshots expire faster than the work completes.
    """
    for _ in range(_ROUNDS - 1):
        with suppress(SnapshotExpired):
            return work()
    return work()


def on_latest(snapshots: SnapshotStore, work: Callable[[Snapshot | None], T]) -> T:
    """Run ``work`` on the latest snapshot, and repeat it as ``retry_if_expired`` does.

    Raises:
        TableNotFound, TableReplaced: the table has been dropped; it is not merely empty.
    """

    def attempt() -> T:
        latest = snapshots.latest()
        if latest is None:
            require_same_table(snapshots.store)
        with explaining_expiry(snapshots.store, latest):
            return work(latest)

    return retry_if_expired(attempt)
