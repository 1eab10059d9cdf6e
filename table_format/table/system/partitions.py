"""``$partitions`` and ``$buckets``: the totals of the live files (Java ``PartitionsTable``, ``BucketsTable``)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from table_format.io.paths import POSTPONE_BUCKET
from table_format.model.manifest import DELETION_VECTORS, FileKind, ManifestEntry
from table_format.model.types import BooleanType, IntType
from table_format.table.facts import TableFacts
from table_format.table.read.fallback_branch import fallback_facts
from table_format.table.read.time_travel import starting_point
from table_format.table.rows.texts import bracketed
from table_format.table.system.metadata import LONG, NANOS_PER_MILLI, TEXT, TIME, Row, columns

_Key = TypeVar("_Key", bound=Hashable)

COLUMNS: Final = columns(
    partition=TEXT,
    record_count=LONG.not_null(),
    file_size_in_bytes=LONG.not_null(),
    file_count=LONG.not_null(),
    last_update_time=TIME,
    created_at=TIME,
    created_by=TEXT,
    updated_by=TEXT,
    options=TEXT,
    total_buckets=IntType(nullable=False),
    done=BooleanType(nullable=False),
    deleted_record_count=LONG,
)
BUCKET_COLUMNS: Final = columns(
    partition=TEXT,
    bucket=IntType(nullable=False),
    record_count=LONG.not_null(),
    file_size_in_bytes=LONG.not_null(),
    file_count=LONG.not_null(),
    last_update_time=TIME,
)


@dataclass(frozen=True, slots=True)
class FileTotals:
    """The totals of some live files. ``last_creation_ms`` is local wall-clock time, ``None`` if no file has one."""

    record_count: int
    byte_count: int
    file_count: int
    last_creation_ms: int | None
    total_buckets: int


def _totals_of(entries: Sequence[ManifestEntry]) -> FileTotals:
    # As in the reference, no entry cancels another, so a removed file may be the last that was created.
    signed = [(entry.file, 1 if entry.kind is FileKind.ADD else -1) for entry in entries]
    return FileTotals(
        record_count=sum(sign * file.row_count for file, sign in signed),
        byte_count=sum(sign * file.file_size for file, sign in signed),
        file_count=sum(sign for _, sign in signed),
        last_creation_ms=max((f.creation_time for f, _ in signed if f.creation_time is not None), default=None),
        total_buckets=entries[-1].total_buckets,
    )


def partition_totals(facts: TableFacts) -> Mapping[bytes, FileTotals]:
    """Return the totals of each partition with files in the snapshot that a scan would read, without postponed rows.

    Partitions that only the fallback branch has are included.
    """
    other = fallback_facts(facts)
    return {**({} if other is None else _own_totals(other)), **_own_totals(facts)}


def _own_totals(facts: TableFacts) -> Mapping[bytes, FileTotals]:
    real = (entry for entry in _entries(facts) if entry.bucket != POSTPONE_BUCKET)
    return _grouped(real, lambda entry: entry.partition)


def rows(facts: TableFacts) -> Sequence[Row]:
    """The partitions in the order of their texts; an unpartitioned table is one."""
    deleted = _deleted_rows(facts)
    found = [_row(facts, partition, totals, deleted) for partition, totals in partition_totals(facts).items()]
    return sorted(found, key=lambda row: str(row["partition"]))


def bucket_rows(facts: TableFacts) -> Sequence[Row]:
    """The buckets in the order of their partition's text and their number."""
    groups = _grouped(_entries(facts), lambda entry: entry.bucket_id)
    types = facts.partitions.types
    found = [(bracketed(types, partition), bucket, totals) for (partition, bucket), totals in groups.items()]
    return [
        {"partition": text, "bucket": bucket, **_counts(totals)}
        for text, bucket, totals in sorted(found, key=lambda row: row[:2])
    ]


def _row(facts: TableFacts, partition: bytes, totals: FileTotals, deleted: Mapping[bytes, int | None]) -> Row:
    return {
        "partition": bracketed(facts.partitions.types, partition),
        **_counts(totals),
        # Only catalogs that keep a list of partitions have more facts about them.
        "created_at": None,
        "created_by": None,
        "updated_by": None,
        "options": None,
        "total_buckets": totals.total_buckets,
        "done": False,
        "deleted_record_count": deleted.get(partition, 0),
    }


def _counts(totals: FileTotals) -> Row:
    last = totals.last_creation_ms
    return {
        "record_count": totals.record_count,
        "file_size_in_bytes": totals.byte_count,
        "file_count": totals.file_count,
        "last_update_time": None if last is None else last * NANOS_PER_MILLI,
    }


def _entries(facts: TableFacts) -> Iterator[ManifestEntry]:
    snapshot = starting_point(facts).snapshot
    for manifest in () if snapshot is None else facts.manifests.data_manifests(snapshot):
        yield from facts.manifests.read(manifest)


def _grouped(entries: Iterable[ManifestEntry], key_of: Callable[[ManifestEntry], _Key]) -> Mapping[_Key, FileTotals]:
    groups: dict[_Key, list[ManifestEntry]] = {}
    for entry in entries:
        groups.setdefault(key_of(entry), []).append(entry)
    totals = ((key, _totals_of(group)) for key, group in groups.items())
    return {key: found for key, found in totals if found.file_count > 0}


def _deleted_rows(facts: TableFacts) -> Mapping[bytes, int | None]:
    """Return the number of rows that deletion vectors hide, by partition; ``None`` if a file does not state it."""
    snapshot = starting_point(facts).snapshot
    counts: dict[bytes, int | None] = {}
    for entry in () if snapshot is None else facts.manifests.index_entries(snapshot):
        if entry.index_file.index_type != DELETION_VECTORS:
            continue
        for found in entry.index_file.deletion_vector_ranges or ():
            before = counts.get(entry.partition, 0)
            known = before is not None and found.cardinality is not None
            counts[entry.partition] = (before or 0) + (found.cardinality or 0) if known else None
    return counts
