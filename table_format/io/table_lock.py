"""A lock that a catalog gives to the tables it opens, so that writers of other engines wait for each other.

A commit of this library does not need it: it creates the file of its snapshot only if the file does not exist. Apache
Paimon in Java does need it in an object store, where it looks for the file and then copies over its name.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from table_format.runtime import Clock


class TableLock(Protocol):
    """The lock of one table or one branch. It can be sent to other processes, which connect when they take it."""

    def held(self, clock: Clock) -> AbstractContextManager[int]:
        """Hold the lock. The value is the monotonic time in milliseconds until which nobody else can take it.

        If it cannot be released, this is logged: it ends at that time.

        Raises:
            LockTimeout: others held the lock for too long.
            MetastoreUnavailable: the lock cannot be reached.
        """
        ...
