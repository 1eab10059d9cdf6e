"""The name by which assets ask for a Spark frame, without importing pyspark when the project is loaded.

``SparkFrame`` is ``pyspark.sql.DataFrame`` to a type checker. At run time it is a stand-in whose ``isinstance`` answers
for the real class, the parent of classic and Connect frames alike, once a session has imported it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame as SparkFrame
else:

    class _SparkFrameType(type):
        def __instancecheck__(cls, value: object) -> bool:
            pyspark = sys.modules.get("pyspark.sql")
            return pyspark is not None and isinstance(value, pyspark.DataFrame)

    class SparkFrame(metaclass=_SparkFrameType):
        """A Spark DataFrame, classic or Connect."""


__all__ = ["Frame", "SparkFrame", "wants_spark"]

Frame: TypeAlias = SparkFrame | pa.Table | pa.RecordBatchReader


def wants_spark(annotation: object) -> bool:
    """Whether an annotation means a Spark frame: the stand-in, or pyspark's own class."""
    if annotation is SparkFrame:
        return True
    pyspark = sys.modules.get("pyspark.sql")
    return pyspark is not None and isinstance(annotation, type) and issubclass(annotation, pyspark.DataFrame)
