"""The report of a compaction: the snapshots, the compacted buckets and the dropped ones."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.counted import counted
from table_format.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, order=True)
class CompactedBucket:
    """A bucket whose compaction was committed. ``partition`` is a text such as ``dt=2026-01-01``; "" if there is
    none.
    """

    partition: str
    bucket: int
    files_before: int
    files_after: int


@dataclass(frozen=True, slots=True, order=True)
class DroppedBucket:
    """A bucket that another commit changed in the meantime. Its compaction was dropped and the new files were
    deleted.
    """

    partition: str
    bucket: int
    reason: str


@dataclass(frozen=True, slots=True)
class CompactionReport:
    """The result of a compaction. Dropped buckets lose no rows: the next compaction takes them."""

    snapshots: tuple[Snapshot, ...] = ()
    buckets: tuple[CompactedBucket, ...] = ()
    dropped: tuple[DroppedBucket, ...] = ()

    def __str__(self) -> str:
        """The counts, and a line for each bucket that was dropped.

        >>> print(CompactionReport(dropped=(DroppedBucket("dt=a", 1, "file x is gone"),)))
        0 buckets compacted, 1 dropped
        dropped: dt=a, bucket 1: file x is gone
        """
        lines = [f"{counted(len(self.buckets), 'bucket')} compacted, {len(self.dropped)} dropped"]
        lines += [
            f"dropped: {d.partition + ', ' if d.partition else ''}bucket {d.bucket}: {d.reason}" for d in self.dropped
        ]
        return "\n".join(lines)
