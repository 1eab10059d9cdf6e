"""Reads system tables through the data source: ``spark.read.format("paimon").load("<table>$snapshots")``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import datasource
from pyspark.sql.types import StructType

from table_format.spark.source.known_stores import Stores
from table_format.spark.source.places import Place
from table_format.spark.source.read_schema import check_read_schema
from table_format.spark.tasks.worker import settle
from table_format.spark.types import frame_schema, in_types_of
from table_format.table.read.scan import Scan
from table_format.table.system.table import Reading, SplitReading, SystemTable

_OF_CATALOG: Final = "sys."
"""The prefix of the names of system tables of a catalog."""


@dataclass(frozen=True)
class SystemSource:
    """A system table, read with options."""

    table: SystemTable
    options: Mapping[str, str]

    def schema(self) -> StructType:
        """The columns with Spark types."""
        return frame_schema(self.table.fields)

    def reader(self, shown: StructType) -> SystemReader:
        """Return a reader of some columns.

        Raises:
            InvalidInputError: the schema of the user does not fit the table.
        """
        check_read_schema(shown, self.table.fields)
        return SystemReader(self.table.scan(shown.names, None, dict(self.options) or None), shown)


def system_source(options: Mapping[str, str], stores: Stores) -> SystemSource | None:
    """Return the system table that the options name; ``None`` if they name another table."""
    if "path" not in options and "table" not in options:
        return None  # the table of an entry
    place = Place.of(options, stores)
    if "$" not in place.name and not place.name.startswith(_OF_CATALOG):
        return None
    opened = place.catalog.load_any(place.name)
    return SystemSource(opened, place.dynamic) if isinstance(opened, SystemTable) else None


@dataclass
class _Unit(datasource.InputPartition):
    """The input of one task: a split, or an Arrow stream of rows from the driver."""

    split: Any = None
    rows: bytes | None = None


class SystemReader(datasource.DataSourceReader):
    """Reads a system table: the planning process produces metadata, and tasks read rows of the table, a split each."""

    def __init__(self, reading: Reading, shown: StructType) -> None:
        self._reading = reading
        self._shown = shown

    def partitions(self) -> Sequence[datasource.InputPartition]:
        """Return a split for each task, or one input with all rows."""
        if isinstance(self._reading, Scan | SplitReading):
            return [_Unit(split=split) for split in self._reading.plan().splits]
        return [_Unit(rows=_stream(self._reading.to_arrow()))]

    def read(self, partition: datasource.InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task, with exactly the requested columns."""
        if not isinstance(partition, _Unit):
            return  # Spark calls this even if there is nothing to read
        for batch in self._batches(partition):
            yield in_types_of(batch, self._shown)
        settle()

    def _batches(self, unit: _Unit) -> Iterator[pa.RecordBatch]:
        if unit.rows is not None:
            with pa.ipc.open_stream(unit.rows) as stream:
                yield from stream
        elif isinstance(self._reading, Scan):
            yield from self._reading.read(unit.split)
        elif isinstance(self._reading, SplitReading):
            yield from self._reading.split_reader()(unit.split)


def _stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()
