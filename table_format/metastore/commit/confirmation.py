"""Confirms that a published snapshot is part of the history, and writes the hints.

A snapshot that is not part of the history is removed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from table_format.codecs.publishable import snapshot_bytes
from table_format.errors import CorruptionError, TableNotFound, TableReplaced
from table_format.io.regular_files import read_file
from table_format.metastore.commit.commit_job import CommitContext
from table_format.metastore.commit.history_link import Link, verify_link
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot

_LOOKS: Final = 6
_LOOK_WAIT_MS: Final = 50


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Whether a snapshot is part of the history; ``error`` is the store error if this is not known."""

    link: Link
    error: OSError | CorruptionError | None = None


def confirm(c: CommitContext, snapshot: Snapshot, base: Snapshot | None) -> Confirmation:
    """Check whether a new snapshot, built on ``base``, is part of the history, and remove it if it is not.

    Raises:
        TableNotFound, TableReplaced: the table was dropped or created again in the meantime; nothing was committed.
    """
    error: OSError | CorruptionError | None = None
    for attempt in range(_LOOKS):
        try:
            _require_same_table(c, snapshot)
            link = verify_link(snapshot, c.snapshots, c.manifests, base)
            if link in (Link.ROLLED_BACK, Link.UNKNOWN):
                _require_same_table(c, snapshot)  # it may have been dropped since the first comparison
            if link is Link.FALSE:
                # Other writers have continued from an earlier snapshot with this id, or have replaced the base.
                _remove(c, snapshot)
        except (OSError, CorruptionError) as e:
            error = e
            c.store.runtime.clock.sleep_ms(_LOOK_WAIT_MS << attempt)
            continue
        return Confirmation(link, error)
    return Confirmation(Link.UNKNOWN, error)


def write_hints(c: CommitContext, snapshot: Snapshot) -> None:
    """Write the hints for a published snapshot. If that fails, the next reader needs a listing."""
    hints = c.snapshots.hints
    with suppress(OSError):
        hints.write_latest(snapshot.id)
    if snapshot.id == FIRST_SNAPSHOT_ID:
        with suppress(OSError):
            hints.create_earliest(snapshot.id)


def _require_same_table(c: CommitContext, snapshot: Snapshot) -> None:
    """Remove the snapshot if the table was dropped, or created again, during the publication.

    If the other table has a snapshot with this id, that snapshot is kept.

    Raises:
        TableNotFound, TableReplaced: the snapshot is not visible.
        OSError: the store failed.
    """
    try:
        require_same_table(c.store)
    except (TableNotFound, TableReplaced):
        _remove(c, snapshot)
        raise


def _remove(c: CommitContext, snapshot: Snapshot) -> None:
    """Delete the file of a snapshot, unless it has become that of another one. Raises ``OSError``."""
    path = c.store.paths.snapshot(snapshot.id)
    with suppress(FileNotFoundError):
        if read_file(c.store.io, path) == snapshot_bytes(snapshot, path=path):
            c.snapshots.delete(snapshot.id)
