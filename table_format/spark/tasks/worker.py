"""Runs functions over Arrow batches in Spark's Python workers. A worker runs one task after the other.

After every task, PySpark runs the garbage collector, which visits all objects of all modules. This takes 45 ms and
doubles the time of a short task. Objects that exist at the end of the first task of a worker live as long as the
worker, so they are excluded from collection.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Batches: TypeAlias = Iterator[pa.RecordBatch]

_is_settled = False


def map_in_workers(frame: DataFrame, run: Callable[[Batches], Batches], schema: StructType | str) -> DataFrame:
    """Apply a function to the batches of each task. The results have the given schema."""

    def run_and_settle(batches: Batches) -> Batches:
        yield from run(batches)
        # After a failure, the rest of the input must be consumed, or the worker cannot run another task.
        for _ in batches:
            pass
        settle()

    return frame.mapInArrow(run_and_settle, schema)


def settle() -> None:
    """Exclude existing objects from garbage collection in this process. A second call has no effect."""
    global _is_settled
    if not _is_settled:
        gc.collect()
        gc.freeze()
        _is_settled = True
