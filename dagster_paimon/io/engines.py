"""The two engines that write rows: Arrow in this process, and Spark. Planning and commits are the same for both.

An engine turns a frame into commit messages. Nothing is visible before the IO manager commits them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast

import pyarrow as pa

from dagster_paimon.io.frames import FrameType, SparkFrame, frame_type_of, known_types
from dagster_paimon.io.partitions import Slice, condition_of
from dagster_paimon.io.tally import RETRACTING, Tally
from dagster_paimon.resources.progress import Log
from dagster_paimon.resources.spark import SparkResource
from table_format import TableSchema
from table_format.engine import CommitMessage, TableFacts, TableWrite, is_repeatable, reader_of
from table_format.engine.support import ROW_KIND_COLUMN, nulls
from table_format.errors import InvalidData
from table_format.types import DataField, arrow_type, fields_from_arrow

if TYPE_CHECKING:
    from pyspark.sql import Column

Messages: TypeAlias = tuple[CommitMessage, ...]
_OUTSIDE: Final = "row outside of the partitions of the run: "


@dataclass(frozen=True, slots=True)
class Handling:
    """How the rows of a frame are handled when they are written.

    ``kind`` is the row kind of all rows, such as ``-D``. ``tally`` counts them. ``dropped`` columns are not stored.
    """

    kind: str | None = None
    tally: Tally | None = None
    dropped: frozenset[str] = frozenset()


class FrameWriter(Protocol):
    """A frame to write."""

    handling: Handling

    def fields(self) -> tuple[DataField, ...]:
        """The columns of the frame in types of the format."""
        ...

    @property
    def is_repeatable(self) -> bool:
        """Whether ``write`` can be called again after a lost commit race. A stream can be read only once."""
        ...

    def write(self, facts: TableFacts, *, replacing: bool) -> Messages:
        """Write the rows to files: columns by name, missing ones as nulls, types cast to the table's."""
        ...


@dataclass(frozen=True, slots=True)
class Restartable:
    """Rows that can be read several times: each call of ``open`` returns a new stream of all rows."""

    schema: pa.Schema
    open: Callable[[], pa.RecordBatchReader]


ArrowRows: TypeAlias = pa.Table | pa.RecordBatchReader | Restartable


class ArrowWriter:
    """Writes Arrow-compatible frames in this process."""

    def __init__(self, frame: ArrowRows) -> None:
        self.handling = Handling()
        self._frame = frame

    def fields(self) -> tuple[DataField, ...]:
        """See ``FrameWriter``."""
        return fields_from_arrow(self._frame.schema)

    @property
    def is_repeatable(self) -> bool:
        """See ``FrameWriter``."""
        return isinstance(self._frame, Restartable) or is_repeatable(self._frame)

    def write(self, facts: TableFacts, *, replacing: bool) -> Messages:
        """See ``FrameWriter``."""
        frame = self._frame
        reader = frame.open() if isinstance(frame, Restartable) else reader_of(frame)
        writer = TableWrite(facts, replacing=replacing, shared=False)
        return writer.write(_with_missing(_handled(reader, self.handling), facts.schema))


class SparkWriter:
    """Writes a Spark frame in Spark tasks."""

    def __init__(self, frame: SparkFrame, spark: SparkResource, log: Log) -> None:
        self.handling = Handling()
        self._frame = frame
        self._spark = spark
        self._log = log

    def fields(self) -> tuple[DataField, ...]:
        """See ``FrameWriter``."""
        from table_format.spark.engine import fields_of_spark

        return fields_of_spark(self._frame.schema)

    @property
    def is_repeatable(self) -> bool:
        """See ``FrameWriter``: Spark computes the frame again."""
        return True

    def write(self, facts: TableFacts, *, replacing: bool) -> Messages:
        """See ``FrameWriter``."""
        from table_format.spark.engine import ship_code, write_frame

        with self._spark.following(self._log, f"writing {facts.name}") as session:
            ship_code(session)
            counted, read_counts = self._counted()
            try:
                messages = write_frame(self._conformed(counted, facts.schema), facts, replacing=replacing)
            except Exception as error:
                refusal = self._refusal(error)
                if refusal is None:
                    raise
                raise refusal from error
            read_counts()
            return messages

    def _conformed(self, frame: SparkFrame, schema: TableSchema) -> SparkFrame:
        from pyspark.sql import functions as F

        present = set(frame.columns) - self.handling.dropped
        columns = [self._column(field, present) for field in schema.fields]
        if self.handling.kind is not None:
            return frame.select(*columns, F.lit(self.handling.kind).alias(ROW_KIND_COLUMN))
        kinds = [ROW_KIND_COLUMN] if ROW_KIND_COLUMN in present else []
        return frame.select(*columns, *kinds)

    @staticmethod
    def _column(field: DataField, present: set[str]) -> Column:
        from pyspark.sql import functions as F

        from table_format.spark.engine import spark_type

        quoted = "`" + field.name.replace("`", "``") + "`"
        value = F.col(quoted) if field.name in present else F.lit(None)
        return value.cast(spark_type(field.type, field.name)).alias(field.name)

    def _counted(self) -> tuple[SparkFrame, Callable[[], None]]:
        """Return the frame with row counters for each partition, and a function that reads them after the frame has
        run.
        """
        tally, frame = self.handling.tally, self._frame
        if tally is None:
            return frame, lambda: None
        tally.begin()
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        if tally.refuse_others:
            frame = self._refusing(frame, tally)
        if not tally.slices:
            return frame, lambda: None
        kind = F.lit(self.handling.kind)
        if self.handling.kind is None and ROW_KIND_COLUMN in frame.columns:
            kind = F.col(ROW_KIND_COLUMN)
        retracts = F.coalesce(kind.isin(sorted(RETRACTING)), F.lit(False))
        conditions = [self._held(found, tally) for found in tally.slices]
        counters = [F.count(F.when(held, 1)).alias(f"rows{at}") for at, held in enumerate(conditions)]
        counters += [F.count(F.when(held & retracts, 1)).alias(f"deletes{at}") for at, held in enumerate(conditions)]
        observation = Observation()

        def read_counts() -> None:
            counts: dict[str, Any] = observation.get
            for at, found in enumerate(tally.slices):
                tally.add(found.key, int(counts[f"rows{at}"]), int(counts[f"deletes{at}"]))

        return frame.observe(observation, *counters), read_counts

    @staticmethod
    def _held(found: Slice, tally: Tally) -> Column:
        """Return whether a row belongs to a partition."""
        from pyspark.sql import functions as F

        from table_format.spark.engine import column, condition, literal

        if not tally.in_lists:
            return condition(condition_of([found]), tally.fields)
        field = tally.fields[0]
        values = [literal(spec[field.name], field.type) for spec in found.specs()]
        return F.arrays_overlap(column(field.name), F.array(*values))

    @staticmethod
    def _refusing(frame: SparkFrame, tally: Tally) -> SparkFrame:
        """Return the frame with a check that fails for a row outside of all partitions."""
        from pyspark.sql import functions as F

        from table_format.spark.engine import column, condition, spark_type

        shown: list[Column] = []
        for field in tally.fields:
            text = F.coalesce(column(field.name).cast("string"), F.lit("null"))
            shown += [F.lit(f"{', ' if shown else ''}{field.name} = "), text]
        fails = F.raise_error(F.concat(F.lit(_OUTSIDE), *shown, F.lit(";")))
        held = F.coalesce(condition(condition_of(tally.slices), tally.fields), F.lit(False))
        first = tally.fields[0]
        # A written column contains the check, because Spark drops unused columns.
        checked = F.when(held, column(first.name)).otherwise(fails.cast(spark_type(first.type, first.name)))
        return frame.withColumn(first.name, checked)

    def _refusal(self, error: Exception) -> InvalidData | None:
        """Return the error of this library if Spark failed because of a row outside of all partitions."""
        _, found, rest = str(error).partition(_OUTSIDE)
        tally = self.handling.tally
        return tally.error(rest.partition(";")[0]) if tally is not None and found else None


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
        return ArrowWriter(rows)
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
            return cast("pa.Table", frame.to_arrow())
        case FrameType.polars_lazy:
            return cast("pa.Table", frame.collect().to_arrow())
        case FrameType.duckdb:
            return Restartable(frame.to_arrow_reader().schema, frame.to_arrow_reader)
    return pa.RecordBatchReader.from_stream(frame) if hasattr(frame, "__arrow_c_stream__") else None


def _handled(reader: pa.RecordBatchReader, handling: Handling) -> pa.RecordBatchReader:
    """Return the stream with row counting, without columns that are not stored, and with the row kind of all rows."""
    if handling == Handling():
        return reader
    if handling.tally is not None:
        handling.tally.begin()
    kept = [name for name in reader.schema.names if name not in handling.dropped]
    if handling.kind is not None and ROW_KIND_COLUMN in kept:
        message = f"the frame has a column {ROW_KIND_COLUMN}, but every row is written as {handling.kind}; drop it"
        raise InvalidData(message)
    schema = pa.schema([reader.schema.field(name) for name in kept])
    if handling.kind is not None:
        schema = schema.append(pa.field(ROW_KIND_COLUMN, pa.string()))

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            if handling.tally is not None:
                handling.tally.count(batch, kind=handling.kind)
            columns = [batch.column(name) for name in kept]
            if handling.kind is not None:
                columns.append(pa.repeat(pa.scalar(handling.kind), batch.num_rows))
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _with_missing(reader: pa.RecordBatchReader, schema: TableSchema) -> pa.RecordBatchReader:
    """Return the stream with a null column for each missing column of the table."""
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


def stored_fields(fields: Sequence[DataField], dropped: frozenset[str]) -> tuple[DataField, ...]:
    """Return the columns of a frame that are stored."""
    return tuple(field for field in fields if field.name not in dropped)
