"""The first rows of a frame in an order, by Spark, whose order is the library's: NaN is larger than all numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from table_format.model.row_order import OrderedColumn, RowLimit
from table_format.spark.names import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def first_rows_of(frame: DataFrame, limit: RowLimit) -> DataFrame:
    """The rows of a frame that a limit leaves; any without an order."""
    ordered = frame.orderBy(*map(_column, limit.order)) if limit.order else frame
    return ordered.limit(limit.count)


def _column(ordered: OrderedColumn) -> Column:
    column = F.col(quoted(ordered.column))
    if ordered.descending:
        return column.desc_nulls_first() if ordered.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if ordered.nulls_first else column.asc_nulls_last()
