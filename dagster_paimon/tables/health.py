"""The health of a table as numbers, only from its metadata.

The read amplification of a bucket is its number of sorted runs: one for each file of level 0, and one for each higher
level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from table_format.engine import DataFileMeta

SMALL_FILE_BYTES: Final = 16 * 1024 * 1024
_SIZE_CLASSES: Final = (("< 16 KB", 16 << 10), ("< 128 KB", 128 << 10), ("< 1 MB", 1 << 20), ("< 16 MB", 16 << 20))


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A data file of the current snapshot with its bucket, such as ``dt=2026-01-01/0`` or ``0``."""

    bucket: str
    file: DataFileMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHealth:
    """The health of a table. Sizes are in bytes. Rows are stored rows: in a primary-key table, each version counts.

    ``files_without_indexes`` counts files whose indexes differ from those that the table declares; ``None`` if it
    declares none and no file has any.
    """

    snapshot_id: int | None
    snapshots: int
    physical_rows: int
    live_files: int
    size_bytes: int
    buckets: int
    level0_files: int
    max_sorted_runs: int
    small_files: int
    marked_rows: int
    files_without_indexes: int | None
    level_bytes: Mapping[str, Mapping[str, float]]
    size_classes: Mapping[str, int]

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers by name."""
        return {
            "snapshots": self.snapshots,
            "physical_rows": self.physical_rows,
            "live_files": self.live_files,
            "size_bytes": self.size_bytes,
            "buckets": self.buckets,
            "level0_files": self.level0_files,
            "max_sorted_runs": self.max_sorted_runs,
            "small_files": self.small_files,
            "marked_rows": self.marked_rows,
            "files_without_indexes": self.files_without_indexes or 0,
        }


def health_of(
    files: Iterable[LiveFile],
    *,
    snapshot_id: int | None,
    snapshots: int,
    marked_rows: int = 0,
    files_without_indexes: int | None = None,
) -> TableHealth:
    """Measure a table by its live files. ``marked_rows`` is the number of rows that deletion vectors mark."""
    listed = list(files)
    levels: dict[str, Counter[int]] = {}
    sizes: dict[str, Counter[str]] = {}
    for live in listed:
        levels.setdefault(live.bucket, Counter())[live.file.level] += 1
        sizes.setdefault(live.bucket, Counter())[f"level {live.file.level}"] += live.file.file_size
    return TableHealth(
        snapshot_id=snapshot_id,
        snapshots=snapshots,
        physical_rows=sum(live.file.row_count for live in listed),
        live_files=len(listed),
        size_bytes=sum(live.file.file_size for live in listed),
        buckets=len(levels),
        level0_files=sum(counts[0] for counts in levels.values()),
        max_sorted_runs=max((sorted_runs(counts) for counts in levels.values()), default=0),
        marked_rows=marked_rows,
        files_without_indexes=files_without_indexes,
        small_files=sum(live.file.file_size < SMALL_FILE_BYTES for live in listed),
        level_bytes={bucket: dict(sorted(counts.items())) for bucket, counts in sorted(sizes.items())},
        size_classes=_size_classes(listed),
    )


def sorted_runs(files_by_level: Mapping[int, int]) -> int:
    """Return the number of sorted runs of one bucket.

    >>> sorted_runs({0: 3, 4: 2, 5: 7})
    5
    """
    return files_by_level.get(0, 0) + sum(1 for level, count in files_by_level.items() if level > 0 and count)


def _size_classes(files: Iterable[LiveFile]) -> dict[str, int]:
    classes = {name: 0 for name, _ in _SIZE_CLASSES} | {"larger": 0}
    for live in files:
        name = next((name for name, below in _SIZE_CLASSES if live.file.file_size < below), "larger")
        classes[name] += 1
    return classes
