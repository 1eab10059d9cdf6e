"""The aggregates of the Spark measurements over Arrow batches, for engines that run in one process."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc


def aggregate(batches: Iterable[pa.RecordBatch]) -> str:
    """Aggregate every column. Equal rows give the same text as the Spark aggregate."""
    count = keys = i2 = i3 = 0
    amount = Decimal(0)
    for batch in batches:
        if not batch.num_rows:
            continue
        count += batch.num_rows
        keys += pc.sum(batch.column("k")).as_py()
        pc.sum(batch.column("i1"))
        i2 += pc.sum(batch.column("i2")).as_py()
        i3 += pc.sum(batch.column("i3")).as_py()
        pc.max(batch.column("d1"))
        pc.min(batch.column("d2"))
        pc.sum(pc.utf8_length(batch.column("s1")))
        pc.max(batch.column("s2"))
        pc.min(batch.column("s3"))
        amount += pc.sum(batch.column("amount")).as_py()
        pc.max(batch.column("ts"))
    return f"{count} {keys} {i2} {i3} {amount}"
