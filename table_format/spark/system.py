"""Returns system tables as DataFrames: the driver produces metadata, Spark tasks read rows of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_format.model.condition import Filter
from table_format.model.predicate import columns_of
from table_format.spark.read.frames import frame_of
from table_format.spark.read.readable_names import first_columns
from table_format.spark.tasks.arrow_rows import frame_of_rows
from table_format.spark.tasks.read_work import for_spark
from table_format.spark.tasks.task_inputs import TaskInputs, numbers_in
from table_format.spark.tasks.worker import map_in_workers
from table_format.spark.types import frame_schema
from table_format.table.read.filters import bound_filter
from table_format.table.read.scan import Scan
from table_format.table.system.table import Reading, SplitReading, SystemTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ZONE = "spark.sql.session.timeZone"


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
        return _split_frame(spark, reading)
    rows = reading.to_arrow()
    by_name = {f.name: f for f in table.fields}
    # The schema is given, because Spark would interpret local times as instants.
    schema = frame_schema([by_name[name] for name in rows.schema.names])
    return frame_of_rows(spark, rows, schema)


def _split_frame(spark: SparkSession, reading: SplitReading) -> DataFrame:
    schema = frame_schema(reading.fields)
    splits = tuple(reading.plan().splits)
    if not splits:
        return spark.createDataFrame([], schema)
    read = _reader(reading.split_reader(), TaskInputs.of(splits), zone=spark.conf.get(_ZONE) or "UTC")
    # One number for each split, each in a separate task. The splits are sent with the code of the task.
    return map_in_workers(spark.range(0, len(splits), 1, len(splits)), read, schema)


def _reader(
    read: Callable[[Any], Iterator[pa.RecordBatch]], splits: TaskInputs[Any], *, zone: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def rows(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers_in(numbers):
            for found in read(splits[number]):
                yield for_spark(found, zone=zone)

    return rows
