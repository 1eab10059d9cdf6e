"""Live files become splits (format chapter 06, section 8; Java ``MergeTreeSplitGenerator``).

Files whose keys overlap stay together; apart from that a bucket is cut so that a split has about the target size, where
each file counts at least the cost of opening it. The order is by partition, bucket, and key or age.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from table_format.lsm.intervals import Section, partition_into_sections
from table_format.lsm.keys import key_ranges
from table_format.lsm.merge_read import is_raw_convertible
from table_format.metastore.plan import by_bucket
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import ManifestEntry
from table_format.model.schema import TableSchema
from table_format.model.split import DataSplit
from table_format.options.scan import ScanOptions

T = TypeVar("T")


def make_splits(
    entries: Iterable[ManifestEntry],
    schema: TableSchema,
    options: ScanOptions,
    *,
    snapshot_id: int,
    may_match: Callable[[DataFileMeta], bool] = lambda _file: True,
) -> tuple[DataSplit, ...]:
    """Cut live files into splits, buckets in ascending order of serialised partition and bucket.

    ``may_match`` tells whether a file may hold a row that is asked for; of files whose keys overlap all are left out or
    none, since the last row of a key is one of those stored.
    """
    splits: list[DataSplit] = []
    for (partition, bucket), group in sorted(by_bucket(entries).items()):
        files = [entry.file for entry in group]
        pieces = (
            _merge_pieces(files, schema, options, may_match) if schema.primary_keys else _raw_pieces(files, options)
        )
        splits.extend(
            DataSplit(
                snapshot_id=snapshot_id,
                partition=partition,
                bucket=bucket,
                total_buckets=group[0].total_buckets,
                files=piece,
                raw_convertible=not schema.primary_keys or is_raw_convertible(piece),
            )
            for piece in pieces
        )
    return tuple(splits)


def _raw_pieces(files: Sequence[DataFileMeta], options: ScanOptions) -> Iterator[tuple[DataFileMeta, ...]]:
    # Rows of an append table are read in the order they were written in.
    in_order = sorted(files, key=lambda file: (file.min_sequence_number, file.creation_time or 0))
    for group in pack(in_order, lambda file: file.file_size, options):
        yield tuple(group)


def _merge_pieces(
    files: Sequence[DataFileMeta],
    schema: TableSchema,
    options: ScanOptions,
    may_match: Callable[[DataFileMeta], bool],
) -> Iterator[tuple[DataFileMeta, ...]]:
    sections = [
        section
        for section in partition_into_sections(files, key_ranges(schema))
        if any(may_match(file) for run in section for file in run)
    ]
    for group in pack(sections, _section_size, options):
        yield tuple(file for section in group for run in section for file in run)


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
