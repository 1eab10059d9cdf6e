"""Which small files of an append table to put together (format chapter 11, section 3).

Java ``AppendCompactCoordinator`` for tables without buckets and ``BucketedAppendCompactManager`` for buckets. Here the
files of a group always keep their order; within a bucket they are neighbours as well, so that the order of its rows
survives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from table_format.model.data_file import DataFileMeta

FileGroup: TypeAlias = tuple[DataFileMeta, ...]
"""Files to be concatenated in this order."""

FULL_COMPACTION_MIN_FILES: Final = 3
"""A full compaction of a bucket with fewer files is not worth its writing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallFileRules:
    """Sizes in bytes. ``open_file_cost`` is what one more file weighs beside its content."""

    target_file_size: int
    small_file_size: int
    min_file_num: int
    open_file_cost: int


def pick_unordered(files: Sequence[DataFileMeta], rules: SmallFileRules, *, full: bool) -> tuple[FileGroup, ...]:
    """Groups of small files of a partition without buckets, each worth about two files of the target size.

    What is left over at the end is a group when it has ``min_file_num`` files, or two with ``full``.
    """
    groups: list[FileGroup] = []
    members: list[DataFileMeta] = []
    weight = 0
    for file in files:
        if file.file_size >= rules.small_file_size:
            continue
        members.append(file)
        weight += file.file_size + rules.open_file_cost
        if len(members) > 1 and weight >= 2 * rules.target_file_size:
            groups.append(tuple(members))
            members, weight = [], 0
    if len(members) >= (2 if full else max(rules.min_file_num, 2)):
        groups.append(tuple(members))
    return tuple(groups)


def pick_in_bucket(files: Sequence[DataFileMeta], rules: SmallFileRules, *, full: bool) -> tuple[FileGroup, ...]:
    """Groups of neighbouring files of a bucket."""
    ordered = sorted(files, key=lambda file: file.min_sequence_number)
    return _all_after_large(ordered, rules) if full else _windows(ordered, rules)


def _all_after_large(files: Sequence[DataFileMeta], rules: SmallFileRules) -> tuple[FileGroup, ...]:
    """Everything behind the large files at the beginning, if most of it is small."""
    start = next((i for i, file in enumerate(files) if file.file_size < rules.small_file_size), len(files))
    rest = tuple(files[start:])
    small = sum(file.file_size < rules.small_file_size for file in rest)
    return (rest,) if len(rest) >= FULL_COMPACTION_MIN_FILES and 2 * small > len(rest) else ()


def _windows(files: Sequence[DataFileMeta], rules: SmallFileRules) -> tuple[FileGroup, ...]:
    """Every ``min_file_num`` neighbours that together are below twice the target size, from the oldest on."""
    groups: list[FileGroup] = []
    window: list[DataFileMeta] = []
    size = 0
    for file in files:
        window.append(file)
        size += file.file_size
        if len(window) >= max(rules.min_file_num, 2):
            groups.append(tuple(window))
            window, size = [], 0
        elif size >= 2 * rules.target_file_size:
            size -= window.pop(0).file_size
    return tuple(groups)
