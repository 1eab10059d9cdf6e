"""The lock of a table: an exclusive lock of the Hive metastore (Java ``HiveCatalogLock``).

The metastore keeps a queue for each table. It deletes a lock of which it has not heard for ``hive.txn.timeout``.
"""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from table_format.catalog.hive.metastore import Metastore, thrift, user_name
from table_format.errors import LockTimeout, MetastoreUnavailable
from table_format.runtime import Clock

_FIRST_WAIT_MS: Final = 100
_TIMEOUT: Final = "hive.txn.timeout"
_DEFAULT_TIMEOUT: Final = "300s"
_UNITS_MS: Final = {"ms": 1, "msec": 1, "s": 1_000, "sec": 1_000, "": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HiveLock:
    """The lock of a table; see ``TableLock``. ``timeout_ms`` is the longest wait for it. Times are in milliseconds."""

    metastore: Metastore
    max_sleep_ms: int
    timeout_ms: int
    database: str = ""
    table: str = ""

    def of(self, database: str, table: str) -> HiveLock:
        """Return the lock of a table. As in Java, the name of a branch is part of that of the table."""
        return replace(self, database=database, table=table)

    @contextmanager
    def held(self, clock: Clock) -> Iterator[int]:
        """Hold the lock; see ``TableLock``."""
        lock_id, end_ms = self._acquire(clock)
        try:
            yield end_ms
        finally:
            if clock.monotonic_ms() >= end_ms:
                name = f"{self.database}.{self.table}"
                _log.warning("the lock of '%s' may have ended before its work did: raise '%s' of Hive", name, _TIMEOUT)
            self._release(lock_id)

    def _acquire(self, clock: Clock) -> tuple[int, int]:
        lasts_ms = milliseconds(self.metastore.read("get_config_value", _TIMEOUT, _DEFAULT_TIMEOUT))
        api, started_ms = thrift(), clock.monotonic_ms()
        component = api.LockComponent(
            type=api.LockType.EXCLUSIVE, level=api.LockLevel.TABLE, dbname=self.database, tablename=self.table
        )
        request = api.LockRequest(component=[component], user=user_name(), hostname=socket.gethostname())
        heard_ms = started_ms
        answer = self.metastore.change("lock", request)
        try:
            wait_ms = _FIRST_WAIT_MS
            while answer.state != api.LockState.ACQUIRED:
                self._require_time(started_ms, clock)
                clock.sleep_ms(min(wait_ms, self.max_sleep_ms))
                wait_ms *= 2
                heard_ms = clock.monotonic_ms()
                answer = self.metastore.read("check_lock", api.CheckLockRequest(answer.lockid))
        except BaseException:
            self._release(answer.lockid)
            raise
        return answer.lockid, heard_ms + lasts_ms

    def _require_time(self, started_ms: int, clock: Clock) -> None:
        if clock.monotonic_ms() - started_ms <= self.timeout_ms:
            return
        message = (
            f"others held the lock of '{self.database}.{self.table}' in the Hive metastore, {self.metastore}, for "
            f"longer than {self.timeout_ms} ms ('lock-acquire-timeout'); nothing was changed"
        )
        raise LockTimeout(message)

    def _release(self, lock_id: int) -> None:
        try:
            self.metastore.change("unlock", thrift().UnlockRequest(lock_id))
        except MetastoreUnavailable as error:
            # What was done under the lock is done.
            _log.warning(
                "the lock of '%s.%s' was not released, and ends by itself: %s", self.database, self.table, error
            )


def milliseconds(setting: str) -> int:
    """Return a duration of the settings of Hive; without a unit, it is in seconds.

    >>> milliseconds("300s"), milliseconds("5m"), milliseconds("60")
    (300000, 300000, 60000)

    Raises:
        MetastoreUnavailable: the text is not a duration.
    """
    found = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", setting.lower())
    if found is None or found[2] not in _UNITS_MS:
        message = f"the Hive metastore: '{_TIMEOUT}' is {setting!r}, which is no duration"
        raise MetastoreUnavailable(message)
    return int(found[1]) * _UNITS_MS[found[2]]
