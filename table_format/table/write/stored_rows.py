"""Rows that a write takes from files of the table."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.model.bucket_id import BucketId
from table_format.model.snapshot import Snapshot
from table_format.table.write.bucket_writer import Compaction


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows that come from files of the table at the snapshot ``base`` and were checked when they were written.

    ``compact`` is the final compaction of the buckets that received rows, and of ``buckets``. ``are_results`` says
    that each key was merged into one row.
    """

    base: Snapshot
    compact: Compaction
    are_results: bool
    buckets: tuple[BucketId, ...] = ()
