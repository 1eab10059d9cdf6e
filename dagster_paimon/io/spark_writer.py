"""Writes Spark frames in Spark tasks. pyspark is imported when such a frame is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dagster_paimon.io.frame_columns import FrameColumns, untyped_field
from dagster_paimon.io.frame_writer import PLAIN, Handling, Messages
from dagster_paimon.io.frames import SparkFrame
from dagster_paimon.io.partitions import Slice, condition_of
from dagster_paimon.io.tally import RETRACTING, Tally
from dagster_paimon.resources.progress import Log
from dagster_paimon.resources.spark import SparkResource
from table_format import Schema, TableSchema
from table_format.engine import TableFacts
from table_format.engine.support import ROW_KIND_COLUMN
from table_format.errors import InvalidData
from table_format.types import DataField

if TYPE_CHECKING:
    from pyspark.sql import Column

_OUTSIDE: Final = "row outside of the partitions of the run: "


class SparkWriter:
    """Writes a Spark frame in Spark tasks."""

    def __init__(self, frame: SparkFrame, spark: SparkResource, log: Log) -> None:
        self._frame = frame
        self._spark = spark
        self._log = log

    def columns(self, table: Sequence[DataField]) -> FrameColumns:
        """See ``FrameWriter``."""
        from pyspark.sql.types import NullType, StructType

        from table_format.spark.engine import fields_of_spark

        known = {field.name: field for field in table}
        schema = self._frame.schema
        nulls = [field.name for field in schema if isinstance(field.dataType, NullType)]
        typed = fields_of_spark(StructType([field for field in schema if field.name not in nulls]))
        of_nulls = (known.get(name) or untyped_field(name) for name in nulls)
        return FrameColumns((*typed, *of_nulls), frozenset(nulls) - known.keys() - {ROW_KIND_COLUMN})

    @property
    def is_repeatable(self) -> bool:
        """See ``FrameWriter``: Spark computes the frame again."""
        return True

    def check(self, table: Schema, handling: Handling) -> None:
        """See ``FrameWriter``: Spark computes the rows when they are written."""

    def write(self, facts: TableFacts, *, replacing: bool, handling: Handling = PLAIN) -> Messages:
        """See ``FrameWriter``."""
        from table_format.spark.engine import ship_code, write_frame

        with self._spark.following(self._log, f"writing {facts.name}") as session:
            ship_code(session)
            handled = _HandledFrame(self._frame, handling)
            counted, read_counts = handled.counted()
            try:
                messages = write_frame(handled.conformed(counted, facts.schema), facts, replacing=replacing)
            except Exception as error:
                refusal = handled.refusal(error)
                if refusal is None:
                    raise
                raise refusal from error
            read_counts()
            return messages


@dataclass(frozen=True, slots=True)
class _HandledFrame:
    """The rows of a frame as they are written."""

    frame: SparkFrame
    handling: Handling

    def conformed(self, frame: SparkFrame, schema: TableSchema) -> SparkFrame:
        """Return the frame with the columns of a table."""
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

    def counted(self) -> tuple[SparkFrame, Callable[[], None]]:
        """Return the frame with row counters for each partition, and a function that reads them after the frame has
        run.
        """
        tally, frame = self.handling.tally, self.frame
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

    def refusal(self, error: Exception) -> InvalidData | None:
        """Return the error of this library if Spark failed because of a row outside of all partitions."""
        _, found, rest = str(error).partition(_OUTSIDE)
        tally = self.handling.tally
        return tally.error(rest.partition(";")[0]) if tally is not None and found else None
