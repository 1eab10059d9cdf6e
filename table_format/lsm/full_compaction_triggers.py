"""Full compactions before the tree asks for one: by time, and by size (Java ``EarlyFullCompaction``).

A bucket remembers its last full compaction in the file that came of it, which is the youngest on the highest level; so
a writer that lives for one call knows as much as one that stays. (Java asks the files when a writer opens, and its own
memory from then on. A file that is moved up without being rewritten keeps the time at which it was written, so after it
a full compaction may come early by the age of that file, and never late.)
"""

from __future__ import annotations

from table_format.lsm.levels import Levels
from table_format.options.compaction import CompactionOptions


def is_full_compaction_due(levels: Levels, options: CompactionOptions, *, local_now_ms: int) -> bool:
    """Whether everything is to be compacted however few runs there are; what is one run already never is."""
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
    """When the youngest file of the highest level was written, in local time; ``None`` if nothing is there."""
    highest = [run for run in levels.higher if run.level == levels.max_level]
    times = [file.creation_time for run in highest for file in run.files if file.creation_time is not None]
    return max(times, default=None)
