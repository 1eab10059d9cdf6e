"""Returns the first rows of a DataFrame in an order. Spark and this library order NaN after all numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from table_format.model.row_order import OrderedColumn, RowLimit
from table_format.spark.names import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def first_rows_of(frame: DataFrame, limit: RowLimit) -> DataFrame:
    """Return the rows of a DataFrame within a limit; any rows if the limit has no order."""
    ordered = frame.orderBy(*map(_column, limit.order)) if limit.order else frame
    return ordered.limit(limit.count)


def _column(ordered: OrderedColumn) -> Column:
    column = F.col(quoted(ordered.column))
    if ordered.descending:
        return column.desc_nulls_first() if ordered.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if ordered.nulls_first else column.asc_nulls_last()
