"""Splits put together for the tasks that read them, and frames of one row for each such group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql.types import DataType, StructType

from table_format.limits import MIB
from table_format.model.split import DataSplit
from table_format.options.scan import ScanOptions
from table_format.spark.tasks.code_shipping import is_connect
from table_format.spark.tasks.split_groups import grouped_splits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_ESTIMATE: Final = 512 * MIB
"""Nothing is broadcast of this size; to count up to more of it would cost time."""

_NUMBER_BYTES: Final = 8
_ROW_BYTES: Final = 8
_OTHER_WIDTH: Final = 20
_WIDTHS: Final = {
    **dict.fromkeys(("boolean", "byte", "tinyint"), 1),
    **dict.fromkeys(("short", "smallint"), 2),
    **dict.fromkeys(("integer", "float", "date"), 4),
    **dict.fromkeys(("long", "bigint", "double", "timestamp", "timestamp_ntz"), 8),
    "decimal": 16,
    "binary": 100,
}


def grouped(spark: SparkSession, splits: Sequence[DataSplit], options: ScanOptions) -> Sequence[Sequence[DataSplit]]:
    """The splits in groups, each for a task; see ``grouped_splits``."""
    return grouped_splits(splits, options, parallelism=parallelism(spark))


def task_numbers(spark: SparkSession, tasks: int, *, size: int) -> DataFrame:
    """The numbers of tasks, one in each partition; what is made of them is estimated to take ``size`` bytes.

    Spark estimates what a Python function returns to be as large as what it gets, which would be eight bytes for each
    task: it would broadcast tables of any size. So it is shown a range of as many bytes as are expected, all of which
    but one number in each partition are dropped by a condition, whose effect it does not estimate.
    """
    width = max(1, min(size, MAX_ESTIMATE) // (_NUMBER_BYTES * tasks))
    numbers = spark.range(0, width * tasks, 1, tasks)
    return numbers.where(f"id % {width}L = 0").selectExpr(f"id div {width}L AS id")


def estimated_size(schema: StructType, rows: int) -> int:
    """The bytes of so many rows, at the widths that Spark assumes for its types."""
    return rows * (_ROW_BYTES + sum(_width(field.dataType) for field in schema.fields))


def _width(data_type: DataType) -> int:
    if isinstance(data_type, StructType):
        return sum(_width(field.dataType) for field in data_type.fields)
    return _WIDTHS.get(data_type.typeName(), _OTHER_WIDTH)


def parallelism(spark: SparkSession) -> int:
    """Tasks that run side by side. A Connect client sees no cores, but what they were set up for."""
    if is_connect(spark):
        return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    return int(spark.sparkContext.defaultParallelism)
