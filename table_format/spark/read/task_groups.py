"""Groups splits for the tasks that read them, and builds DataFrames with one row for each group."""

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
"""Maximum size estimate. Spark broadcasts nothing of this size, and a larger range would take longer to count."""

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
    """Return the splits in groups, one for each task; see ``grouped_splits``."""
    return grouped_splits(splits, options, parallelism=parallelism(spark))


def task_numbers(spark: SparkSession, tasks: int, *, size: int) -> DataFrame:
    """Return the numbers of tasks, one in each Spark partition. Spark estimates the result at ``size`` bytes.

    Spark assumes that a Python function returns as many bytes as it gets. With eight bytes for each task, it would
    broadcast tables of any size. The input is therefore a range with the expected number of bytes, and a condition,
    whose effect Spark does not estimate, keeps one number in each Spark partition.
    """
    width = max(1, min(size, MAX_ESTIMATE) // (_NUMBER_BYTES * tasks))
    numbers = spark.range(0, width * tasks, 1, tasks)
    return numbers.where(f"id % {width}L = 0").selectExpr(f"id div {width}L AS id")


def estimated_size(schema: StructType, rows: int) -> int:
    """Return the size of ``rows`` rows in bytes, with the widths that Spark assumes for its types."""
    return rows * (_ROW_BYTES + sum(_width(field.dataType) for field in schema.fields))


def _width(data_type: DataType) -> int:
    if isinstance(data_type, StructType):
        return sum(_width(field.dataType) for field in data_type.fields)
    return _WIDTHS.get(data_type.typeName(), _OTHER_WIDTH)


def parallelism(spark: SparkSession) -> int:
    """Return how many tasks run in parallel. A Connect client cannot see the cores, only the configuration."""
    if is_connect(spark):
        return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    return int(spark.sparkContext.defaultParallelism)
