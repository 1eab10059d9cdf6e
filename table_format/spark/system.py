"""Returns system tables as DataFrames: the driver produces metadata, Spark tasks read rows of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from table_format.model.condition import Filter
from table_format.model.predicate import columns_of
from table_format.spark.read.frames import frame_of
from table_format.spark.read.readable_names import first_columns
from table_format.spark.read.split_frames import split_frame
from table_format.spark.tasks.arrow_rows import frame_of_rows
from table_format.spark.types import frame_schema
from table_format.table.read.filters import bound_filter
from table_format.table.read.scan import Scan
from table_format.table.system.table import Reading, SplitReading, SystemTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def system_frame(
    spark: SparkSession,
    table: SystemTable,
    *,
    columns: Sequence[str] | None,
    filter: Filter | None,
    options: Mapping[str, str],
) -> DataFrame:
    """Return the rows of a system table. Metadata is read now, not when Spark runs the DataFrame.

    Raises:
        ColumnNotFound, InvalidFilter, InvalidOption: as for ``SystemTable.scan``.
    """
    if columns is None and filter is None:
        return _frame(spark, table, table.scan(options=options or None))
    predicate = bound_filter(filter, table.fields)
    wanted = tuple(f.name for f in table.fields) if columns is None else tuple(columns)
    needed = columns_of(predicate) if predicate is not None else frozenset()
    hidden = sorted(needed.difference(wanted))
    frame = _frame(spark, table, table.scan((*wanted, *hidden), predicate, options or None))
    return first_columns(frame, wanted) if hidden else frame


def _frame(spark: SparkSession, table: SystemTable, reading: Reading) -> DataFrame:
    if isinstance(reading, Scan):
        return frame_of(spark, reading.facts, reading.plan())
    if isinstance(reading, SplitReading):
        return split_frame(spark, reading)
    rows = reading.to_arrow()
    by_name = {f.name: f for f in table.fields}
    # The schema is given, because Spark would interpret local times as instants.
    schema = frame_schema([by_name[name] for name in rows.schema.names])
    return frame_of_rows(spark, rows, schema)
