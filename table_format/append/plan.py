"""Selects the files of an append table to compact (format chapter 11, section 3).

Java ``AppendCompactCoordinator`` for tables without buckets and ``BucketedAppendCompactManager`` for buckets: small
files, and files with many deleted rows. The files of a group always keep their order. Within a bucket they are also
adjacent, so that the order of rows stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from table_format.model.data_file import DataFileMeta

FileGroup: TypeAlias = tuple[DataFileMeta, ...]
"""Files to be concatenated in this order."""

FULL_COMPACTION_MIN_FILES: Final = 3
"""A full compaction of a bucket with fewer files, none of which has deleted rows, is not worth its writing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallFileRules:
    """Sizes in bytes. ``open_file_cost`` is what one more file weighs beside its content."""

    target_file_size: int
    small_file_size: int
    min_file_num: int
    open_file_cost: int
    delete_ratio: float = 0.2


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """The number of deleted rows of a data file (``None`` if it was not recorded), and the index file with its
    vector.
    """

    count: int | None
    index_file: str


DeletedRowsByFile: TypeAlias = Mapping[str, DeletedRows]
"""Data files with deleted rows, by name."""


def pick_unordered(
    files: Sequence[DataFileMeta], rules: SmallFileRules, deleted_rows: DeletedRowsByFile | None = None, *, full: bool
) -> tuple[FileGroup, ...]:
    """Return groups of files of a partition without buckets, each of about two target file sizes.

    The remaining small files without deleted rows form a group if there are at least ``min_file_num``. Files with
    deleted rows are taken if they are small or if their share of deleted rows is above ``delete_ratio``; files that
    share an index file form one group of any size. With ``full``, every file with deleted rows is taken together with
    small files, and two files are enough.
    """
    deleted_rows = deleted_rows or {}
    by_index: dict[str, list[DataFileMeta]] = {}
    rest: list[list[DataFileMeta]] = []
    for file in files:
        deleted = deleted_rows.get(file.file_name)
        if deleted is None:
            rest.extend([[file]] if file.file_size < rules.small_file_size else [])
        elif full or file.file_size < rules.small_file_size or _has_too_many(file, deleted, rules):
            by_index.setdefault(deleted.index_file, []).append(file)
    with_deletions = sorted(by_index.values(), key=lambda group: sum(file.file_size for file in group))
    if full:
        groups, left = _packed([*with_deletions, *rest], rules)
        groups += [left] if len(left) >= 2 or any(file.file_name in deleted_rows for file in left) else []
    else:
        groups, left = _packed(with_deletions, rules)
        groups += [left] if left else []
        packed, left = _packed(rest, rules)
        groups += packed
        groups += [left] if len(left) >= max(rules.min_file_num, 2) else []
    age = {file.file_name: number for number, file in enumerate(files)}
    return tuple(tuple(sorted(group, key=lambda file: age[file.file_name])) for group in groups)


def pick_in_bucket(
    files: Sequence[DataFileMeta], rules: SmallFileRules, deleted_rows: DeletedRowsByFile | None = None, *, full: bool
) -> tuple[FileGroup, ...]:
    """Groups of neighbouring files of a bucket; a file with too many deleted rows may be one by itself."""
    ordered = sorted(files, key=lambda file: file.min_sequence_number)
    deleted_rows = deleted_rows or {}
    if full:
        return _all_after_large(ordered, rules, deleted_rows)
    groups = _windows(ordered, rules)
    taken = {file.file_name for group in groups for file in group}
    due = (
        file
        for file in ordered
        if (deleted := deleted_rows.get(file.file_name)) and _has_too_many(file, deleted, rules)
    )
    # The reference leaves them to a full compaction; alone, a file is rewritten without touching the order.
    return (*groups, *((file,) for file in due if file.file_name not in taken))


def _has_too_many(file: DataFileMeta, deleted: DeletedRows, rules: SmallFileRules) -> bool:
    return deleted.count is None or deleted.count > file.row_count * rules.delete_ratio


def _packed(
    items: Iterable[Sequence[DataFileMeta]], rules: SmallFileRules
) -> tuple[list[list[DataFileMeta]], list[DataFileMeta]]:
    """Groups that are worth their writing, and what is left over."""
    groups: list[list[DataFileMeta]] = []
    members: list[DataFileMeta] = []
    weight = 0
    for item in items:
        members.extend(item)
        weight += sum(file.file_size + rules.open_file_cost for file in item)
        if len(members) > 1 and weight >= 2 * rules.target_file_size:
            groups.append(members)
            members, weight = [], 0
    return groups, members


def _all_after_large(
    files: Sequence[DataFileMeta], rules: SmallFileRules, deleted_rows: DeletedRowsByFile
) -> tuple[FileGroup, ...]:
    """Everything behind the large files at the beginning, if most of it is small or any of it has deleted rows."""
    worth = (
        i for i, file in enumerate(files) if file.file_size < rules.small_file_size or file.file_name in deleted_rows
    )
    rest = tuple(files[next(worth, len(files)) :])
    small = sum(file.file_size < rules.small_file_size for file in rest)
    is_worth_it = len(rest) >= FULL_COMPACTION_MIN_FILES and 2 * small > len(rest)
    return (rest,) if is_worth_it or any(file.file_name in deleted_rows for file in rest) else ()


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
