"""Writes Arrow-compatible frames in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from dagster_paimon.io.frame_columns import FrameColumns, columns_of_arrow
from dagster_paimon.io.frame_writer import PLAIN, Handling, Messages
from table_format import Schema, TableSchema
from table_format.engine import TableFacts, TableWrite, check_rows, is_repeatable, reader_of
from table_format.engine.support import ROW_KIND_COLUMN, nulls, with_integers
from table_format.errors import InvalidData
from table_format.types import DataField, arrow_type


@dataclass(frozen=True, slots=True)
class Restartable:
    """Rows that can be read several times: each call of ``open`` returns a new stream of all rows."""

    schema: pa.Schema
    open: Callable[[], pa.RecordBatchReader]


ArrowRows: TypeAlias = pa.Table | pa.RecordBatchReader | Restartable


class ArrowWriter:
    """Writes Arrow-compatible frames in this process.

    The types of pandas (``of_pandas``) may differ from those of the values: those of a frame without rows have no
    meaning, and integers with a missing value are floating point.
    """

    def __init__(self, frame: ArrowRows, *, of_pandas: bool = False) -> None:
        self._frame = frame
        self._of_pandas = of_pandas
        self._is_empty = of_pandas and isinstance(frame, pa.Table) and not frame.num_rows

    def columns(self, table: Sequence[DataField]) -> FrameColumns:
        """See ``FrameWriter``."""
        return columns_of_arrow(self._typed(table).schema, table, fits=self._is_empty)

    @property
    def is_repeatable(self) -> bool:
        """See ``FrameWriter``."""
        return isinstance(self._frame, Restartable) or is_repeatable(self._frame)

    def check(self, table: Schema, handling: Handling) -> None:
        """See ``FrameWriter``."""
        frame = self._typed(table.fields)
        if isinstance(frame, pa.Table) and not self._is_empty:
            check_rows(table, _with_missing(_handled(frame.to_reader(), handling), table))

    def write(self, facts: TableFacts, *, replacing: bool, handling: Handling = PLAIN) -> Messages:
        """See ``FrameWriter``."""
        frame = pa.table({}) if self._is_empty else self._typed(facts.schema.fields)
        reader = frame.open() if isinstance(frame, Restartable) else reader_of(frame)
        writer = TableWrite(facts, replacing=replacing, shared=False)
        return writer.write(_with_missing(_handled(reader, handling), facts.schema))

    def _typed(self, table: Sequence[DataField]) -> ArrowRows:
        if self._of_pandas and isinstance(self._frame, pa.Table):
            return with_integers(self._frame, table)
        return self._frame


def _handled(reader: pa.RecordBatchReader, handling: Handling) -> pa.RecordBatchReader:
    """Return the stream with row counting, without columns that are not stored, and with the row kind of all rows."""
    if handling == PLAIN:
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


def _with_missing(reader: pa.RecordBatchReader, schema: Schema | TableSchema) -> pa.RecordBatchReader:
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
