"""Selects the partitions that match a condition in Spark SQL, for an overwrite that replaces them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql.types import IntegerType, StructField, StructType

from table_format.errors import InvalidInputError
from table_format.kernels.values import array_of
from table_format.spark.dml.clauses import condition_column
from table_format.spark.tasks.arrow_rows import frame_of_rows
from table_format.spark.types import frame_schema
from table_format.spark.write.named_rows import free_name
from table_format.table.facts import TableFacts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_NUMBER: Final = "partition_number"


@dataclass(frozen=True)
class ChosenPartitions:
    """The partitions of a table that match a condition. Call it with partitions to get those that match.

    Spark evaluates the condition on the values of the partition columns, so it may contain any of its functions.
    """

    spark: SparkSession
    facts: TableFacts
    condition: Column

    @classmethod
    def of(cls, spark: SparkSession, facts: TableFacts, condition: object) -> ChosenPartitions:
        """Check a condition, which is Spark SQL, a Spark column, or a condition built with ``table_format.col``.

        Raises:
            InvalidInputError: the condition names a column that is not a partition column.
            UnsupportedFeature: Spark does not have the type of a partition column.
        """
        column = condition_column(condition, facts.schema.fields)
        if column is None:
            message = f"overwrite of {facts.name}: the condition is missing"
            raise InvalidInputError(message)
        chosen = cls(spark, facts, column)
        chosen._check()
        return chosen

    def __call__(self, partitions: frozenset[bytes]) -> frozenset[bytes]:
        """Return the partitions for which the condition is true."""
        ordered = sorted(partitions)
        rows = self._matching(ordered).select(self._number).collect()
        return frozenset(ordered[row[0]] for row in rows)

    def _check(self) -> None:
        try:
            _ = self._matching(()).schema
        except AnalysisException as error:
            if not (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
                raise
            keys = ", ".join(self.facts.schema.partition_keys) or "none"
            named = (error.getMessageParameters() or {}).get("objectName", "a name in it")
            message = (
                f"overwrite of {self.facts.name}: the condition must select whole partitions, but {named} is not a "
                f"partition column; the partition columns are {keys}. To replace other rows, delete them, then append"
            )
            raise InvalidInputError(message) from error

    def _matching(self, partitions: Sequence[bytes]) -> DataFrame:
        """Return the values and the numbers of the partitions that match."""
        fields = self.facts.partitions.fields
        values = [self.facts.partitions.values(partition) for partition in partitions]
        arrays = [array_of([row[place] for row in values], field.type) for place, field in enumerate(fields)]
        schema = frame_schema(fields)
        named = StructType([*schema.fields, StructField(self._number, IntegerType())])
        numbers = pa.array(range(len(partitions)), pa.int32())
        rows = pa.Table.from_arrays([*arrays, numbers], names=named.names)
        frame = frame_of_rows(self.spark, rows, named)
        return frame.alias(self.facts.name.rpartition(".")[2]).where(self.condition)

    @property
    def _number(self) -> str:
        return free_name(_NUMBER, self.facts.schema.field_names)
