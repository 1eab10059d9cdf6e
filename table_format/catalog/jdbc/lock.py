"""The lock of a table: a row in the database, which the writer that inserts it holds (Java ``JdbcCatalogLock``).

A row that is older than its ``expire_time_seconds``, by the clock of the database, is free: the next writer deletes it.
A writer deletes only its own row, which it recognizes by its time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from table_format.catalog.jdbc.database import Database
from table_format.catalog.jdbc.mysql import is_deadlock
from table_format.errors import AlreadyExistsError, LockTimeout, MetastoreUnavailable
from table_format.runtime import Clock

_FIRST_WAIT_MS: Final = 100
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JdbcLock:
    """The lock with this id; see ``TableLock``. Times are in milliseconds.

    ``timeout_ms`` is the longest wait, and the time after which others may delete the row.
    """

    database: Database
    lock_id: str
    max_sleep_ms: int
    timeout_ms: int

    @contextmanager
    def held(self, clock: Clock) -> Iterator[int]:
        """Hold the lock; see ``TableLock``."""
        acquired_at, end_ms = self._acquire(clock)
        try:
            yield end_ms
        finally:
            self._release(acquired_at)

    def _acquire(self, clock: Clock) -> tuple[str, int]:
        started_ms = clock.monotonic_ms()
        wait_ms = _FIRST_WAIT_MS
        while True:
            asked_ms = clock.monotonic_ms()
            acquired_at = self._try()
            if acquired_at is not None:
                return acquired_at, asked_ms + self._expire_seconds * 1000
            if clock.monotonic_ms() - started_ms > self.timeout_ms:
                message = (
                    f"others held the lock '{self.lock_id}' of {self.database.address} for longer than "
                    f"{self.timeout_ms} ms ('lock-acquire-timeout'); nothing was changed"
                )
                raise LockTimeout(message)
            clock.sleep_ms(min(wait_ms, self.max_sleep_ms))
            wait_ms *= 2

    @property
    def _expire_seconds(self) -> int:
        return self.timeout_ms // 1000

    def _try(self) -> str | None:
        """Insert the row, and return its time; ``None`` if another writer holds the lock."""
        from table_format.catalog.jdbc.lock_rows import delete_expired, insert_lock

        try:
            with self.database.transaction() as connection:
                delete_expired(connection, self.lock_id, self.database.address.kind)
            with self.database.transaction() as connection:
                return insert_lock(connection, self.lock_id, self._expire_seconds)
        except AlreadyExistsError:
            return None
        except MetastoreUnavailable as error:
            # MySQL lets several wait for the row that is being deleted, and then gives up all of them but one.
            if not is_deadlock(error.__cause__):
                raise
            return None

    def _release(self, acquired_at: str) -> None:
        from table_format.catalog.jdbc.lock_rows import delete_lock

        try:
            with self.database.transaction() as connection:
                is_ours = delete_lock(connection, self.lock_id, acquired_at)
        except MetastoreUnavailable as error:
            # What was done under the lock is done.
            _log.warning("the lock '%s' was not released, and ends by itself: %s", self.lock_id, error)
            return
        if not is_ours:
            _log.warning("the lock '%s' ended before its work did: raise 'lock-acquire-timeout'", self.lock_id)
