"""Divides the files of a bucket into sections, whose files have to be merged (format chapter 07, section 4).

Java ``IntervalPartition``: sections have disjoint key ranges and are in key order. The files of a section are assigned
to as few runs as possible. A section with one run needs no merge.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import count
from typing import TypeAlias

from table_format.lsm.keys import Key, KeyRangeOf
from table_format.model.data_file import DataFileMeta

Run: TypeAlias = tuple[DataFileMeta, ...]
"""Files with ascending, disjoint key ranges, from any levels."""

Section: TypeAlias = tuple[Run, ...]


def partition_into_sections(files: Iterable[DataFileMeta], key_range: KeyRangeOf) -> tuple[Section, ...]:
    """Divide files into sections, in key order."""
    sections: list[Section] = []
    members: list[DataFileMeta] = []
    bound: Key | None = None
    for file in sorted(files, key=key_range):
        first, last = key_range(file)
        if bound is not None and first > bound:
            sections.append(_assign_to_runs(members, key_range))
            members, bound = [], None
        members.append(file)
        bound = last if bound is None or last > bound else bound
    if members:
        sections.append(_assign_to_runs(members, key_range))
    return tuple(sections)


def _assign_to_runs(files: list[DataFileMeta], key_range: KeyRangeOf) -> Section:
    """Assign files, sorted by first key, to as few runs as possible: each to the run that ends first, if it fits."""
    arrival = count()
    open_runs: list[tuple[Key, int, list[DataFileMeta]]] = []
    runs: list[list[DataFileMeta]] = []
    for file in files:
        first, last = key_range(file)
        if open_runs and first > open_runs[0][0]:
            _, _, run = open_runs[0]
            run.append(file)
            heapq.heapreplace(open_runs, (last, next(arrival), run))
        else:
            run = [file]
            runs.append(run)
            heapq.heappush(open_runs, (last, next(arrival), run))
    return tuple(tuple(run) for run in runs)
