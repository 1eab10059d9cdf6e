"""Divides live files into splits (format chapter 06, section 8; Java ``MergeTreeSplitGenerator``).

Files with overlapping keys stay together. Otherwise a bucket is divided into splits of about the target size; each
file counts at least the cost of opening it. Splits are ordered by partition, bucket, and key or age.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeAlias, TypeVar

from pyroaring import FrozenBitMap

from table_format.lsm.intervals import Section, partition_into_sections
from table_format.lsm.keys import key_ranges
from table_format.lsm.merge_read import is_raw_convertible
from table_format.metastore.scan.file_plan import by_bucket
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import ManifestEntry
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.model.split import DataSplit, DeletionFile, SnapshotRef
from table_format.options.scan import ScanOptions
from table_format.options.table_options import TableOptions
from table_format.pruning.pruning import FileTest, Pruning
from table_format.pruning.read_kind import ReadKind

T = TypeVar("T")

DeletionFiles: TypeAlias = Mapping[BucketId, Mapping[str, DeletionFile]]
"""Deletion files by partition and bucket, and there by data file."""

_Piece: TypeAlias = tuple[tuple[DataFileMeta, ...], bool]
"""The files of one split, and whether their rows need no merge."""


def make_splits(
    entries: Iterable[ManifestEntry],
    schema: TableSchema,
    options: ScanOptions,
    *,
    snapshot: Snapshot | SnapshotRef,
    pruning: Pruning | None = None,
    may_match: FileTest = lambda _file: True,
    deletion_files: DeletionFiles | None = None,
    selections: Mapping[str, FrozenBitMap] | None = None,
) -> tuple[DataSplit, ...]:
    """Divide live files into splits, ordered by serialized partition and bucket.

    ``may_match`` says whether a file of a primary key table may hold a stored row that the filter selects;
    ``pruning`` decides which files are left out because of it. ``deletion_files`` are added to their files.
    ``selections``, which are positions of rows by file name, are added where rows need no merge.
    """
    rules = pruning or _no_filter(schema)
    splits: list[DataSplit] = []
    for bucket_id, group in sorted(by_bucket(entries).items()):
        files = [entry.file for entry in group]
        pieces: Iterable[_Piece] = (
            _merge_pieces(files, options, rules, may_match)
            if schema.primary_keys
            else ((piece, True) for piece in _raw_pieces(files, options))
        )
        marked = {} if deletion_files is None else deletion_files.get(bucket_id, {})
        splits.extend(
            DataSplit(
                snapshot_id=snapshot.id,
                delta_manifest_list=snapshot.delta_manifest_list,
                partition=bucket_id.partition,
                bucket=bucket_id.bucket,
                total_buckets=group[0].total_buckets,
                files=piece,
                raw_convertible=is_raw,
                deletion_files=deletion_files_of(piece, marked),
                selections=_selections_of(piece, selections) if is_raw and selections else (),
            )
            for piece, is_raw in pieces
        )
    return tuple(splits)


def with_files(split: DataSplit, places: Sequence[int]) -> DataSplit:
    """The split with some of its files, given by their places; their rows are read as they are stored."""
    if len(places) == len(split.files):
        return split
    return replace(
        split,
        files=tuple(split.files[place] for place in places),
        deletion_files=tuple(split.deletion_files[place] for place in places) if split.deletion_files else (),
        selections=tuple(split.selections[place] for place in places) if split.selections else (),
    )


def deletion_files_of(
    files: Sequence[DataFileMeta], marked: Mapping[str, DeletionFile]
) -> tuple[DeletionFile | None, ...]:
    """The deletion file of each of the files; nothing when none has any."""
    found = tuple(marked.get(file.file_name) for file in files)
    return found if any(found) else ()


def _selections_of(
    files: Sequence[DataFileMeta], selections: Mapping[str, FrozenBitMap]
) -> tuple[FrozenBitMap | None, ...]:
    """The selection of each of the files; nothing when none has any."""
    found = tuple(selections.get(file.file_name) for file in files)
    return found if any(selected is not None for selected in found) else ()


def _raw_pieces(files: Sequence[DataFileMeta], options: ScanOptions) -> Iterator[tuple[DataFileMeta, ...]]:
    # Rows of an append table are read in the order in which they were written. Files with equal sequence numbers keep
    # the order of their manifests. Creation times do not help, since tasks write files in parallel.
    in_order = sorted(files, key=lambda file: file.min_sequence_number)
    for group in pack(in_order, lambda file: file.file_size, options):
        yield tuple(group)


def _no_filter(schema: TableSchema) -> Pruning:
    options = TableOptions.parse(schema.options)
    return Pruning.of(ReadKind.of_state(schema, options), schema, options, None)


def _merge_pieces(
    files: Sequence[DataFileMeta], options: ScanOptions, pruning: Pruning, may_match: FileTest
) -> Iterator[_Piece]:
    range_of = key_ranges(pruning.schema)
    if is_raw_convertible(files, has_each_key_once=pruning.has_each_key_once):
        wanted = pruning.kept_files(sorted(files, key=range_of), may_match, merged=False)
        for piece in pack(wanted, lambda file: file.file_size, options):
            yield tuple(piece), True
        return
    sections = [
        section
        for section in partition_into_sections(files, range_of)
        if pruning.kept_files(list(chain.from_iterable(section)), may_match, merged=len(section) > 1)
    ]
    for group in pack(sections, _section_size, options):
        members = tuple(file for section in group for run in section for file in run)
        # A single file holds each key once.
        is_single = len(members) == 1 and members[0].delete_row_count == 0
        yield members, is_single or is_raw_convertible(members)


def _section_size(section: Section) -> int:
    return sum(file.file_size for run in section for file in run)


def pack(items: Iterable[T], size_of: Callable[[T], int], options: ScanOptions) -> Iterator[list[T]]:
    """Group neighbours until a group would exceed the target size; an item alone may exceed it.

    >>> options = ScanOptions(split_target_size=10, split_open_file_cost=4)
    >>> list(pack([1, 1, 9, 20], lambda size: size, options))
    [[1, 1], [9], [20]]
    """
    group: list[T] = []
    weight = 0
    for item in items:
        cost = max(size_of(item), options.split_open_file_cost)
        if group and weight + cost > options.split_target_size:
            yield group
            group, weight = [], 0
        group.append(item)
        weight += cost
    if group:
        yield group
