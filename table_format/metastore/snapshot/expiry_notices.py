"""Expiry notices: files next to the snapshots whose names announce that snapshots are being deleted.

Expiry deletes data before the snapshot itself, so a snapshot may exist for a while without its files. The notice tells
this to other processes. Its content has no meaning, so a damaged byte changes nothing. Each expiry has its own notice.
Every method raises ``OSError`` if the store fails.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from table_format.io.paths import expiry_end_of, snapshot_id_of
from table_format.io.table_store import TableStore


@dataclass(frozen=True, slots=True)
class ExpiryNotice:
    """An expiry was or is deleting the snapshots before ``end``; ``made_ms`` is the epoch time of the notice."""

    path: str
    end: int
    made_ms: int


@dataclass(frozen=True, slots=True)
class ExpiryNotices:
    """The notices of one branch."""

    store: TableStore

    def all(self) -> tuple[ExpiryNotice, ...]:
        """Return the notices that have not been withdrawn.

        A notice beyond the latest snapshot is ignored, because no expiry deletes the latest snapshot.
        """
        directory = self.store.paths.snapshot_directory
        children = self.store.io.list(directory)
        highest = max((snapshot_id_of(child.name) or 0 for child in children), default=0)
        ends = ((child, expiry_end_of(child.name)) for child in children)
        found = (ExpiryNotice(f"{directory}/{c.name}", end, c.modified_ms) for c, end in ends if end is not None)
        return tuple(sorted((notice for notice in found if notice.end <= highest), key=lambda notice: notice.end))

    def announce(self, end: int) -> str:
        """Announce that the snapshots before ``end`` are being deleted. Return the path of the notice."""
        path = self.store.paths.expiry_notice(end, self.store.runtime.ids.uuid())
        with suppress(FileExistsError):  # our own request, whose answer was lost before
            self.store.io.create(path, b"")
        return path

    def withdraw_up_to(self, snapshot_id: int) -> None:
        """Withdraw the notices of expiries whose snapshots, all below this one, have been deleted."""
        self._withdraw(lambda end: end <= snapshot_id)

    def withdraw_after(self, snapshot_id: int) -> None:
        """Withdraw the notices of snapshots whose ids are reused."""
        self._withdraw(lambda end: end > snapshot_id)

    def _withdraw(self, is_void: Callable[[int], bool]) -> None:
        directory = self.store.paths.snapshot_directory
        for child in self.store.io.list(directory):
            end = expiry_end_of(child.name)
            if end is not None and is_void(end):
                self.store.io.delete(f"{directory}/{child.name}")
