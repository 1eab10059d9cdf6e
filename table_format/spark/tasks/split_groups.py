"""Groups splits, one group for each task: neither a task for each small split, nor fewer tasks than cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from table_format.model.split import DataSplit
from table_format.options.scan import ScanOptions
from table_format.table.read.splits import pack


def grouped_splits(splits: Sequence[DataSplit], options: ScanOptions, *, parallelism: int) -> list[list[DataSplit]]:
    """Group adjacent splits that one task reads one after the other, as Spark groups small files.

    A task costs 50 ms, so small splits get at most as many tasks as there are cores. ``parallelism`` is how many tasks
    run in parallel.
    """
    sizes = [sum(file.file_size for file in (*split.before_files, *split.files)) for split in splits]
    total = sum(max(size, options.split_open_file_cost) for size in sizes)
    target = min(options.split_target_size, max(options.split_open_file_cost, total // parallelism))
    numbered = pack(range(len(splits)), sizes.__getitem__, replace(options, split_target_size=target))
    return [[splits[number] for number in group] for group in numbered]
