"""The snapshots of a table and the two hints (format chapter 03, sections 1 and 2; Java ``SnapshotManager``).

A snapshot file never changes and expiry removes the oldest first, so the retained ids are one run without gap that ends
in the latest. Hints may be stale, missing, ahead or garbage: they only say where to begin looking.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
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
    TableFormatError,
)
from table_format.io.paths import snapshot_id_of
from table_format.io.sound_files import file_exists, read_file
from table_format.io.table_store import TableStore
from table_format.metastore.publish import PutOutcome, put_if_absent
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot

_ROUNDS: Final = 8
_WALK: Final = 16
_FIRST_WAIT_MS: Final = 10


class SnapshotStore:
    """Finds, loads and creates snapshots of one branch. It remembers the highest id seen, only to look there first."""

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._seen = 0

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

    def earliest_kept_id(self) -> int | None:
        """The id of the earliest snapshot that no expiry has announced to delete; ``None`` without any."""
        announced = self._announced_earliest()
        return next((i for i in self.ids() if i >= announced), None)

    def ids(self) -> Sequence[int]:
        """The retained ids, ascending, from the listing: the run that ends in the highest.

        A lone id below a hole is no part of the history: what a crashed expiry or a lost race has left.
        """
        found = self.listed_ids()
        first = len(found) - 1
        while first > 0 and found[first - 1] == found[first] - 1:
            first -= 1
        return found[max(first, 0) :]

    def listed_ids(self) -> list[int]:
        """Every id of which there is a file, ascending, whether history leads there or not."""
        children = self._store.io.list(self._store.paths.snapshot_directory)
        ids = (snapshot_id_of(child.name) for child in children)
        return sorted(i for i in ids if i is not None and i >= FIRST_SNAPSHOT_ID)

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
        for _ in range(_ROUNDS):
            low, high = self.earliest_id(), self.latest_id()
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

    def delete(self, snapshot_id: int) -> None:
        """Delete the snapshot's file; nothing happens when there is none."""
        self._store.io.delete(self._store.paths.snapshot(snapshot_id))

    def write_latest_hint(self, snapshot_id: int) -> None:
        """Say where to look for the latest snapshot. Raises ``OSError``; nothing depends on the hint."""
        path = self._store.paths.latest_hint
        self._store.io.overwrite(path, hint_bytes(snapshot_id, path=path))

    def write_earliest_hint(self, snapshot_id: int) -> None:
        """Say where to look for the earliest snapshot, and that those before it are going. Raises ``OSError``."""
        path = self._store.paths.earliest_hint
        self._store.io.overwrite(path, hint_bytes(snapshot_id, path=path))

    def begin_earliest_hint(self, snapshot_id: int) -> None:
        """Name the first snapshot as the earliest, unless somebody has named one. Raises ``OSError``.

        It is created and not overwritten: a request that took its time would undo what an expiry has announced.
        """
        path = self._store.paths.earliest_hint
        with suppress(FileExistsError):
            self._store.io.create(path, hint_bytes(snapshot_id, path=path))

    def is_going(self, snapshot_id: int) -> bool:
        """Whether the snapshot has been expired, or an expiry has announced that it will be.

        Expiry deletes data before the snapshot itself, so a snapshot may be there for a while without its files. It
        says so first, in the hint for the earliest. Raises ``OSError``.
        """
        return snapshot_id < self._announced_earliest() or not self.exists(snapshot_id)

    def announce_earliest(self, snapshot_id: int) -> None:
        """Say that the snapshots before this one are going, unless an expiry has said more. Raises ``OSError``."""
        if self._announced_earliest() < snapshot_id:
            self.write_earliest_hint(snapshot_id)

    def explain_missing(self, snapshot_id: int, error: CorruptionError) -> TableFormatError:
        """What a missing file means to a reader of a snapshot: it has been expired meanwhile, or it is corrupt.

        Raises:
            OSError: the store failed, so it cannot be told.
        """
        if not self.is_going(snapshot_id):
            return error
        expired = SnapshotExpired(f"snapshot {snapshot_id} was expired while it was being read")
        expired.__cause__ = error
        return expired

    # --- looking ----------------------------------------------------------------------------------------------------

    def _guess(self) -> int | None:
        hint = self._read_hint(self._store.paths.latest_hint) or 0
        if self._seen:
            return max(hint, self._seen)
        # Without memory a hint far behind might lead to what a crash left below the retained run.
        earliest = self._read_hint(self._store.paths.earliest_hint) or 0
        return hint if hint and hint >= earliest else None

    def _walk_up(self, snapshot_id: int) -> int:
        while True:
            for _ in range(_WALK):
                if not self.exists(snapshot_id + 1):
                    return snapshot_id
                snapshot_id += 1
            snapshot_id = max(snapshot_id, self._listed_latest() or 0)

    def _pause(self, attempt: int) -> None:
        self._store.runtime.clock.sleep_ms((attempt + 1) * _FIRST_WAIT_MS)

    def _announced_earliest(self) -> int:
        try:
            return decode_hint(read_file(self._store.io, self._store.paths.earliest_hint)) or 0
        except (FileNotFoundError, CorruptionError):
            return 0  # what is no file, or larger than any hint, says as little as a hint without a number

    def _read_hint(self, path: str) -> int | None:
        try:
            return decode_hint(read_file(self._store.io, path))
        except (OSError, CorruptionError):
            return None  # a hint that cannot be read is no hint

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
