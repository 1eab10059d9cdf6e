"""Which files of a snapshot a scan must read (format chapter 04, section 7; Java ``AbstractFileStoreScan``).

Pruning goes from coarse to fine: manifests by their partition and bucket ranges, entries by what identifies a file
(partition, bucket, level), and, after replay, live files by key statistics and value statistics. Only what identifies a
file may be tested before replay: an ADD and its DELETE must meet the same fate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

import pyarrow as pa

from table_format.kernels.predicate import matches
from table_format.kernels.pruning import may_match
from table_format.kernels.values import array_of
from table_format.lsm.keys import key_ranges
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.manifest.replay import MergedEntries, ReplayError, live_entries, merge_entries
from table_format.metastore.scan.file_bounds import FileBounds, partition_bounds
from table_format.metastore.scan.file_filter import ALL_FILES, FileFilter
from table_format.model.manifest import ManifestEntry, ManifestFileMeta
from table_format.model.predicate import columns_of
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.options.merge import MergeEngine


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
) -> FilePlan:
    """The files of a snapshot that may hold rows a filter selects; nothing is dropped that may match.

    ``schema`` is the one the scan reads with, ``schemas`` has every schema of the table by id.

    Raises:
        CorruptionError: a manifest is missing or broken, or contradicts another.
    """
    if snapshot is None:
        return FilePlan()
    counts: Counter[str] = Counter()
    partitions = PartitionTest(Partitions(schema, manifests.options), filter)
    chosen = _choose_manifests(manifests.data_manifests(snapshot), partitions, filter, counts)
    merged: MergedEntries = {}
    try:
        for manifest in chosen:
            merge_entries(_choose_entries(manifests.read(manifest), partitions, filter, counts), merged)
        entries = live_entries(merged)
    except ReplayError as e:
        raise manifests.contradiction(snapshot, e) from e
    read = counts["entries_read"]
    dropped = sum(number for name, number in counts.items() if name.startswith("entries_dropped"))
    counts["entries_cancelled"] = read - dropped - len(entries)
    engine = manifests.options.merge.engine
    kept = _drop_by_stats(entries, filter, counts, schema=schema, schemas=schemas, engine=engine)
    counts["files"] = len(kept)
    return FilePlan(tuple(kept), PlanCounts(**counts))


class PartitionTest:
    """The partition conditions of a filter; each distinct partition is decoded and tested once."""

    def __init__(self, partitions: Partitions, filter: FileFilter) -> None:
        self._partitions = partitions
        self._filter = filter
        self._accepted: set[bytes] = set()
        self._refused: set[bytes] = set()
        self.is_needed = filter.partitions is not None or filter.partition_predicate is not None

    def accepted(self, found: Iterable[bytes]) -> set[bytes]:
        """The partitions accepted so far, these included."""
        fresh = set(found) - self._accepted - self._refused
        passed = self._test(sorted(fresh)) if fresh else set()
        self._accepted |= passed
        self._refused |= fresh - passed
        return self._accepted

    def may_hold(self, manifest: ManifestFileMeta) -> bool:
        """Whether the manifest's partition range admits an accepted partition."""
        fields = self._partitions.fields
        if not fields:
            return True
        if self._filter.partitions is not None and not may_hold_partitions(
            self._partitions, manifest, self._filter.partitions
        ):
            return False
        predicate = self._filter.partition_predicate
        return predicate is None or may_match(predicate, partition_bounds(fields, manifest))

    def _test(self, fresh: Sequence[bytes]) -> set[bytes]:
        wanted = self._filter.partitions
        candidates = [p for p in fresh if wanted is None or p in wanted]
        predicate = self._filter.partition_predicate
        fields = self._partitions.fields
        if predicate is None or not candidates or not fields:
            return set(candidates)
        columns = zip(*(self._partitions.values(p) for p in candidates), strict=True)
        arrays = [array_of(column, f.type) for column, f in zip(columns, fields, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, names=[f.name for f in fields])
        passed = matches(predicate, batch, fields).to_pylist()
        return {p for p, is_match in zip(candidates, passed, strict=True) if is_match}


def may_hold_partitions(partitions: Partitions, manifest: ManifestFileMeta, wanted: Iterable[bytes]) -> bool:
    """Whether a manifest's partition range admits one of some partitions."""
    bounds = partition_bounds(partitions.fields, manifest)
    columns = [bounds[f.name] for f in partitions.fields]
    for partition in wanted:
        for value, column in zip(partitions.values(partition), columns, strict=True):
            if value is None:
                if column.null_count == 0:
                    break
            elif column.minimum is None or column.maximum is None:
                if column.null_count == column.row_count:
                    break
            elif value == value and not column.minimum <= value <= column.maximum:  # type: ignore[operator]  # values of one column
                break
        else:
            return True
    return False


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


def _drop_by_stats(
    entries: Sequence[ManifestEntry],
    wanted: FileFilter,
    counts: Counter[str],
    *,
    schema: TableSchema,
    schemas: Mapping[int, TableSchema],
    engine: MergeEngine,
) -> Sequence[ManifestEntry]:
    if wanted.key_hashes is not None:
        entries = _keep(
            entries, lambda e: wanted.admits_bucket(e.bucket, e.total_buckets), "files_dropped_by_bucket", counts
        )
    keys, values = wanted.key_predicate, wanted.value_predicate
    if keys is not None:
        key_bounds = FileBounds(schema, schemas, columns_of(keys))
        entries = _keep(
            entries, lambda e: may_match(keys, key_bounds.of_keys(e.file)), "files_dropped_by_key_stats", counts
        )
    if values is not None:
        value_bounds = FileBounds(schema, schemas, columns_of(values))

        def test(entry: ManifestEntry) -> bool:
            return may_match(values, value_bounds.of_values(entry.file))

        before = len(entries)
        if schema.is_primary_key_table:
            entries = _drop_by_bucket(entries, test, schema, engine, is_merged=wanted.is_merged)
        else:
            entries = [entry for entry in entries if test(entry)]
        counts["files_dropped_by_value_stats"] = before - len(entries)
    return entries


def _drop_by_bucket(
    entries: Sequence[ManifestEntry],
    test: Callable[[ManifestEntry], bool],
    schema: TableSchema,
    engine: MergeEngine,
    *,
    is_merged: bool,
) -> list[ManifestEntry]:
    """Value statistics of files whose keys overlap decide for the bucket as a whole, or not at all.

    To drop one of two files that hold a key would bring back what the other holds of it; and a merge that computes
    values makes some that no file has.
    """
    range_of = key_ranges(schema)
    keep: set[int] = set()
    numbered = sorted(enumerate(entries), key=lambda item: (item[1].partition, item[1].bucket))
    for _, group in groupby(numbered, key=lambda item: (item[1].partition, item[1].bucket)):
        members = list(group)
        ranges = sorted(range_of(entry.file) for _, entry in members)
        # A retract row takes back what another file holds, so it has to be merged.
        apart = is_merged and all(entry.file.delete_row_count == 0 for _, entry in members)
        if apart or all(left[1] < right[0] for left, right in pairwise(ranges)):
            keep.update(i for i, entry in members if test(entry))
        elif engine not in (MergeEngine.DEDUPLICATE, MergeEngine.FIRST_ROW) or any(test(e) for _, e in members):
            keep.update(i for i, _ in members)
    return [entry for i, entry in enumerate(entries) if i in keep]


def by_bucket(entries: Iterable[ManifestEntry]) -> dict[tuple[bytes, int], list[ManifestEntry]]:
    """Entries grouped by partition and bucket, each group in the order of the entries.

    >>> by_bucket(())
    {}
    """
    groups: dict[tuple[bytes, int], list[ManifestEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.partition, entry.bucket), []).append(entry)
    return groups


def changed_files(
    manifests: ManifestStore,
    changed: Sequence[ManifestFileMeta],
    *,
    schema: TableSchema,
    filter: FileFilter = ALL_FILES,
) -> FilePlan:
    """The entries of some manifests, additions and removals as they stand, pruned by what identifies a file.

    For lists of changes (deltas, changelogs), where no entry cancels another.

    Raises:
        CorruptionError: a manifest is missing or broken.
    """
    counts: Counter[str] = Counter()
    partitions = PartitionTest(Partitions(schema, manifests.options), filter)
    chosen = _choose_manifests(changed, partitions, filter, counts)
    entries = [e for manifest in chosen for e in _choose_entries(manifests.read(manifest), partitions, filter, counts)]
    kept = _keep(entries, lambda e: filter.admits_bucket(e.bucket, e.total_buckets), "files_dropped_by_bucket", counts)
    counts["files"] = len(kept)
    return FilePlan(tuple(kept), PlanCounts(**counts))
