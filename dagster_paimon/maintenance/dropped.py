"""Buckets that a job skipped because another commit changed them. No rows are lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg

from dagster_paimon.maintenance.kinds import Visit
from table_format import DroppedBucket


def warn_of_dropped(visit: Visit, dropped: Sequence[DroppedBucket]) -> None:
    """Log each bucket that was skipped."""
    for lost in dropped:
        visit.log.warning("%s: %s bucket %s was skipped: %s", visit.name, lost.partition, lost.bucket, lost.reason)


def dropped_buckets(dropped: Sequence[DroppedBucket]) -> dict[str, Any]:
    """Return the skipped buckets, if there are any, as metadata."""
    if not dropped:
        return {}
    rows = (f"| {d.partition or 'the table'} | {d.bucket} | {d.reason} |" for d in dropped)
    lines = ["| partition | bucket | why |", "|:--|--:|:--|", *rows]
    return {"buckets dropped": dg.MetadataValue.md("\n".join(lines))}
