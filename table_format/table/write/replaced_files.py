"""Distinguishes missing files that others have replaced, which is a conflict, from damage.

Long-running work uses the files of one snapshot. Another commit may replace them, and expiry may delete them (format
chapter 10, section 9). If the newest snapshot still names a missing file, it is damage.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from table_format.errors import BucketLost, FileConflict, MissingFile, SnapshotNotFound
from table_format.metastore.scan.file_filter import ALL_FILES, FileFilter
from table_format.model.snapshot import Snapshot
from table_format.table.facts import TableFacts


@contextmanager
def conflict_if_replaced(facts: TableFacts, partition: bytes, bucket: int | None = None) -> Iterator[None]:
    """Raise a conflict if a missing file of a partition was replaced by others.

    Raises:
        BucketLost: the block met a file that others replaced, and the work is that of ``bucket``.
        FileConflict: likewise, without ``bucket``.
        MissingFile: the newest snapshot names the file that the block did not find.
        TableNotFound, TableReplaced: the table was dropped.
    """
    try:
        with facts.explaining_drop():
            yield
    except MissingFile as error:
        if not is_replaced(facts, partition, error.path):
            raise
        message = f"another commit replaced {error.path}, and the file has expired during the work; start again"
        if bucket is None:
            raise FileConflict(message) from error
        raise BucketLost(partition, bucket, message) from error


def is_replaced(facts: TableFacts, partition: bytes | None, path: str) -> bool:
    """Whether the newest snapshot no longer needs an earlier data, index or metadata file of a partition, or of any."""
    paths = facts.store.paths
    if path.startswith(f"{paths.schema_directory}/"):
        return False  # schemas are never deleted
    name = path.rpartition("/")[2]
    latest = facts.snapshots.latest()
    while latest is not None:
        try:
            return name not in _names(facts, latest, partition)
        except (MissingFile, SnapshotNotFound):
            # It may have been expired during the check; otherwise more files are damaged.
            newer = facts.snapshots.latest()
            if newer is None or newer.id == latest.id:
                return False
            latest = newer
    return False


def _names(facts: TableFacts, snapshot: Snapshot, partition: bytes | None) -> set[str]:
    wanted = ALL_FILES if partition is None else FileFilter(partitions=frozenset((partition,)))
    plan = facts.live_files(snapshot, wanted)
    index = facts.manifests.index_entries(snapshot)
    data = {name for entry in plan.entries for name in (entry.file.file_name, *entry.file.extra_files)}
    return data | {entry.index_file.file_name for entry in index}
