"""After a commit: bring the list of partitions that the catalog keeps up to date (Java ``AddPartitionCommitCallback``).

The snapshot is published before. If the list cannot be reached, it lacks partitions until they are written again, or
until the table is repaired.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Set

from table_format.errors import MetastoreUnavailable
from table_format.metastore.commit.commit_job import CommitContext
from table_format.model.manifest import FileKind
from table_format.model.snapshot import CommitKind, Snapshot

_log = logging.getLogger(__name__)


def list_partitions(context: CommitContext, snapshot: Snapshot) -> None:
    """List the partitions to which a snapshot adds files, if the catalog keeps a list."""
    listed = context.store.partitions
    if listed is not None and snapshot.commit_kind in (CommitKind.APPEND, CommitKind.OVERWRITE):
        _apply(listed.add, _texts(context, _with_entries(context, snapshot, FileKind.ADD)), snapshot)


def remove_partitions(context: CommitContext, snapshot: Snapshot) -> None:
    """Remove the partitions that a snapshot empties from the list.

    The snapshot replaces all files of each partition that it changes.
    """
    listed = context.store.partitions
    if listed is not None:
        emptied = _with_entries(context, snapshot, FileKind.DELETE) - _with_entries(context, snapshot, FileKind.ADD)
        _apply(listed.remove, _texts(context, emptied), snapshot)


def _with_entries(context: CommitContext, snapshot: Snapshot, kind: FileKind) -> Set[bytes]:
    return {entry.partition for entry in context.manifests.delta_entries(snapshot) if entry.kind is kind}


def _texts(context: CommitContext, keys: Set[bytes]) -> Sequence[str]:
    return sorted(context.partitions.text(key).strip("/") for key in keys)


def _apply(change: Callable[[Sequence[str]], None], partitions: Sequence[str], snapshot: Snapshot) -> None:
    if not partitions:
        return
    try:
        change(partitions)
    except MetastoreUnavailable as error:
        _log.warning(
            "snapshot %d is committed, but the partitions %s are not up to date in the catalog; repair the table: %s",
            snapshot.id,
            ", ".join(partitions),
            error,
        )
