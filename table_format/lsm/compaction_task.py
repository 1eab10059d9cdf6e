"""Decides what a compaction does with each file, before anything is read (format chapter 07, section 4).

Java ``MergeTreeCompactTask``: files that overlap, and small files next to them, are merged; a large file that does not
overlap another only changes its level. No file between two others is ever left out, so the output stays in key order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from table_format.lsm.intervals import Section, partition_into_sections
from table_format.lsm.keys import KeyRangeOf
from table_format.lsm.universal import CompactUnit
from table_format.model.data_file import DataFileMeta


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Merge these sections into new files at the output level."""

    sections: tuple[Section, ...]

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        """All files that are merged."""
        return tuple(file for section in self.sections for run in section for file in run)


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Move this file to the output level without reading it."""

    file: DataFileMeta


Step: TypeAlias = Rewrite | Upgrade


def plan_steps(
    unit: CompactUnit,
    *,
    max_level: int,
    small_file_bytes: int,
    key_range: KeyRangeOf,
    must_rewrite: Callable[[DataFileMeta], bool],
) -> tuple[Step, ...]:
    """Return the steps of a compaction in key order. A file that is already in its place appears in none of them.

    Files that ``must_rewrite`` selects are rewritten in any case.
    """
    steps: list[Step] = []
    candidate: list[Section] = []

    def conclude() -> None:
        if len(candidate) == 1 and len(candidate[0]) == 1:
            steps.extend(_move(candidate[0][0], unit.output_level, max_level, must_rewrite))
        elif candidate:
            steps.append(Rewrite(tuple(candidate)))
        candidate.clear()

    for section in partition_into_sections(unit.files, key_range):
        if len(section) > 1:
            candidate.append(section)
            continue
        for file in section[0]:
            if file.file_size < small_file_bytes:
                candidate.append(((file,),))
            else:
                conclude()
                steps.extend(_move((file,), unit.output_level, max_level, must_rewrite))
    conclude()
    return tuple(steps)


def _move(
    files: Iterable[DataFileMeta], output_level: int, max_level: int, must_rewrite: Callable[[DataFileMeta], bool]
) -> Iterable[Step]:
    for file in files:
        # On the highest level, there is no older row that a retract row could retract, so retract rows are dropped.
        if must_rewrite(file) or (output_level == max_level and file.delete_row_count != 0):
            yield Rewrite((((file,),),))
        elif file.level != output_level:
            yield Upgrade(file)
