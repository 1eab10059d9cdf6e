"""The snapshots of a table (format chapter 03, sections 1 and 2; Java ``SnapshotManager``).

A snapshot file never changes and expiry removes the oldest first, so the retained ids are one run without gap that ends
in the latest. Hints only say where to begin looking. A notice says that a snapshot is being deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from table_format.codecs.publishable import snapshot_bytes
from table_format.codecs.snapshot_json import decode_snapshot
from table_format.errors import CorruptionError, SnapshotExpired, SnapshotNotFound
from table_format.io.paths import snapshot_id_of
from table_format.io.table_store import TableStore
from table_format.metastore.numbered_files import NumberedFiles
from table_format.metastore.snapshot.expiry_notices import ExpiryNotices
from table_format.metastore.snapshot.hints import Hints
from table_format.metastore.snapshot.rewriting_notice import RewritingNotice
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot

_ROUNDS: Final = 8
_WALK: Final = 16
_FIRST_WAIT_MS: Final = 10
_GIVE_UP_AFTER_MS: Final = 8_000


class SnapshotStore:
    """Finds, loads and creates snapshots of one branch. It remembers the highest id seen, only to start the search
    there.
    """

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._files = NumberedFiles(
            store,
            "snapshot",
            store.paths.snapshot_directory,
            store.paths.snapshot,
            _id_of,
            lambda data, path: decode_snapshot(data, path=path),
        )
        self.hints = Hints(store, store.paths.latest_hint, store.paths.earliest_hint)
        self.notices = ExpiryNotices(store)
        self.rewriting = RewritingNotice(store)
        self._seen = 0

    @property
    def store(self) -> TableStore:
        """Where the snapshots lie."""
        return self._store

    def __reduce__(self) -> tuple[object, ...]:
        return (SnapshotStore, (self._store,))

    def exists(self, snapshot_id: int) -> bool:
        """Whether the snapshot's file is there. Raises ``BadEncoding`` when something else has its name."""
        return self._files.exists(snapshot_id)

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
                if self.hints.latest() is None:
                    return None
                # The first snapshot has just appeared, or the listing lags, or all snapshots are lost.
                self._pause(attempt)
                continue
            latest = self._walk_up(candidate)
            # Expiry ascends: when n is here after n + 1 was seen absent, n was the latest in between. When it is not,
            # what was seen is a gap below the retained run.
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
        message = (
            "the hint names a snapshot, but none exists; restore the snapshots, or delete the hint to "
            "start with an empty table"
        )
        raise CorruptionError(self._store.paths.latest_hint, message)

    def highest_id(self) -> int | None:
        """The highest id in listing and hint, without asking whether history leads there."""
        hint = self.hints.latest() or 0
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
        hint = self.hints.earliest()
        if hint is not None and self.exists(hint):
            for _ in range(_WALK):
                if hint == FIRST_SNAPSHOT_ID or not self.exists(hint - 1):
                    return hint
                hint -= 1
        ids = self.ids()
        return ids[0] if ids else None

    def ids(self) -> Sequence[int]:
        """The retained ids, ascending, from the listing: the run that ends in the highest.

        A lone id below a gap is no part of the history: what a crashed expiry, a lost race or an unfinished rollback
        has left.
        """
        return last_run(self.listed_ids())

    def lone_ids(self) -> Sequence[int]:
        """The ids below a gap, ascending: no part of the history, and yet a rollback may go back to them."""
        found = self.listed_ids()
        return found[: len(found) - len(last_run(found))]

    def listed_ids(self) -> list[int]:
        """Every id of which there is a file, ascending, whether history leads there or not."""
        return self._files.ids()

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
        return self._files.find(snapshot_id)

    def at_or_before(self, time_ms: int) -> Snapshot:
        """The last snapshot whose time is at or before ``time_ms`` (epoch milliseconds).

        Raises:
            SnapshotNotFound: the earliest retained snapshot is later, or there is none.
        """
        for attempt in range(_ROUNDS):
            low, high = self.earliest_id(), self.latest_id()
            if attempt and (run := self.ids()):
                low = run[0]  # a lone snapshot below a gap is no lower end
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
        data = snapshot_bytes(snapshot, path=self._store.paths.snapshot(snapshot.id))
        self._files.create(snapshot.id, data, give_up_after_ms=_GIVE_UP_AFTER_MS)

    def replace(self, snapshot: Snapshot) -> None:
        """Put a snapshot in the place of another with its id, in one step; only a rollback does that."""
        path = self._store.paths.snapshot(snapshot.id)
        self._store.io.overwrite(path, snapshot_bytes(snapshot, path=path))

    def delete(self, snapshot_id: int) -> None:
        """Delete the snapshot's file; do nothing if it does not exist."""
        self._files.delete(snapshot_id)

    def is_expiring(self, snapshot_id: int) -> bool:
        """Whether the snapshot has been expired, or an expiry has begun to delete it. Raises ``OSError``.

        The files that such a snapshot names must stay all the same: if that expiry died, it may be there for ever.
        """
        # In this order: a notice that is gone by now went after the snapshot.
        return any(notice.end > snapshot_id for notice in self.notices.all()) or not self.exists(snapshot_id)

    def record_earliest(self, earliest_id: int) -> None:
        """Name the earliest snapshot in the hint, and withdraw the notices of expiries whose snapshots are all gone.

        Nothing happens where the hint names it already. Raises ``OSError``.
        """
        if self.hints.earliest() != earliest_id:
            self.notices.withdraw_up_to(min(self.listed_ids(), default=0))
            self.hints.write_earliest(earliest_id)

    # --- looking ----------------------------------------------------------------------------------------------------

    def _guess(self) -> int | None:
        hint = self.hints.latest() or 0
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

    def _listed_latest(self) -> int | None:
        found = self.listed_ids()
        return found[-1] if found else None

    def _search(self, low: int, high: int, time_ms: int) -> Snapshot:
        found = self.load(low)
        if found.time_millis > time_ms:
            message = f"no snapshot at or before {time_ms}: the earliest, {low}, has the time {found.time_millis}"
            raise SnapshotNotFound(message)
        while low < high:
            middle = (low + high + 1) // 2
            snapshot = self.load(middle)
            if snapshot.time_millis <= time_ms:
                found, low = snapshot, middle
            else:
                high = middle - 1
        return found


def _id_of(file_name: str) -> int | None:
    number = snapshot_id_of(file_name)
    return None if number is None or number < FIRST_SNAPSHOT_ID else number


def last_run(ids: Sequence[int]) -> Sequence[int]:
    """The ids without gap that end in the last.

    >>> last_run([2, 5, 6, 7])
    [5, 6, 7]
    """
    first = len(ids) - 1
    while first > 0 and ids[first - 1] == ids[first] - 1:
        first -= 1
    return ids[max(first, 0) :]
