"""The snapshots of a table (format chapter 03, sections 1 and 2; Java ``SnapshotManager``).

A snapshot file never changes, and expiry removes the oldest first, so the retained ids are consecutive and end with the
latest. Hints are only the start of a search. A notice announces that a snapshot is being deleted. If the catalog has a
server that publishes snapshots, the server says which is the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from table_format.codecs.publishable import snapshot_bytes
from table_format.codecs.snapshot_json import decode_snapshot
from table_format.errors import CorruptionError, SnapshotExpired, SnapshotNotFound
from table_format.io.paths import snapshot_id_of
from table_format.io.table_store import TableStore
from table_format.metastore.numbered_files import NumberedFiles
from table_format.metastore.snapshot.expiry_notices import ExpiryNotices
from table_format.metastore.snapshot.hints import Hints
from table_format.metastore.snapshot.rewriting_notice import RewritingNotice
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot, shown_time
from table_format.model.split import SnapshotRef

_T = TypeVar("_T")

_ROUNDS: Final = 8
_WALK: Final = 16
_FIRST_WAIT_MS: Final = 10
_GIVE_UP_AFTER_MS: Final = 8_000


class SnapshotStore:
    """Finds, loads and creates snapshots of one branch.

    It remembers the highest known id, but only as the start of a search.
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
        """The file access of the branch."""
        return self._store

    def __reduce__(self) -> tuple[object, ...]:
        return (SnapshotStore, (self._store,))

    def exists(self, snapshot_id: int) -> bool:
        """Return whether the snapshot's file exists. Raises ``BadEncoding`` if its name is that of another object."""
        return self._files.exists(snapshot_id)

    def latest_id(self) -> int | None:
        """Return the id of the latest snapshot; ``None`` if the table has no snapshot.

        Raises:
            CorruptionError: the hint names a snapshot, but none exists.
            SnapshotNotFound: the listing and the existing files contradict each other repeatedly.
        """
        if self._store.server is not None:
            latest = self.latest()
            return None if latest is None else latest.id
        return self._find_latest(lambda latest: latest if self.exists(latest) else None)

    def highest_id(self) -> int | None:
        """Return the highest id in the listing and the hint, without checking that it is part of the history."""
        hint = self.hints.latest() or 0
        highest = max(hint if hint and self.exists(hint) else 0, self._listed_latest() or 0)
        return highest or None

    def latest(self) -> Snapshot | None:
        """Return the latest snapshot; ``None`` if the table has no snapshot."""
        if self._store.server is not None:
            return self._store.server.latest(self._store.paths.branch)
        return self._find_latest(self.find)

    def earliest_id(self) -> int | None:
        """Return the id of the earliest retained snapshot; ``None`` if the table has no snapshot."""
        hint = self.hints.earliest()
        if hint is not None and self.exists(hint):
            for _ in range(_WALK):
                if hint == FIRST_SNAPSHOT_ID or not self.exists(hint - 1):
                    return hint
                hint -= 1
        ids = self.ids()
        return ids[0] if ids else None

    def ids(self) -> Sequence[int]:
        """Return the retained ids, ascending, from the listing: the consecutive ids up to the highest.

        An id below a gap is not part of the history. It was left by a crashed expiry, a lost race or an unfinished
        rollback.
        """
        return last_run(self.listed_ids())

    def ids_up_to(self, snapshot_id: int) -> Sequence[int]:
        """Return the consecutive ids up to this one, ascending, from the listing."""
        return last_run([found for found in self.listed_ids() if found <= snapshot_id])

    def lone_ids(self) -> Sequence[int]:
        """Return the ids below a gap, ascending. They are not part of the history, but a rollback may restore them."""
        found = self.listed_ids()
        return found[: len(found) - len(last_run(found))]

    def listed_ids(self) -> list[int]:
        """Return the ids of all files, ascending, whether they are part of the history or not."""
        return self._files.ids()

    def newest(
        self, matches: Callable[[Snapshot], bool], *, up_to: int, after: int = 0
    ) -> tuple[Snapshot | None, int | None]:
        """Return the newest snapshot that matches, with an id of at most ``up_to`` and more than ``after``.

        If one of them has expired before a match is found, its id is returned too, without a snapshot.
        """
        for snapshot_id in range(up_to, after, -1):
            snapshot = self.find(snapshot_id)
            if snapshot is None:
                return None, snapshot_id
            if matches(snapshot):
                return snapshot, None
        return None, None

    def load(self, snapshot_id: int) -> Snapshot:
        """Return the snapshot with this id.

        Raises:
            SnapshotExpired: the snapshot existed and has expired.
            SnapshotNotFound: there was never a snapshot with this id.
            CorruptionError: the file is not the snapshot with this id.
        """
        found = self.find(snapshot_id)
        if found is not None:
            return found
        latest = self.latest_id()
        if latest is None:
            message = f"snapshot {snapshot_id} does not exist: the table has no snapshot yet"
            raise SnapshotNotFound(message)
        if FIRST_SNAPSHOT_ID <= snapshot_id <= latest:
            message = f"snapshot {snapshot_id} has been expired; {_retained(self.earliest_id(), latest)}"
            raise SnapshotExpired(message)
        message = f"snapshot {snapshot_id} does not exist; {_retained(self.earliest_id(), latest)}"
        raise SnapshotNotFound(message)

    def find(self, snapshot_id: int) -> Snapshot | None:
        """Return the snapshot with this id, or ``None`` if its file does not exist.

        Raises:
            CorruptionError: the file is not the snapshot with this id.
        """
        return self._files.find(snapshot_id)

    def has_removed(self, snapshot: Snapshot | SnapshotRef) -> bool:
        """Return whether a rollback or a fast-forward has removed a snapshot. Another one may have its id by now.

        This is not known, and false, if the snapshot may have expired.
        """
        found = self.find(snapshot.id)
        if found is None:
            return snapshot.id > (self.latest_id() or 0)
        return snapshot.delta_manifest_list not in (None, found.delta_manifest_list)

    def at_or_before(self, time_ms: int) -> Snapshot:
        """Return the last snapshot whose time is at or before ``time_ms`` (epoch milliseconds).

        Raises:
            SnapshotNotFound: the earliest retained snapshot is later, or there is none.
        """
        for attempt in range(_ROUNDS):
            low, high = self.earliest_id(), self.latest_id()
            if attempt and (run := self.ids()):
                low = run[0]  # a snapshot below a gap is not a lower bound
            if low is None or high is None:
                message = "the table has no snapshot yet"
                raise SnapshotNotFound(message)
            try:
                return self._search(low, high, time_ms)
            except SnapshotExpired:
                continue  # the lower bound expired during the search
        message = "snapshots expire faster than they can be searched; try again"
        raise SnapshotNotFound(message)

    def before(self, time_ms: int) -> Snapshot | None:
        """Return the last snapshot committed before ``time_ms`` (epoch milliseconds); ``None`` if none is retained."""
        try:
            return self.at_or_before(time_ms - 1)
        except SnapshotNotFound:
            return None

    def create(self, snapshot: Snapshot) -> None:
        """Create the snapshot's file, which must not exist.

        Raises:
            AlreadyExistsError: the id is taken.
            OutcomeUnknownError: the store did not answer.
        """
        data = snapshot_bytes(snapshot, path=self._store.paths.snapshot(snapshot.id))
        self._files.create(snapshot.id, data, give_up_after_ms=_GIVE_UP_AFTER_MS)

    def delete(self, snapshot_id: int) -> None:
        """Delete the snapshot's file; do nothing if it does not exist."""
        self._files.delete(snapshot_id)

    def is_expiring(self, snapshot_id: int) -> bool:
        """Return whether the snapshot has expired, or an expiry has started to delete it. Raises ``OSError``.

        The files of this snapshot must still be kept: if the expiry crashed, the snapshot may stay forever.
        """
        # The order matters: a notice that no longer exists was deleted after the snapshot.
        return any(notice.end > snapshot_id for notice in self.notices.all()) or not self.exists(snapshot_id)

    def record_earliest(self, earliest_id: int) -> None:
        """Write the earliest id to the hint, and withdraw the notices of expiries whose snapshots are all deleted.

        Nothing happens if the hint already has this id. Raises ``OSError``.
        """
        if self.hints.earliest() != earliest_id:
            self.notices.withdraw_up_to(min(self.listed_ids(), default=0))
            self.hints.write_earliest(earliest_id)

    # --- search -----------------------------------------------------------------------------------------------------

    def _find_latest(self, look: Callable[[int], _T | None]) -> _T | None:
        """Return what ``look`` finds for the latest id: ``None`` if the snapshot does not exist; see ``latest_id``."""
        for attempt in range(_ROUNDS):
            candidate = self._guess() if attempt == 0 else None
            if candidate is None:
                candidate = self._listed_latest()
            if candidate is None and self.exists(FIRST_SNAPSHOT_ID):
                candidate = FIRST_SNAPSHOT_ID  # the listing is out of date
            if candidate is None:
                if self.hints.latest() is None:
                    return None
                # The first snapshot has just been created, or the listing is out of date, or all snapshots are lost.
                self._pause(attempt)
                continue
            latest = self._walk_up(candidate)
            # Expiry ascends: if n exists after n + 1 was found missing, n was the latest in between. If it does not,
            # the missing id is in a gap below the retained ids.
            found = look(latest)
            if found is not None:
                self._seen = latest
                return found
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

    def _guess(self) -> int | None:
        hint = self.hints.latest() or 0
        if self._seen:
            return max(hint, self._seen)
        # Without a remembered id, an outdated hint might name a snapshot below a gap.
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
            message = (
                f"no snapshot at or before {shown_time(time_ms)}: the earliest, {low}, has the time "
                f"{shown_time(found.time_millis)}"
            )
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
    """Return the consecutive ids up to the last.

    >>> last_run([2, 5, 6, 7])
    [5, 6, 7]
    """
    first = len(ids) - 1
    while first > 0 and ids[first - 1] == ids[first] - 1:
        first -= 1
    return ids[max(first, 0) :]


def _retained(earliest: int | None, latest: int) -> str:
    if earliest == latest:
        return f"the only retained snapshot is {latest}"
    return f"the retained snapshots are {earliest} to {latest}"
