"""The two ways rows move: Arrow inside this process, and Spark. Planning and committing are the same for both.

An engine turns a frame into commit messages and a planned scan into a frame; nothing it writes is visible before the
IO manager commits the messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

import pyarrow as pa

from dagster_paimon.io.frames import SparkFrame
from dagster_paimon.resources.progress import Log
from dagster_paimon.resources.spark import SparkResource
from table_format.model.arrow_calls import nulls
from table_format.model.arrow_types import arrow_type, fields_from_arrow
from table_format.model.commit import CommitMessage
from table_format.model.row_kind import ROW_KIND_COLUMN
from table_format.model.schema import TableSchema
from table_format.model.types import DataField
from table_format.table.facts import TableFacts
from table_format.table.read.scan import Scan
from table_format.table.write.commit_retries import is_repeatable
from table_format.table.write.table_write import TableWrite

if TYPE_CHECKING:
    from pyspark.sql import Column

Messages: TypeAlias = tuple[CommitMessage, ...]


class FrameWriter(Protocol):
    """One frame about to be written."""

    def fields(self) -> tuple[DataField, ...]:
        """The columns of the frame in types of the format."""
        ...

    @property
    def is_repeatable(self) -> bool:
        """Whether ``write`` can be called again, for a commit that lost a race; a stream is read once."""
        ...

    def write(self, facts: TableFacts, *, replacing: bool) -> Messages:
        """Write the rows to files: columns by name, missing ones as nulls, types cast to the table's."""
        ...


class ArrowWriter:
    """Writes a table or a stream of Arrow in this process."""

    def __init__(self, frame: pa.Table | pa.RecordBatchReader) -> None:
        self._frame = frame

    def fields(self) -> tuple[DataField, ...]:
        """See ``FrameWriter``."""
        return fields_from_arrow(self._frame.schema)

    @property
    def is_repeatable(self) -> bool:
        """See ``FrameWriter``."""
        return is_repeatable(self._frame)

    def write(self, facts: TableFacts, *, replacing: bool) -> Messages:
        """See ``FrameWriter``."""
        reader = self._frame.to_reader() if isinstance(self._frame, pa.Table) else self._frame
        writer = TableWrite(facts, replacing=replacing)
        return writer.write(_with_missing(reader, facts.schema))


class SparkWriter:
    """Writes a Spark frame inside Spark's tasks."""

    def __init__(self, frame: SparkFrame, spark: SparkResource, log: Log) -> None:
        self._frame = frame
        self._spark = spark
        self._log = log

    def fields(self) -> tuple[DataField, ...]:
        """See ``FrameWriter``."""
        from table_format.spark.types import fields_of_spark

        return fields_of_spark(self._frame.schema)

    @property
    def is_repeatable(self) -> bool:
        """See ``FrameWriter``: Spark computes the frame again."""
        return True

    def write(self, facts: TableFacts, *, replacing: bool) -> Messages:
        """See ``FrameWriter``."""
        from table_format.spark.tasks.code_shipping import ship_code
        from table_format.spark.write.frames import write_frame

        with self._spark.following(self._log, f"writing {facts.name}") as session:
            ship_code(session)
            return write_frame(self._conformed(facts.schema), facts, replacing=replacing)

    def _conformed(self, schema: TableSchema) -> SparkFrame:
        present = set(self._frame.columns)
        columns = [self._column(field, present) for field in schema.fields]
        kinds = [ROW_KIND_COLUMN] if ROW_KIND_COLUMN in present else []
        return self._frame.select(*columns, *kinds)

    @staticmethod
    def _column(field: DataField, present: set[str]) -> Column:
        from pyspark.sql import functions as F

        from table_format.spark.types import spark_type

        quoted = "`" + field.name.replace("`", "``") + "`"
        value = F.col(quoted) if field.name in present else F.lit(None)
        return value.cast(spark_type(field.type, field.name)).alias(field.name)


def writer_of(frame: object, spark: SparkResource, log: Log) -> FrameWriter:
    """The engine for a frame, by its type.

    Raises:
        TypeError: the value is no frame.
    """
    if isinstance(frame, SparkFrame):
        return SparkWriter(frame, spark, log)
    if isinstance(frame, pa.Table | pa.RecordBatchReader):
        return ArrowWriter(frame)
    message = (
        f"an asset stored as a table returns a pyspark DataFrame, a pyarrow Table or a pyarrow RecordBatchReader; "
        f"found {type(frame).__name__}"
    )
    raise TypeError(message)


def read_with_spark(scan: Scan, spark: SparkResource) -> SparkFrame:
    """A planned scan as a Spark frame; nothing is read before Spark runs it."""
    from table_format.spark.read.frames import frame_of
    from table_format.spark.tasks.code_shipping import ship_code

    session = spark.session()
    ship_code(session)
    return frame_of(session, scan.facts, scan.plan())


def _with_missing(reader: pa.RecordBatchReader, schema: TableSchema) -> pa.RecordBatchReader:
    """The stream with a null column for each one of the table that it lacks."""
    missing = [field for field in schema.fields if field.name not in reader.schema.names]
    if not missing:
        return reader
    widened = reader.schema
    for field in missing:
        widened = widened.append(pa.field(field.name, arrow_type(field.type)))

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            missing_columns = [nulls(batch.num_rows, arrow_type(field.type)) for field in missing]
            yield pa.RecordBatch.from_arrays([*batch.columns, *missing_columns], schema=widened)

    return pa.RecordBatchReader.from_batches(widened, batches())
