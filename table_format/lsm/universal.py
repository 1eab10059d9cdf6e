"""Chooses the runs to compact and the output level (format chapter 07, section 3; Java ``UniversalCompaction``).

The strategy is that of releases 0.9 to 1.4: the size-ratio rule stops at the first run that is too large. (Release 2.x
continues through level 1 after the first run was picked. Every release can read the result of both.)
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
    """The files to compact and their output level."""

    files: tuple[DataFileMeta, ...]
    output_level: int
    in_place: bool = False
    """Whether the files are already on the output level, and are rewritten one by one."""


def pick_compaction(levels: Levels, options: CompactionOptions, *, local_now_ms: int) -> CompactUnit | None:
    """Return the compaction that is due by time, total size, amplification, size ratio or run count, or ``None``."""
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
    """Return the compaction that is due, or else one of all level-0 files (Java ``ForceUpLevel0Compaction``).

    Every compaction includes all of level 0, because level 0 is never an output level. With ``gathering`` level 0 is
    compacted only if it has this many files. (Java counts the calls of a writer; the number of files is independent of
    the writer.)
    """
    unit = pick_compaction(levels, options, local_now_ms=local_now_ms)
    if unit is not None or len(levels.level0) < (gathering or 1):
        return unit
    runs, count = levels.runs, len(levels.level0)
    ratio = _size_ratio(options, local_now_ms)
    unit = _for_size_ratio(runs, levels.max_level, ratio, first=count) or _unit(runs, count, levels.max_level)
    return None if _changes_nothing(unit) else unit


def full_compaction(levels: Levels) -> CompactUnit | None:
    """Return a compaction of all files to the highest level; ``None`` if they are already there."""
    runs = levels.runs
    if not runs or (len(runs) == 1 and runs[0].level == levels.max_level):
        return None
    return CompactUnit(levels.files, levels.max_level)


def drops_deletes(unit: CompactUnit, levels: Levels) -> bool:
    """Return whether retract rows can be dropped: nothing older than the output remains that they could retract.

    Java ``MergeTreeCompactManager.triggerCompaction``. If the output is on level 0, older level-0 files may remain.
    """
    return unit.output_level != 0 and unit.output_level >= levels.highest_non_empty


def _size_ratio(options: CompactionOptions, local_now_ms: int) -> int:
    return options.size_ratio_at(local_now_ms // _HOUR_MS % 24)


def _for_size_amplification(runs: Sequence[SortedRun], max_level: int, percent: int) -> CompactUnit | None:
    """Return a full compaction if all newer runs together are larger than ``percent`` of the oldest run."""
    newer = sum(run.size_bytes for run in runs[:-1])
    if 100 * newer > percent * runs[-1].size_bytes:
        return _unit(runs, len(runs), max_level)
    return None


def _for_size_ratio(runs: Sequence[SortedRun], max_level: int, ratio: int, *, first: int) -> CompactUnit | None:
    """Return the newest runs up to the first that is more than ``ratio`` percent larger than all before it."""
    size = sum(run.size_bytes for run in runs[:first])
    picked = first
    for run in runs[first:]:
        if size * (100 + ratio) < 100 * run.size_bytes:
            break
        size += run.size_bytes
        picked += 1
    return _unit(runs, picked, max_level) if picked > 1 else None


def _unit(runs: Sequence[SortedRun], picked: int, max_level: int) -> CompactUnit:
    """Return the first ``picked`` runs with the output level just above the next run, never 0 (Java ``createUnit``)."""
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
