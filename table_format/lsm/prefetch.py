"""Decodes batches ahead in a thread, so that the next batch of a run is read while the current one is merged."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa


def prefetched(batches: Generator[pa.RecordBatch], pool: ThreadPoolExecutor) -> Generator[pa.RecordBatch]:
    """Yield the same batches, and decode the next one ahead. Closing the result waits for it and closes ``batches``."""
    ahead: Future[pa.RecordBatch | None] = pool.submit(next, batches, None)
    try:
        while (batch := ahead.result()) is not None:
            ahead = pool.submit(next, batches, None)
            yield batch
    finally:
        ahead.exception()
        batches.close()
