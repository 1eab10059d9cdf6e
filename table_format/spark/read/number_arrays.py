"""Sends an array of numbers to Spark as a column with the same value in each row.

In a classic session, the column is a literal. Spark passes an array literal to generated code as an object, so the
numbers are not part of the code. A literal of Spark Connect would be built number by number, so there the column is a
subquery. Spark plans a subquery again for each use in a condition and for each copy of the condition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.classic.column import Column as ClassicColumn

from table_format.spark.read.jvm_plans import JavaObject, OfSession
from table_format.spark.tasks.arrow_rows import frame_of_rows
from table_format.spark.tasks.code_shipping import is_connect

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


def array_column(spark: SparkSession, numbers: npt.NDArray[np.int64]) -> Column:
    """Return the numbers as a column of type ``array<bigint>``."""
    if not is_connect(spark):
        return _jvm_of(spark).literal(numbers)
    array = pa.ListArray.from_arrays(pa.array([0, len(numbers)], pa.int32()), pa.array(numbers))
    return frame_of_rows(spark, pa.table({"numbers": array}), "numbers array<bigint>").scalar()


@dataclass(frozen=True, slots=True)
class _Jvm:
    """Objects in the JVM of a session."""

    allocate: JavaObject
    wrap: JavaObject
    array_of: JavaObject
    type: JavaObject
    expression: JavaObject
    column: JavaObject

    @classmethod
    def of(cls, spark: SparkSession) -> _Jvm:
        """Look up the objects of a session."""
        jvm: JavaObject = spark._jvm
        sql = jvm.org.apache.spark.sql
        types = sql.types.DataTypes
        return cls(
            allocate=jvm.java.nio.LongBuffer.allocate,
            wrap=jvm.java.nio.ByteBuffer.wrap,
            array_of=sql.catalyst.expressions.UnsafeArrayData.fromPrimitiveArray,
            type=types.createArrayType(types.LongType, False),
            expression=sql.catalyst.expressions.Literal,
            column=sql.classic.ExpressionUtils.column,
        )

    def literal(self, numbers: npt.NDArray[np.int64]) -> Column:
        """Return a literal. Bytes pass to the JVM in one call; a buffer reads them with the highest byte first."""
        values = self.wrap(numbers.astype(">i8").tobytes()).asLongBuffer()
        array = self.array_of(self.allocate(len(numbers)).put(values).array())
        return ClassicColumn(self.column(self.expression(array, self.type)))


_jvm_of: Final = OfSession(_Jvm.of)
