"""Chooses the engine that writes a frame: Arrow in this process, or Spark. Plans and commits are the same for both."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa

from dagster_paimon.io.arrow_writer import ArrowRows, ArrowWriter, Restartable
from dagster_paimon.io.frame_writer import FrameWriter
from dagster_paimon.io.frames import FrameType, SparkFrame, frame_type_of, known_types
from dagster_paimon.io.spark_writer import SparkWriter
from dagster_paimon.resources.progress import Log
from dagster_paimon.resources.spark import SparkResource
from table_format.engine import reader_of, refuse_objects
from table_format.errors import InvalidData


def writer_of(frame: object, spark: SparkResource, log: Log) -> FrameWriter:
    """Return the engine for a frame, by its type.

    Raises:
        TypeError: the value is not a frame.
        InvalidData: its values have no Arrow type.
    """
    if isinstance(frame, SparkFrame):
        return SparkWriter(frame, spark, log)
    rows = _as_arrow(frame)
    if rows is not None:
        return ArrowWriter(rows, of_pandas=frame_type_of(type(frame)) is FrameType.pandas)
    message = f"an asset stored as a table must return a {known_types()}; found {type(frame).__name__}"
    raise TypeError(message)


def _as_arrow(frame: Any) -> ArrowRows | None:  # noqa: ANN401 - frames of packages that may be missing
    if isinstance(frame, pa.Table | pa.RecordBatchReader):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    match frame_type_of(type(frame)):
        case FrameType.dataset:
            return Restartable(frame.schema, lambda: frame.scanner().to_reader())
        case FrameType.pandas:
            return reader_of(frame).read_all()
        case FrameType.polars:
            return _of_polars(frame)
        case FrameType.polars_lazy:
            return _of_polars(frame.collect())
        case FrameType.duckdb:
            return Restartable(frame.to_arrow_reader().schema, frame.to_arrow_reader)
    return pa.RecordBatchReader.from_stream(frame) if hasattr(frame, "__arrow_c_stream__") else None


def _of_polars(frame: Any) -> pa.Table:  # noqa: ANN401 - polars may be missing
    refuse_objects(frame)
    try:
        return cast("pa.Table", frame.to_arrow())
    except pa.ArrowException as error:
        types = ", ".join(f"{name} {data_type}" for name, data_type in frame.schema.items())
        message = f"a column of the polars frame ({types}) has a type that Arrow lacks, so cast it: {error}"
        raise InvalidData(message) from error
