"""Triggers full compactions by time and by size, before the tree needs one (Java ``EarlyFullCompaction``).

The time of the last full compaction is that of its output, the youngest file on the highest level. A short-lived writer
therefore knows the same as a long-lived one. (Java reads the files only when a writer opens, and then uses its memory.
A file that is moved up without being rewritten keeps its time, so the next full compaction may be early by the age of
that file, but never late.)
"""

from __future__ import annotations

from table_format.lsm.levels import Levels
from table_format.options.compaction import CompactionOptions


def is_full_compaction_due(levels: Levels, options: CompactionOptions, *, local_now_ms: int) -> bool:
    """Return whether a full compaction is due, whatever the number of runs. A single run is never compacted."""
    if len(levels.runs) <= 1:
        return False
    interval_ms = options.optimization_interval_ms
    if interval_ms is not None:
        last_ms = last_full_compaction_ms(levels)
        if last_ms is None or local_now_ms - last_ms > interval_ms:
            return True
    total, incremental = options.total_size_threshold, options.incremental_size_threshold
    if total is not None and sum(run.size_bytes for run in levels.runs) < total:
        return True
    newer = sum(run.size_bytes for run in levels.runs if run.level != levels.max_level)
    return incremental is not None and newer > incremental


def last_full_compaction_ms(levels: Levels) -> int | None:
    """Return the time of the youngest file on the highest level, in local ms; ``None`` if there is none."""
    highest = [run for run in levels.higher if run.level == levels.max_level]
    times = [file.creation_time for run in highest for file in run.files if file.creation_time is not None]
    return max(times, default=None)
