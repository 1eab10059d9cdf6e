"""Data files and their statistics (format chapter 04, sections 3 and 4; Java ``DataFileMeta``, ``SimpleStats``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

EMPTY_ROW: Final = bytes(12)
"""The serialised BinaryRow without fields: keys of append files, partitions of unpartitioned tables."""


class FileSource(IntEnum):
    """The operation that wrote a file. The values are stored on disk; do not change them."""

    APPEND = 0
    COMPACT = 1


@dataclass(frozen=True, slots=True)
class SimpleStats:
    """The minima and maxima (serialised BinaryRows) and the null counts of columns, in column order.

    A null count of ``None`` with null minimum and maximum means that the statistics are unknown.
    """

    min_values: bytes
    max_values: bytes
    null_counts: tuple[int | None, ...]


EMPTY_STATS: Final = SimpleStats(EMPTY_ROW, EMPTY_ROW, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileMeta:
    """The metadata of one data or changelog file in a manifest.

    ``min_key`` and ``max_key`` are serialised BinaryRows of the trimmed primary key. ``creation_time`` is the writer's
    local wall-clock time in milliseconds, as if it were UTC. A ``delete_row_count`` of ``None`` means unknown.
    """

    file_name: str
    file_size: int
    row_count: int
    min_key: bytes
    max_key: bytes
    key_stats: SimpleStats
    value_stats: SimpleStats
    min_sequence_number: int
    max_sequence_number: int
    schema_id: int
    level: int
    extra_files: tuple[str, ...] = ()
    creation_time: int | None = None
    delete_row_count: int | None = None
    embedded_file_index: bytes | None = None
    file_source: FileSource | None = None
    value_stats_cols: tuple[str, ...] | None = None
    external_path: str | None = None
    first_row_id: int | None = None
    write_cols: tuple[str, ...] | None = None

    def upgrade(self, level: int) -> DataFileMeta:
        """Return the same file at another level; nothing else changes (format chapter 06, section 6)."""
        return replace(self, level=level)
