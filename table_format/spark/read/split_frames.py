"""Reads the splits of a scan in tasks of this library: those of system tables and of format tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_format.spark.tasks.read_work import for_spark
from table_format.spark.tasks.task_inputs import TaskInputs, numbers_in
from table_format.spark.tasks.worker import map_in_workers
from table_format.spark.types import frame_schema
from table_format.table.system.table import SplitReading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ZONE = "spark.sql.session.timeZone"


def split_frame(spark: SparkSession, reading: SplitReading) -> DataFrame:
    """Return the rows of a scan that is planned now, with a task for each split."""
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
