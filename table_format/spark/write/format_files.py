"""Writes rows to format tables on Spark: tasks encode the files, and the driver makes them visible.

The bytes of the new files pass through the driver, which writes them after all tasks have finished, so that a task that
fails or is repeated leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import to_arrow_schema

from table_format.errors import InvalidData
from table_format.format_table.table import FormatTable
from table_format.format_table.write import EncodedFile, Replaced
from table_format.metastore.manifest.partitions import PartitionSpec
from table_format.options.merge import MergeOptions
from table_format.spark.names import Names
from table_format.spark.tasks.worker import Batches, map_in_workers
from table_format.spark.write.frames import with_constants
from table_format.table.rows.partition_values import written_partition
from table_format.table.rows.validate import RowRules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RESULT: Final = "directory string, name string, data binary, error string"
_COLUMNS: Final[tuple[tuple[str, pa.DataType], ...]] = (
    ("directory", pa.string()),
    ("name", pa.string()),
    ("data", pa.binary()),
    ("error", pa.string()),
)
_SCHEMA: Final = pa.schema(_COLUMNS)


def write_format_frame(
    frame: DataFrame, table: FormatTable, *, overwrite: bool, partition: Mapping[str, object] | None = None
) -> tuple[str, ...]:
    """Append rows, or replace those of ``partition``, as ``FormatTable.overwrite`` does. Return the new files.

    Raises:
        InvalidData: columns or values do not fit the table. Nothing was written.
    """
    names = Names.of(frame.sparkSession).spelled(frame.columns, table.schema.field_names)
    rows = frame if names == frame.columns else frame.toDF(*names)
    replaced: Replaced = None
    inside: PartitionSpec = {}
    if partition is not None:
        replaced = inside = written_partition(table.schema, partition)
        rows = with_constants(rows, table.schema, inside)
    elif overwrite:
        replaced = "partitions of the rows"
    _check_columns(rows, table)
    encoded = map_in_workers(rows, _encoder(table, inside, tuple(rows.columns)), _RESULT)
    return table.publish(_files(encoded.toLocalIterator()), replaced)


def _encoder(table: FormatTable, inside: PartitionSpec, names: tuple[str, ...]) -> Callable[[Batches], Batches]:
    def encode(batches: Batches) -> Batches:
        first = next(batches, None)
        if first is None:
            return

        def renamed() -> Iterator[pa.RecordBatch]:
            yield first.rename_columns(list(names))
            for batch in batches:
                yield batch.rename_columns(list(names))

        rows = pa.RecordBatchReader.from_batches(first.rename_columns(list(names)).schema, renamed())
        try:
            for file in table.new_write().encode(rows, inside=inside):
                yield pa.RecordBatch.from_pylist([{**file._asdict(), "error": None}], _SCHEMA)
        except InvalidData as error:
            yield pa.RecordBatch.from_pylist([{"error": str(error)}], _SCHEMA)

    return encode


def _files(rows: Iterator[Any]) -> Iterator[EncodedFile]:
    for row in rows:
        if row.error is not None:
            raise InvalidData(row.error)
        yield EncodedFile(row.directory, row.name, bytes(row.data))


def _check_columns(rows: DataFrame, table: FormatTable) -> None:
    """Refuse columns that the table does not have, before any task runs."""
    try:
        arrow = to_arrow_schema(rows.schema, timezone="UTC", prefers_large_types=False)
    except PySparkTypeError as error:
        message = f"the rows have a type that cannot be stored: {error}"
        raise InvalidData(message) from error
    rules = RowRules(table.schema, MergeOptions())
    rules.check_columns(arrow.names)
    rules.conform(pa.RecordBatch.from_pylist([], schema=arrow))
