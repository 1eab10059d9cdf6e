"""The snapshots of a table and the two hints (format chapter 03, sections 1 and 2; Java ``SnapshotManager``).

A snapshot file never changes and expiry removes the oldest first, so the retained ids are one run without gap that ends
in the latest. Hints may be stale, missing, ahead or garbage: they only say where to begin looking, and nothing is
deleted, refused or hidden because of one.

Expiry deletes data before the snapshot itself, so a snapshot may be there for a while without its files. What tells is
a *notice* in the directory of the snapshots: a file whose name says which snapshots are going. Its content means
nothing, so a damaged byte changes nothing, and two expiries have one each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from table_format.codecs.hint_text import decode_hint
from table_format.codecs.publishable import hint_bytes, snapshot_bytes
from table_format.codecs.snapshot_json import decode_snapshot
from table_format.errors import (
    AlreadyExistsError,
    BadEncoding,
    CorruptionError,
    OutcomeUnknownError,
    SnapshotExpired,
    SnapshotNotFound,
)
from table_format.io.file_io import FileStatus
from table_format.io.paths import expiry_end_of, is_rewriting_notice, snapshot_id_of
from table_format.io.sound_files import file_exists, read_file
from table_format.io.table_store import TableStore
from table_format.metastore.publish import PutOutcome, put_if_absent
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot

_ROUNDS: Final = 8
_WALK: Final = 16
_FIRST_WAIT_MS: Final = 10


@dataclass(frozen=True, slots=True)
class ExpiryNotice:
    """An expiry was or is deleting the snapshots before ``end``; ``made_ms`` is the epoch time it said so."""

    path: str
    end: int
    made_ms: int


class SnapshotStore:
    """Finds, loads and creates snapshots of one branch. It remembers the highest id seen, only to look there first."""

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._seen = 0

    @property
    def store(self) -> TableStore:
        """Where the snapshots lie."""
        return self._store

    def __reduce__(self) -> tuple[object, ...]:
        return (SnapshotStore, (self._store,))

    def exists(self, snapshot_id: int) -> bool:
        """Whether the snapshot's file is there. Raises ``BadEncoding`` when something else has its name."""
        return file_exists(self._store.io, self._store.paths.snapshot(snapshot_id))

    def latest_id(self) -> int | None:
        """The id of the latest snapshot; ``None`` for a table without any.

        Raises:
            CorruptionError: the hint names a snapshot and there is none at all.
            SnapshotNotFound: listing and looking disagree again and again.
        """
        for attempt in range(_ROUNDS):
            candidate = self._guess() if attempt == 0 else None
            if candidate is None:
                candidate = self._listed_latest()
            if candidate is None and self.exists(FIRST_SNAPSHOT_ID):
                candidate = FIRST_SNAPSHOT_ID  # the listing lags
            if candidate is None:
                if self._read_hint(self._store.paths.latest_hint) is None:
                    return None
                # The first snapshot has just appeared, or the listing lags, or all snapshots are lost.
                self._pause(attempt)
                continue
            latest = self._walk_up(candidate)
            # Expiry ascends: when n is here after n + 1 was seen absent, n was the latest in between. When it is not,
            # what was seen is a hole below the retained run.
            if self.exists(latest):
                self._seen = latest
                return latest
            self._seen = 0
            self._pause(attempt)
        if self.listed_ids():
            message = (
                f"{self._store.paths.snapshot_directory}: the listing names snapshots that do not exist; try again"
            )
            raise SnapshotNotFound(message)
        message = "the hint names a snapshot and none exists; restore them, or delete the hint if the table begins anew"
        raise CorruptionError(self._store.paths.latest_hint, message)

    def highest_id(self) -> int | None:
        """The highest id in listing and hint, without asking whether history leads there."""
        hint = self._read_hint(self._store.paths.latest_hint) or 0
        highest = max(hint if hint and self.exists(hint) else 0, self._listed_latest() or 0)
        return highest or None

    def latest(self) -> Snapshot | None:
        """The latest snapshot; ``None`` for a table without any."""
        for _ in range(_ROUNDS):
            latest_id = self.latest_id()
            if latest_id is None:
                return None
            found = self.find(latest_id)
            if found is not None:
                return found
        message = f"{self._store.paths.snapshot_directory}: snapshots expire faster than they can be read; try again"
        raise SnapshotNotFound(message)

    def earliest_id(self) -> int | None:
        """The id of the earliest retained snapshot; ``None`` for a table without any."""
        hint = self._read_hint(self._store.paths.earliest_hint)
        if hint is not None and self.exists(hint):
            for _ in range(_WALK):
                if hint == FIRST_SNAPSHOT_ID or not self.exists(hint - 1):
                    return hint
                hint -= 1
        ids = self.ids()
        return ids[0] if ids else None

    def ids(self) -> Sequence[int]:
        """The retained ids, ascending, from the listing: the run that ends in the highest.

        A lone id below a hole is no part of the history: what a crashed expiry, a lost race or an unfinished rollback
        has left.
        """
        return last_run(self.listed_ids())

    def lone_ids(self) -> Sequence[int]:
        """The ids below a hole, ascending: no part of the history, and yet somebody may go back to them."""
        found = self.listed_ids()
        return found[: len(found) - len(last_run(found))]

    def listed_ids(self) -> list[int]:
        """Every id of which there is a file, ascending, whether history leads there or not."""
        return _ids_among(self._listed())

    def load(self, snapshot_id: int) -> Snapshot:
        """The snapshot of that id.

        Raises:
            SnapshotExpired: it existed and has been expired.
            SnapshotNotFound: there was never one of that id.
            CorruptionError: its file does not hold a snapshot of that id.
        """
        found = self.find(snapshot_id)
        if found is not None:
            return found
        latest = self.latest_id()
        if latest is None:
            message = f"snapshot {snapshot_id} does not exist: the table has no snapshot yet"
            raise SnapshotNotFound(message)
        if FIRST_SNAPSHOT_ID <= snapshot_id <= latest:
            message = (
                f"snapshot {snapshot_id} has been expired; the retained snapshots are {self.earliest_id()} to {latest}"
            )
            raise SnapshotExpired(message)
        message = f"snapshot {snapshot_id} does not exist; the retained snapshots are {self.earliest_id()} to {latest}"
        raise SnapshotNotFound(message)

    def find(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot of that id, or ``None`` when its file is not there.

        Raises:
            CorruptionError: its file does not hold a snapshot of that id.
        """
        path = self._store.paths.snapshot(snapshot_id)
        try:
            data = read_file(self._store.io, path)
        except FileNotFoundError:
            return None
        snapshot = decode_snapshot(data, path=path)
        if snapshot.id != snapshot_id:
            raise BadEncoding(path, f"expected snapshot {snapshot_id}, found snapshot {snapshot.id}")
        return snapshot

    def at_or_before(self, time_ms: int) -> Snapshot:
        """The last snapshot whose time is at or before ``time_ms`` (epoch milliseconds).

        Raises:
            SnapshotNotFound: the earliest retained snapshot is later, or there is none.
        """
        for attempt in range(_ROUNDS):
            low, high = self.earliest_id(), self.latest_id()
            if attempt and (run := self.ids()):
                low = run[0]  # a lone snapshot below a hole is no lower end
            if low is None or high is None:
                message = "the table has no snapshot yet"
                raise SnapshotNotFound(message)
            try:
                return self._search(low, high, time_ms)
            except SnapshotExpired:
                continue  # expiry went past the lower end while we searched
        message = "snapshots expire faster than they can be searched; try again"
        raise SnapshotNotFound(message)

    def before(self, time_ms: int) -> Snapshot | None:
        """The last snapshot committed before ``time_ms`` (epoch milliseconds); ``None`` when none is retained."""
        try:
            return self.at_or_before(time_ms - 1)
        except SnapshotNotFound:
            return None

    def latest_of_user(self, commit_user: str, *, after: int = 0) -> Snapshot | None:
        """The user's last snapshot with an id above ``after``, as far back as history is retained."""
        latest = self.latest_id()
        for snapshot_id in range(latest or 0, after, -1):
            snapshot = self.find(snapshot_id)
            if snapshot is None:
                return None
            if snapshot.commit_user == commit_user:
                return snapshot
        return None

    def create(self, snapshot: Snapshot) -> None:
        """Create the snapshot's file, which must not exist.

        Raises:
            AlreadyExistsError: the id is taken.
            OutcomeUnknownError: the store did not answer.
        """
        path = self._store.paths.snapshot(snapshot.id)
        give_up_ms = self._store.runtime.clock.monotonic_ms() + _ROUNDS * 1000
        put = put_if_absent(self._store, path, snapshot_bytes(snapshot, path=path), give_up_ms=give_up_ms)
        match put.outcome:
            case PutOutcome.OURS:
                return
            case PutOutcome.OTHERS:
                message = f"{path}: the snapshot exists already"
                raise AlreadyExistsError(message)
            case PutOutcome.REFUSED if put.error is not None:
                raise put.error
        message = f"{path}: the store did not say whether the snapshot was created; look before trying again"
        raise OutcomeUnknownError(message) from put.error

    def replace(self, snapshot: Snapshot) -> None:
        """Put a snapshot in the place of another with its id, in one step; only a rollback does that."""
        path = self._store.paths.snapshot(snapshot.id)
        self._store.io.overwrite(path, snapshot_bytes(snapshot, path=path))

    def delete(self, snapshot_id: int) -> None:
        """Delete the snapshot's file; nothing happens when there is none."""
        self._store.io.delete(self._store.paths.snapshot(snapshot_id))

    def write_latest_hint(self, snapshot_id: int) -> None:
        """Say where to look for the latest snapshot. Raises ``OSError``; nothing depends on the hint."""
        path = self._store.paths.latest_hint
        self._store.io.overwrite(path, hint_bytes(snapshot_id, path=path))

    def write_earliest_hint(self, snapshot_id: int) -> None:
        """Say where to look for the earliest snapshot. Raises ``OSError``; nothing depends on the hint."""
        path = self._store.paths.earliest_hint
        self._store.io.overwrite(path, hint_bytes(snapshot_id, path=path))

    def begin_earliest_hint(self, snapshot_id: int) -> None:
        """Name the first snapshot as the earliest, unless somebody has named one. Raises ``OSError``.

        It is created and not overwritten: a request that took its time would undo what an expiry has said.
        """
        path = self._store.paths.earliest_hint
        with suppress(FileExistsError):
            self._store.io.create(path, hint_bytes(snapshot_id, path=path))

    # --- what is going ----------------------------------------------------------------------------------------------

    def notices(self) -> tuple[ExpiryNotice, ...]:
        """What expiries have said that has not been withdrawn, by the first snapshot that stays.

        A notice beyond the latest snapshot is not believed: no expiry lets the latest go.
        """
        children = self._listed()
        highest = max(_ids_among(children), default=0)
        directory = self._store.paths.snapshot_directory
        ends = ((child, expiry_end_of(child.name)) for child in children)
        found = (ExpiryNotice(f"{directory}/{c.name}", end, c.modified_ms) for c, end in ends if end is not None)
        return tuple(sorted((notice for notice in found if notice.end <= highest), key=lambda notice: notice.end))

    def is_expiring(self, snapshot_id: int) -> bool:
        """Whether the snapshot has been expired, or an expiry has begun to delete it. Raises ``OSError``.

        That a snapshot is going is no reason to delete what it needs: it may be there for ever, if that expiry died.
        """
        # In this order: a notice that is gone by now went after the snapshot.
        return any(notice.end > snapshot_id for notice in self.notices()) or not self.exists(snapshot_id)

    def announce_earliest(self, snapshot_id: int) -> str:
        """Say that the snapshots before this one are going; the path of the notice. Raises ``OSError``."""
        path = self._store.paths.expiry_notice(snapshot_id, self._store.runtime.ids.uuid())
        with suppress(FileExistsError):  # our own request, whose answer was lost
            self._store.io.create(path, b"")
        return path

    def tidy(self, earliest_id: int) -> None:
        """Say in the hint which snapshot is the earliest, and withdraw what is void: the notices of expiries whose
        snapshots are all gone. Nothing happens where the hint says so already. Raises ``OSError``.
        """
        if self._read_hint(self._store.paths.earliest_hint) != earliest_id:
            lowest = min(self.listed_ids(), default=0)
            self._withdraw_all(lambda end: end <= lowest)
            self.write_earliest_hint(earliest_id)

    def withdraw_after(self, snapshot_id: int) -> None:
        """Withdraw what was said of snapshots whose ids are used again. Raises ``OSError``."""
        self._withdraw_all(lambda end: end > snapshot_id)

    def is_being_rewritten(self) -> bool:
        """Whether the history is being replaced by another, or was when somebody died. Raises ``OSError``."""
        return any(is_rewriting_notice(child.name) for child in self._listed())

    def begin_rewriting(self, *, apart: bool) -> None:
        """Say that the history is being replaced by another, which may begin ``apart`` from it. Raises ``OSError``."""
        with suppress(FileExistsError):  # somebody died over it, and it is begun again
            self._store.io.create(self._store.paths.rewriting_notice(apart=apart), b"")

    def begins_apart(self) -> bool:
        """Whether the history that replaces this one begins apart from it, as somebody said who died over it."""
        return self._store.io.status(self._store.paths.rewriting_notice(apart=True)) is not None

    def end_rewriting(self) -> None:
        """Say that the history is one again. Raises ``OSError``."""
        for apart in (False, True):
            self._store.io.delete(self._store.paths.rewriting_notice(apart=apart))

    def _withdraw_all(self, is_void: Callable[[int], bool]) -> None:
        for child in self._listed():
            end = expiry_end_of(child.name)
            if end is not None and is_void(end):
                self._store.io.delete(f"{self._store.paths.snapshot_directory}/{child.name}")

    # --- looking ----------------------------------------------------------------------------------------------------

    def _guess(self) -> int | None:
        hint = self._read_hint(self._store.paths.latest_hint) or 0
        if self._seen:
            return max(hint, self._seen)
        # Without memory a hint far behind might lead to what lies alone below the retained run.
        is_founded = hint == FIRST_SNAPSHOT_ID or (hint > FIRST_SNAPSHOT_ID and self.exists(hint - 1))
        return hint if is_founded else None

    def _walk_up(self, snapshot_id: int) -> int:
        while True:
            for _ in range(_WALK):
                if not self.exists(snapshot_id + 1):
                    return snapshot_id
                snapshot_id += 1
            snapshot_id = max(snapshot_id, self._listed_latest() or 0)

    def _pause(self, attempt: int) -> None:
        self._store.runtime.clock.sleep_ms((attempt + 1) * _FIRST_WAIT_MS)

    def _read_hint(self, path: str) -> int | None:
        try:
            return decode_hint(read_file(self._store.io, path))
        except (OSError, CorruptionError):
            return None  # a hint that cannot be read is no hint

    def _listed(self) -> Sequence[FileStatus]:
        return self._store.io.list(self._store.paths.snapshot_directory)

    def _listed_latest(self) -> int | None:
        found = self.listed_ids()
        return found[-1] if found else None

    def _search(self, low: int, high: int, time_ms: int) -> Snapshot:
        found = self.load(low)
        if found.time_millis > time_ms:
            message = f"no snapshot at or before {time_ms}: the earliest, {low}, is of {found.time_millis}"
            raise SnapshotNotFound(message)
        while low < high:
            middle = (low + high + 1) // 2
            snapshot = self.load(middle)
            if snapshot.time_millis <= time_ms:
                found, low = snapshot, middle
            else:
                high = middle - 1
        return found


def _ids_among(children: Iterable[FileStatus]) -> list[int]:
    ids = (snapshot_id_of(child.name) for child in children)
    return sorted(i for i in ids if i is not None and i >= FIRST_SNAPSHOT_ID)


def last_run(ids: Sequence[int]) -> Sequence[int]:
    """The ids without gap that end in the last.

    >>> last_run([2, 5, 6, 7])
    [5, 6, 7]
    """
    first = len(ids) - 1
    while first > 0 and ids[first - 1] == ids[first] - 1:
        first -= 1
    return ids[max(first, 0) :]
