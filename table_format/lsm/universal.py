"""Chooses the runs to compact and the output level (format chapter 07, section 3; Java ``UniversalCompaction``).

The strategy is that of releases 0.9 to 1.4: the size-ratio rule stops at the first run that is too big. (Release 2.x
goes on through level 1 once anything was picked; both leave a tree that every release reads.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from table_format.lsm.full_compaction_triggers import is_full_compaction_due
from table_format.lsm.levels import Levels, SortedRun
from table_format.model.data_file import DataFileMeta
from table_format.options.compaction import CompactionOptions

_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class CompactUnit:
    """Files to compact and the level their rows go to."""

    files: tuple[DataFileMeta, ...]
    output_level: int
    in_place: bool = False
    """Whether the files are on that level already, and are rewritten one by one."""


def pick_compaction(levels: Levels, options: CompactionOptions, *, local_now_ms: int) -> CompactUnit | None:
    """The compaction that is due, if one is: everything by time or size, else what bounds space, reads, and runs."""
    runs, trigger = levels.runs, options.trigger
    unit: CompactUnit | None = None
    if is_full_compaction_due(levels, options, local_now_ms=local_now_ms):
        unit = CompactUnit(levels.files, levels.max_level)
    elif len(runs) >= trigger:
        ratio = _size_ratio(options, local_now_ms)
        unit = _for_size_amplification(runs, levels.max_level, options.max_size_amplification_percent)
        unit = unit or _for_size_ratio(runs, levels.max_level, ratio, first=1)
        if unit is None and len(runs) > trigger:
            unit = _for_size_ratio(runs, levels.max_level, ratio, first=len(runs) - trigger + 1)
    return None if unit is None or _changes_nothing(unit) else unit


def force_up_level_0(
    levels: Levels, options: CompactionOptions, *, local_now_ms: int, gathering: int | None = None
) -> CompactUnit | None:
    """The compaction that is due, and if none is, one of all level-0 files (Java ``ForceUpLevel0Compaction``).

    Whatever is picked takes all of level 0 along, because nothing is ever put on level 0. With ``gathering`` level 0
    is forced up once it has so many files. (Java counts how often a writer asked; the files say it across writers.)
    """
    unit = pick_compaction(levels, options, local_now_ms=local_now_ms)
    if unit is not None or len(levels.level0) < (gathering or 1):
        return unit
    runs, count = levels.runs, len(levels.level0)
    ratio = _size_ratio(options, local_now_ms)
    unit = _for_size_ratio(runs, levels.max_level, ratio, first=count) or _unit(runs, count, levels.max_level)
    return None if _changes_nothing(unit) else unit


def full_compaction(levels: Levels) -> CompactUnit | None:
    """All files to the highest level; nothing when they are there already."""
    runs = levels.runs
    if not runs or (len(runs) == 1 and runs[0].level == levels.max_level):
        return None
    return CompactUnit(levels.files, levels.max_level)


def drops_deletes(unit: CompactUnit, levels: Levels) -> bool:
    """Return whether retract rows can be dropped: nothing older than the output remains that they could retract.

    Java ``MergeTreeCompactManager.triggerCompaction``. A level-0 output may have older level-0 files beside it.
    """
    return unit.output_level != 0 and unit.output_level >= levels.highest_non_empty


def _size_ratio(options: CompactionOptions, local_now_ms: int) -> int:
    return options.size_ratio_at(local_now_ms // _HOUR_MS % 24)


def _for_size_amplification(runs: Sequence[SortedRun], max_level: int, percent: int) -> CompactUnit | None:
    """Everything, when what lies above the oldest run is more than ``percent`` of it."""
    newer = sum(run.size_bytes for run in runs[:-1])
    if 100 * newer > percent * runs[-1].size_bytes:
        return _unit(runs, len(runs), max_level)
    return None


def _for_size_ratio(runs: Sequence[SortedRun], max_level: int, ratio: int, *, first: int) -> CompactUnit | None:
    """The newest runs, as long as the next is not larger than all before it by more than ``ratio`` percent."""
    size = sum(run.size_bytes for run in runs[:first])
    picked = first
    for run in runs[first:]:
        if size * (100 + ratio) < 100 * run.size_bytes:
            break
        size += run.size_bytes
        picked += 1
    return _unit(runs, picked, max_level) if picked > 1 else None


def _unit(runs: Sequence[SortedRun], picked: int, max_level: int) -> CompactUnit:
    """The first ``picked`` runs, going to the level above the next run; never to level 0 (Java ``createUnit``)."""
    output = max_level if picked == len(runs) else max(0, runs[picked].level - 1)
    if output == 0:
        for run in runs[picked:]:
            picked += 1
            if run.level != 0:
                output = run.level
                break
    if picked == len(runs):
        output = max_level
    return CompactUnit(tuple(file for run in runs[:picked] for file in run.files), output)


def _changes_nothing(unit: CompactUnit) -> bool:
    return not unit.files or (len(unit.files) == 1 and unit.files[0].level == unit.output_level)
