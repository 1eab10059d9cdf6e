"""Publishes a snapshot through the server of a catalog, with a known outcome (Java ``CatalogSnapshotCommit``).

The server lets exactly one snapshot follow the latest one, but its answer may be lost, or it may fail after it has
published. The snapshot that has the id then shows who won, by the names of its files, which are never used twice. A
request may be repeated: the server refuses it once the id is taken.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Final

from table_format.errors import TableFormatError
from table_format.io.table_server import PartitionChange, TableServer
from table_format.metastore.commit.commit_job import CommitContext
from table_format.metastore.publish import Put, PutOutcome
from table_format.model.snapshot import Snapshot

_TRIES: Final = 6
_FIRST_WAIT_MS: Final = 20


def commit_to_server(
    c: CommitContext, server: TableServer, snapshot: Snapshot, changes: Sequence[PartitionChange], *, give_up_ms: int
) -> Put:
    """Ask the server to publish a snapshot until the monotonic time ``give_up_ms``, and determine the outcome.

    Raises:
        TableFormatError: the server refused, and no request took effect or still can.
    """
    error: OSError | None = None
    for attempt in range(_TRIES):
        is_refused = False
        try:
            if server.commit(c.store.paths.branch, snapshot, changes, give_up_ms=give_up_ms):
                return Put(PutOutcome.OURS)
            is_refused = True
        except OSError as e:
            error = e
        except TableFormatError as e:
            if error is None:
                raise
            # An earlier request without an answer may have taken effect, or may still.
            error = OSError(errno.EIO, str(e))
        outcome = _look(c, snapshot)
        if outcome is not None:
            return Put(outcome, error)
        if is_refused and error is None:
            return Put(PutOutcome.OTHERS)
        clock = c.store.runtime.clock
        wait_ms = _FIRST_WAIT_MS << attempt
        if attempt + 1 == _TRIES or clock.monotonic_ms() + wait_ms >= give_up_ms:
            break
        clock.sleep_ms(wait_ms)
    return Put(PutOutcome.UNKNOWN, error)


def _look(c: CommitContext, snapshot: Snapshot) -> PutOutcome | None:
    """Return whose snapshot has the id; ``None`` if none has it, or if that is not known."""
    try:
        latest = c.snapshots.latest()
        if latest is None or latest.id < snapshot.id:
            return None
        found = latest if latest.id == snapshot.id else c.snapshots.find(snapshot.id)
    except (OSError, TableFormatError):
        return None
    if found is None:
        return None  # it has expired
    return PutOutcome.OURS if found.is_same(snapshot) else PutOutcome.OTHERS
