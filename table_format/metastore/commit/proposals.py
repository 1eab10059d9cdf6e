"""Proposes the changes of an overwrite, a rewrite or a rescale, which depend on the latest snapshot.

Each function is called again if another writer was faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from table_format.errors import FileConflict
from table_format.metastore.commit.commit_job import CommitContext, Proposal
from table_format.metastore.manifest.index_entries import removals
from table_format.metastore.manifest.manifest_changes import FileChanges
from table_format.metastore.manifest.partitions import PartitionChoice, PartitionSpec, select_partitions
from table_format.metastore.references.snapshot_files import file_key
from table_format.model.manifest import FileIdentifier, FileKind, ManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.options.bucket_mode import Postponed


def propose_overwrite(
    c: CommitContext,
    latest: Snapshot | None,
    new: FileChanges,
    target: frozenset[bytes] | tuple[PartitionSpec, ...] | PartitionChoice,
) -> Proposal:
    """Return changes that remove all live files of the target, and then add the new files."""
    if latest is None:
        return Proposal(new, ())
    index = c.manifests.index_entries(latest)
    if isinstance(target, tuple):
        everything = c.live.matching(latest, c.partitions.predicate(target)) | {entry.partition for entry in index}
        target = frozenset(filter(c.partitions.test(target), everything))
    elif not isinstance(target, frozenset):
        target = select_partitions(target, c.live.matching(latest, None) | {entry.partition for entry in index})
    return _replacement(c, latest, new, target, is_replaced=lambda entry: _is_in_table(c, entry))


def propose_rewrite(
    c: CommitContext,
    latest: Snapshot | None,
    new: FileChanges,
    partitions: frozenset[bytes],
    *,
    base: Snapshot,
    before: frozenset[FileIdentifier | str],
) -> Proposal:
    """Return changes that remove all files in the buckets of partitions, and then add the new files.

    Raises:
        FileConflict: the files of the partitions are not those ``before``, at the snapshot ``base``.
    """
    if latest is None or bucket_contents(c, latest, partitions) != before:
        shown = ", ".join(sorted(c.partitions.shown(p) for p in partitions)[:3])
        message = (
            f"Another commit changed the files to rewrite ({shown}) after snapshot {base.id}; nothing was "
            "rewritten. Start again, preferably when nobody writes there"
        )
        raise FileConflict(message)
    return _replacement(c, latest, new, partitions, is_replaced=lambda entry: entry.bucket >= 0)


def propose_rescale(c: CommitContext, latest: Snapshot | None, changes: FileChanges) -> Proposal:
    """Return the changes of a compaction that moves rows to other buckets.

    Raises:
        FileConflict: another commit added a file to one of the partitions.
    """
    base = () if latest is None else c.live.files(latest, changes.partitions)
    removed = {file_key(entry) for entry in changes.entries if entry.kind is FileKind.DELETE}
    for entry in base:
        if file_key(entry) not in removed:
            where = c.partitions.shown(entry.partition)
            message = (
                f"another commit added '{entry.file.file_name}' to {where}, whose rows were to change their buckets. "
                "Nothing was committed; read again and redo the work"
            )
            raise FileConflict(message)
    return Proposal(changes, base)


def bucket_contents(
    c: CommitContext, snapshot: Snapshot, partitions: frozenset[bytes]
) -> frozenset[FileIdentifier | str]:
    """Return the files in the buckets of partitions: data files, and index files by name."""
    files = {e.identifier for e in c.live.files(snapshot, partitions) if e.bucket >= 0}
    index = c.manifests.index_entries(snapshot)
    return frozenset(files) | {e.index_file.file_name for e in index if e.partition in partitions}


def _replacement(
    c: CommitContext,
    latest: Snapshot,
    new: FileChanges,
    target: frozenset[bytes],
    *,
    is_replaced: Callable[[ManifestEntry], bool],
) -> Proposal:
    index = c.manifests.index_entries(latest)
    base = c.live.files(latest, target | new.partitions)
    removed = (e for e in base if e.partition in target and is_replaced(e))
    deletions = tuple(replace(e, kind=FileKind.DELETE) for e in removed)
    return Proposal(new.after_removal(deletions, removals(index, target)), base)


def _is_in_table(c: CommitContext, entry: ManifestEntry) -> bool:
    # Postponed files are not part of the state, unless the table has only postponed files.
    return entry.bucket >= 0 or isinstance(c.bucket_mode, Postponed)
