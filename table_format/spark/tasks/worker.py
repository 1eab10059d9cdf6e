"""Functions over Arrow batches in Spark's Python workers, each of which runs one task after the other.

After every task PySpark has the interpreter look for garbage, which goes through all objects of all modules: 45 ms that
a short task takes twice as long for. What lives at the end of a worker's first task lives as long as the worker, so it
is taken out of the search.
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
    """The batches that the function makes of those of each task; they have that schema."""

    def run_and_settle(batches: Batches) -> Batches:
        yield from run(batches)
        # After a failure the rest is still to be taken, or the worker cannot serve another task.
        for _ in batches:
            pass
        settle()

    return frame.mapInArrow(run_and_settle, schema)


def settle() -> None:
    """Take what lives now out of this process's search for garbage; the second call does nothing."""
    global _is_settled
    if not _is_settled:
        gc.collect()
        gc.freeze()
        _is_settled = True
