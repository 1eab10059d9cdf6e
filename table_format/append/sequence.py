"""Sequence numbers of append files: they count rows (format chapter 06, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from table_format.model.data_file import DataFileMeta


def numbered(files: Sequence[DataFileMeta], first: int) -> tuple[DataFileMeta, ...]:
    """The files, numbered on from ``first`` in their order."""
    starts = accumulate((file.row_count for file in files), initial=first)
    return tuple(
        replace(file, min_sequence_number=start, max_sequence_number=start + file.row_count - 1)
        for file, start in zip(files, starts, strict=False)
    )
