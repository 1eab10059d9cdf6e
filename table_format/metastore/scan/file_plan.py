"""Which files of a snapshot a scan must read (format chapter 04, section 7; Java ``AbstractFileStoreScan``).

Pruning goes from coarse to fine: manifests by their partition and bucket ranges, entries by what identifies a file
(partition, bucket, level), and, after replay, live files by the bucket of their keys and by statistics. Only what
identifies a file may be tested before replay: an ADD and its DELETE must meet the same fate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from table_format.lsm.keys import KeyRangeOf, key_ranges
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.manifest.replay import MergedEntries, ReplayError, live_entries, merge_entries
from table_format.metastore.scan.file_filter import ALL_FILES, FileFilter
from table_format.metastore.scan.partition_test import PartitionTest
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import ManifestEntry, ManifestFileMeta
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.pruning.pruning import Pruning


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCounts:
    """What each stage met and dropped: manifests, then entries, then live files."""

    manifests: int = 0
    manifests_dropped: int = 0
    entries_read: int = 0
    entries_dropped_by_partition: int = 0
    entries_dropped_by_bucket: int = 0
    entries_dropped_by_level: int = 0
    entries_cancelled: int = 0
    files_dropped_by_bucket: int = 0
    files_dropped_by_key_stats: int = 0
    files_dropped_by_value_stats: int = 0
    files_dropped_by_index: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The live files to read, in replay order, all of kind ADD."""

    entries: tuple[ManifestEntry, ...] = ()
    counts: PlanCounts = field(default_factory=PlanCounts)


def live_files(
    manifests: ManifestStore,
    snapshot: Snapshot | None,
    *,
    schema: TableSchema,
    schemas: Mapping[int, TableSchema],
    filter: FileFilter = ALL_FILES,
    pruning: Pruning | None = None,
) -> FilePlan:
    """The wanted files of a snapshot that may hold rows a filter over rows selects; none is dropped that may.

    ``schema`` is the one the scan reads with, ``schemas`` has every schema of the table by id.

    Raises:
        CorruptionError: a manifest is missing or broken, or contradicts another.
    """
    if snapshot is None:
        return FilePlan()
    counts: Counter[str] = Counter()
    wanted = filter if pruning is None else filter.in_partitions(pruning.partition_condition)
    partitions = PartitionTest(Partitions(schema, manifests.options), wanted)
    chosen = _choose_manifests(manifests.data_manifests(snapshot), partitions, wanted, counts)
    merged: MergedEntries = {}
    try:
        for manifest in chosen:
            merge_entries(_choose_entries(manifests.read(manifest), partitions, wanted, counts), merged)
        entries: Sequence[ManifestEntry] = live_entries(merged)
    except ReplayError as e:
        raise manifests.contradiction(snapshot, e) from e
    read = counts["entries_read"]
    dropped = sum(number for name, number in counts.items() if name.startswith("entries_dropped"))
    counts["entries_cancelled"] = read - dropped - len(entries)
    if pruning is not None:
        entries = _keep_admitted(entries, pruning, counts)
        entries = _drop_by_statistics(entries, pruning, counts, schemas)
    counts["files"] = len(entries)
    return FilePlan(tuple(entries), PlanCounts(**counts))


def changed_files(
    manifests: ManifestStore,
    changed: Sequence[ManifestFileMeta],
    *,
    pruning: Pruning,
) -> FilePlan:
    """The entries of some manifests, additions and removals as they stand, pruned by what identifies a file.

    For lists of changes (deltas, changelogs), where no entry cancels another.

    Raises:
        CorruptionError: a manifest is missing or broken.
    """
    counts: Counter[str] = Counter()
    wanted = ALL_FILES.in_partitions(pruning.partition_condition)
    partitions = PartitionTest(Partitions(pruning.schema, manifests.options), wanted)
    chosen = _choose_manifests(changed, partitions, wanted, counts)
    entries = [e for manifest in chosen for e in _choose_entries(manifests.read(manifest), partitions, wanted, counts)]
    kept = _keep_admitted(entries, pruning, counts)
    counts["files"] = len(kept)
    return FilePlan(tuple(kept), PlanCounts(**counts))


def _choose_manifests(
    manifests: Sequence[ManifestFileMeta],
    partitions: PartitionTest,
    wanted: FileFilter,
    counts: Counter[str],
) -> list[ManifestFileMeta]:
    chosen = [
        m
        for m in manifests
        if _meets(wanted.buckets, m.min_bucket, m.max_bucket)
        and _meets(wanted.levels, m.min_level, m.max_level)
        and (m.max_level is None or m.max_level >= wanted.min_level)
        and (not partitions.is_needed or partitions.may_hold(m))
    ]
    counts["manifests"] = len(manifests)
    counts["manifests_dropped"] = len(manifests) - len(chosen)
    return chosen


def _meets(wanted: frozenset[int] | None, low: int | None, high: int | None) -> bool:
    return wanted is None or low is None or high is None or any(low <= number <= high for number in wanted)


def _choose_entries(
    entries: Sequence[ManifestEntry],
    partitions: PartitionTest,
    wanted: FileFilter,
    counts: Counter[str],
) -> Sequence[ManifestEntry]:
    counts["entries_read"] += len(entries)
    if partitions.is_needed:
        accepted = partitions.accepted(entry.partition for entry in entries)
        entries = _keep(entries, lambda e: e.partition in accepted, "entries_dropped_by_partition", counts)
    if wanted.buckets is not None:
        buckets = wanted.buckets
        entries = _keep(entries, lambda e: e.bucket in buckets, "entries_dropped_by_bucket", counts)
    if wanted.levels is not None or wanted.min_level > 0:
        levels, lowest = wanted.levels, wanted.min_level

        def has_level(entry: ManifestEntry) -> bool:
            return entry.file.level >= lowest and (levels is None or entry.file.level in levels)

        entries = _keep(entries, has_level, "entries_dropped_by_level", counts)
    return entries


def _keep(
    entries: Sequence[ManifestEntry], test: Callable[[ManifestEntry], bool], name: str, counts: Counter[str]
) -> Sequence[ManifestEntry]:
    kept = [entry for entry in entries if test(entry)]
    counts[name] += len(entries) - len(kept)
    return kept


def _keep_admitted(entries: Sequence[ManifestEntry], pruning: Pruning, counts: Counter[str]) -> Sequence[ManifestEntry]:
    def test(entry: ManifestEntry) -> bool:
        return pruning.admits_bucket(entry.bucket, entry.total_buckets)

    return _keep(entries, test, "files_dropped_by_bucket", counts)


def _drop_by_statistics(
    entries: Sequence[ManifestEntry], pruning: Pruning, counts: Counter[str], schemas: Mapping[int, TableSchema]
) -> Sequence[ManifestEntry]:
    by_keys = pruning.key_statistics_test(schemas)
    if by_keys is not None:
        entries = _keep(entries, lambda e: by_keys(e.file), "files_dropped_by_key_stats", counts)
    by_values = pruning.value_statistics_test(schemas)
    if by_values is not None:
        range_of = key_ranges(pruning.schema)
        kept: set[int] = set()
        for group in by_bucket(entries).values():
            files = [entry.file for entry in group]
            merged = pruning.merges(files) and _overlap(files, range_of)
            kept.update(map(id, pruning.kept_files(files, by_values, merged=merged)))
        entries = _keep(entries, lambda e: id(e.file) in kept, "files_dropped_by_value_stats", counts)
    return entries


def _overlap(files: Sequence[DataFileMeta], range_of: KeyRangeOf) -> bool:
    return any(left[1] >= right[0] for left, right in pairwise(sorted(map(range_of, files))))


def by_bucket(entries: Iterable[ManifestEntry]) -> dict[BucketId, list[ManifestEntry]]:
    """Entries grouped by partition and bucket, each group in the order of the entries.

    >>> by_bucket(())
    {}
    """
    # A plain tuple for each entry and a named one for each bucket: there may be many entries.
    groups: dict[tuple[bytes, int], list[ManifestEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.partition, entry.bucket), []).append(entry)
    return {BucketId(*key): group for key, group in groups.items()}
