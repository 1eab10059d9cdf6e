"""The write buffer, which collects rows before they are sorted and written."""

from __future__ import annotations

import pyarrow as pa


class WriteBuffer:
    """A buffer of batches with a maximum size in bytes."""

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity_bytes = capacity_bytes
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether the buffer has reached its maximum size."""
        return self._bytes >= self._capacity_bytes

    def add(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Add as many rows as fit, at least one, and return the others."""
        room = max(self._capacity_bytes - self._bytes, 0)
        size = max(batch.nbytes, 1)
        rows = batch.num_rows if size <= room else max(1, batch.num_rows * room // size)
        kept = batch.slice(0, rows)
        self._batches.append(kept)
        # The size of a part is estimated from its share and rounded up, so that the buffer eventually becomes full.
        self._bytes += size if rows == batch.num_rows else max(kept.nbytes, room)
        return batch.slice(rows)

    def drain(self) -> pa.Table | None:
        """Return all rows in order of arrival and empty the buffer; ``None`` if there are no rows."""
        if not self._batches:
            return None
        rows = pa.Table.from_batches(self._batches)
        self._batches, self._bytes = [], 0
        return rows
