"""What a commit changes in each partition, for the server of a catalog (Java ``PartitionEntry``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from table_format.io.table_server import PartitionChange
from table_format.metastore.manifest.partitions import Partitions
from table_format.model.local_time import epoch_ms
from table_format.model.manifest import FileKind, ManifestEntry


def partition_changes(partitions: Partitions, entries: Iterable[ManifestEntry]) -> Sequence[PartitionChange]:
    """Return the sums of the added files of each partition minus those of the removed files."""
    found: dict[bytes, PartitionChange] = {}
    for entry in entries:
        change = _change(partitions, entry)
        before = found.get(entry.partition)
        found[entry.partition] = change if before is None else _sum(before, change)
    return tuple(found.values())


def _change(partitions: Partitions, entry: ManifestEntry) -> PartitionChange:
    file, sign = entry.file, 1 if entry.kind is FileKind.ADD else -1
    return PartitionChange(
        values=partitions.spec_texts(entry.partition),
        row_count=sign * file.row_count,
        bytes=sign * file.file_size,
        file_count=sign,
        last_creation_ms=0 if file.creation_time is None else epoch_ms(file.creation_time),
        total_buckets=entry.total_buckets,
    )


def _sum(before: PartitionChange, change: PartitionChange) -> PartitionChange:
    return replace(
        change,
        row_count=before.row_count + change.row_count,
        bytes=before.bytes + change.bytes,
        file_count=before.file_count + change.file_count,
        last_creation_ms=max(before.last_creation_ms, change.last_creation_ms),
    )
