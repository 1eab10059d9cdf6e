"""Finds the files of a snapshot that a scan must read (format chapter 04, section 7; Java ``AbstractFileStoreScan``).

Pruning goes from coarse to fine: manifests by their partition and bucket ranges, entries by partition, bucket and
level, and, after replay, live files by the bucket of their keys and by statistics. Before replay, only properties that
identify a file may be tested, so that an ADD and its DELETE have the same result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from table_format.codecs.manifest_columns import ManifestColumns
from table_format.io.threads import MOST_THREADS, side_by_side
from table_format.lsm.keys import KeyRangeOf, key_ranges
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.manifest.replay import ReplayError
from table_format.metastore.manifest.replay_columns import ChosenEntries, live_rows
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
    """The numbers of manifests, entries and live files that each stage checked and dropped."""

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
    """Return the files of a snapshot that may contain selected rows.

    ``schema`` is the read schema; ``schemas`` contains every schema of the table by id.

    Raises:
        CorruptionError: a manifest is missing or broken, or contradicts another.
    """
    if snapshot is None:
        return FilePlan()
    counts: Counter[str] = Counter()
    wanted = filter if pruning is None else filter.in_partitions(pruning.partition_condition)
    partitions = PartitionTest(Partitions(schema, manifests.options), wanted)
    chosen = _choose_manifests(manifests.data_manifests(snapshot), partitions, wanted, counts)
    try:
        live = live_rows([_choose_entries(m, partitions, wanted, counts) for m in _in_columns(manifests, chosen)])
    except ReplayError as e:
        raise manifests.contradiction(snapshot, e) from e
    read = counts["entries_read"]
    dropped = sum(number for name, number in counts.items() if name.startswith("entries_dropped"))
    counts["entries_cancelled"] = read - dropped - sum(map(len, live))
    if pruning is not None:
        admitted = [_keep_admitted(part, pruning, counts) for part in live]
        live, passed = _without_refused(admitted, pruning, counts, schemas)
    entries: Sequence[ManifestEntry] = [entry for part in live for entry in part.entries()]
    if pruning is not None:
        known = frozenset(id(entries[number].file) for number in np.flatnonzero(passed).tolist())
        entries = _drop_by_statistics(entries, known, pruning, counts, schemas)
    counts["files"] = len(entries)
    return FilePlan(tuple(entries), PlanCounts(**counts))


def changed_files(
    manifests: ManifestStore,
    changed: Sequence[ManifestFileMeta],
    *,
    pruning: Pruning,
) -> FilePlan:
    """Return the additions and removals in some manifests without replay, pruned by partition, bucket and level.

    For lists of changes (deltas, changelogs), in which no entry cancels another.

    Raises:
        CorruptionError: a manifest is missing or broken.
    """
    counts: Counter[str] = Counter()
    wanted = ALL_FILES.in_partitions(pruning.partition_condition)
    partitions = PartitionTest(Partitions(pruning.schema, manifests.options), wanted)
    chosen = _choose_manifests(changed, partitions, wanted, counts)
    found = (_choose_entries(m, partitions, wanted, counts) for m in _in_columns(manifests, chosen))
    kept = [entry for part in found for entry in _keep_admitted(part, pruning, counts).entries()]
    counts["files"] = len(kept)
    return FilePlan(tuple(kept), PlanCounts(**counts))


def _in_columns(manifests: ManifestStore, chosen: Sequence[ManifestFileMeta]) -> Iterator[ManifestColumns]:
    """Yield the manifests in order; only those that are read in parallel are kept in memory."""
    width = min(manifests.options.scan.manifest_parallelism or 1, MOST_THREADS)
    for start in range(0, len(chosen), width):
        yield from side_by_side(manifests.columns, chosen[start : start + width], width)


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
    columns: ManifestColumns,
    partitions: PartitionTest,
    wanted: FileFilter,
    counts: Counter[str],
) -> ChosenEntries:
    counts["entries_read"] += len(columns)
    chosen = ChosenEntries(columns, np.arange(len(columns)))
    if partitions.is_needed:
        accepted = partitions.accepted(columns.partitions)
        is_accepted = np.array([partition in accepted for partition in columns.partitions], np.bool_)
        mask = is_accepted[columns.partition_codes]
        chosen = _keep_rows(chosen, mask, "entries_dropped_by_partition", counts)
    if wanted.buckets is not None:
        mask = np.isin(columns.buckets[chosen.rows], sorted(wanted.buckets))
        chosen = _keep_rows(chosen, mask, "entries_dropped_by_bucket", counts)
    if wanted.levels is not None or wanted.min_level > 0:
        levels = columns.levels[chosen.rows]
        mask = levels >= wanted.min_level
        if wanted.levels is not None:
            mask &= np.isin(levels, sorted(wanted.levels))
        chosen = _keep_rows(chosen, mask, "entries_dropped_by_level", counts)
    return chosen


def _keep_rows(chosen: ChosenEntries, mask: npt.NDArray[np.bool_], name: str, counts: Counter[str]) -> ChosenEntries:
    kept = chosen.where(mask)
    counts[name] += len(chosen) - len(kept)
    return kept


def _keep(
    entries: Sequence[ManifestEntry], test: Callable[[ManifestEntry], bool], name: str, counts: Counter[str]
) -> Sequence[ManifestEntry]:
    kept = [entry for entry in entries if test(entry)]
    counts[name] += len(entries) - len(kept)
    return kept


def _keep_admitted(chosen: ChosenEntries, pruning: Pruning, counts: Counter[str]) -> ChosenEntries:
    if not pruning.chooses_key_hashes:
        return chosen
    columns, rows = chosen.columns, chosen.rows
    places = np.stack((columns.buckets[rows], columns.total_buckets[rows]), axis=1)
    different, which = np.unique(places, axis=0, return_inverse=True)
    admitted = np.array([pruning.admits_bucket(bucket, total) for bucket, total in different.tolist()], np.bool_)
    return _keep_rows(chosen, admitted[which.reshape(-1)], "files_dropped_by_bucket", counts)


def _without_refused(
    live: list[ChosenEntries], pruning: Pruning, counts: Counter[str], schemas: Mapping[int, TableSchema]
) -> tuple[list[ChosenEntries], npt.NDArray[np.bool_]]:
    """Return the files without those that cannot contain a selected row, and a mask of those that passed the test.

    The others are tested file by file.
    """
    by_keys = pruning.key_refusal(schemas)
    if by_keys is not None:
        masks = [~by_keys(part.columns, part.rows).refused for part in live]
        live = [_keep_rows(p, mask, "files_dropped_by_key_stats", counts) for p, mask in zip(live, masks, strict=True)]
    by_values = pruning.value_refusal(schemas)
    # A merge that computes values returns values that no file contains.
    passed = [np.zeros(len(part), np.bool_) for part in live]
    if by_values is not None and not (pruning.may_merge and pruning.computes_values):
        sifted = [by_values(part.columns, part.rows) for part in live]
        masks = [~each.refused for each in sifted]
        if pruning.may_merge:
            masks = _of_whole_buckets(live, masks)
        live = [
            _keep_rows(p, mask, "files_dropped_by_value_stats", counts) for p, mask in zip(live, masks, strict=True)
        ]
        passed = [each.passed[mask] for each, mask in zip(sifted, masks, strict=True)]
    return live, np.concatenate([*passed, np.zeros(0, np.bool_)])


def _of_whole_buckets(
    live: Sequence[ChosenEntries], masks: Sequence[npt.NDArray[np.bool_]]
) -> list[npt.NDArray[np.bool_]]:
    """Extend each mask to all files of the buckets in which it selects a file."""
    places = [_places(part) for part in live]
    held = {
        place
        for (of_part, which), mask in zip(places, masks, strict=True)
        for place in {of_part[number] for number in set(which[mask].tolist())}
    }
    return [np.array([place in held for place in of_part], np.bool_)[which] for of_part, which in places]


def _places(part: ChosenEntries) -> tuple[list[tuple[bytes, int]], npt.NDArray[np.int64]]:
    """Return the distinct buckets of entries, and the index of the bucket of each entry."""
    columns, rows = part.columns, part.rows
    stacked = np.stack((columns.partition_codes[rows], columns.buckets[rows]), axis=1)
    different, which = np.unique(stacked, axis=0, return_inverse=True)
    return [(columns.partitions[code], bucket) for code, bucket in different.tolist()], which.reshape(-1)


def _drop_by_statistics(
    entries: Sequence[ManifestEntry],
    passed: frozenset[int],
    pruning: Pruning,
    counts: Counter[str],
    schemas: Mapping[int, TableSchema],
) -> Sequence[ManifestEntry]:
    """Return the entries of files that may contain a selected row; files in ``passed``, by identity, may."""
    by_keys = pruning.key_statistics_test(schemas)
    if by_keys is not None:
        entries = _keep(entries, lambda e: by_keys(e.file), "files_dropped_by_key_stats", counts)
    by_values = pruning.value_statistics_test(schemas)
    if by_values is not None and not all(id(entry.file) in passed for entry in entries):
        range_of = key_ranges(pruning.schema)
        kept: set[int] = set()
        test = by_values

        def may_hold(file: DataFileMeta) -> bool:
            return id(file) in passed or test(file)

        for group in by_bucket(entries).values():
            files = [entry.file for entry in group]
            merged = pruning.merges(files) and _overlap(files, range_of)
            kept.update(map(id, pruning.kept_files(files, may_hold, merged=merged)))
        entries = _keep(entries, lambda e: id(e.file) in kept, "files_dropped_by_value_stats", counts)
    return entries


def _overlap(files: Sequence[DataFileMeta], range_of: KeyRangeOf) -> bool:
    return any(left[1] >= right[0] for left, right in pairwise(sorted(map(range_of, files))))


def by_bucket(entries: Iterable[ManifestEntry]) -> dict[BucketId, list[ManifestEntry]]:
    """Group entries by partition and bucket, each group in the order of the entries.

    >>> by_bucket(())
    {}
    """
    # Use a plain tuple for each entry and a named one only for each bucket, because there may be many entries.
    groups: dict[tuple[bytes, int], list[ManifestEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.partition, entry.bucket), []).append(entry)
    return {BucketId(*key): group for key, group in groups.items()}
