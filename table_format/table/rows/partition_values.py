"""Converts partition values of callers, ``{"dt": "2026-01-01"}``, to internal values of the partition columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal

import pyarrow as pa

from table_format.errors import InvalidData, InvalidInputError
from table_format.kernels.values import values_of
from table_format.metastore.manifest.partitions import Partitions, PartitionSpec
from table_format.metastore.scan.file_filter import ALL_FILES, FileFilter
from table_format.model.arguments import mappings, refuse, shown
from table_format.model.arrow_calls import arrow_array
from table_format.model.arrow_types import arrow_type
from table_format.model.schema import TableSchema
from table_format.model.types import DataField, DoubleType, FloatType, InternalValue
from table_format.options.files import PARTITION_DEFAULT_NAME
from table_format.table.rows.casts import cast_column
from table_format.table.rows.input import Rows, reader_of


def partition_spec(schema: TableSchema, partition: Mapping[str, object]) -> PartitionSpec:
    """Return the internal values of some or all partition columns, to select partitions. Text is accepted for any type.

    The directory name of a null, ``partition.default-name``, selects null, as in Apache Paimon.

    Raises:
        InvalidInputError: a column is not a partition column.
        InvalidData: a value does not fit its column.
    """
    name_of_null = PARTITION_DEFAULT_NAME.read(schema.options)
    return {
        name: None if value == name_of_null else _internal(_partition_field(schema, name), value)
        for name, value in _as_mapping(partition).items()
    }


def written_partition(schema: TableSchema, partition: Mapping[str, object]) -> PartitionSpec:
    """Return the internal values of the partition that rows are written to. A text is always a value.

    Raises:
        InvalidInputError, InvalidData: as for ``partition_spec``.
    """
    return {name: _internal(_partition_field(schema, name), value) for name, value in _as_mapping(partition).items()}


def partition_filter(
    schema: TableSchema, encoded: Partitions, partitions: Sequence[Mapping[str, object]] | None
) -> FileFilter:
    """Return a filter for the files of these partitions, each given as for ``partition_spec``; ``None`` means all.

    ``encoded`` is the encoding of the partitions of the table.

    Raises:
        InvalidInputError, InvalidData: as for ``partition_spec``.
    """
    if partitions is None:
        return ALL_FILES
    specs = [partition_spec(schema, partition) for partition in mappings(partitions, "partitions")]
    return FileFilter(partition_predicate=encoded.predicate(specs))


def rows_of_partition(data: Rows, schema: TableSchema, partition: Mapping[str, object]) -> pa.RecordBatchReader:
    """Return the rows with their missing partition columns added, with the given values.

    Raises:
        InvalidInputError, InvalidData: as for ``partition_spec``.
    """
    given = _as_mapping(partition)
    reader = reader_of(data, schema.fields)
    constants = {
        name: _array_of(_partition_field(schema, name), value)[0]
        for name, value in given.items()
        if name not in reader.schema.names
    }
    if not constants:
        return reader
    extended = reader.schema
    for name, value in constants.items():
        extended = extended.append(pa.field(name, value.type))
    batches = (
        pa.RecordBatch.from_arrays(
            [*batch.columns, *(pa.repeat(value, batch.num_rows) for value in constants.values())], schema=extended
        )
        for batch in reader
    )
    return pa.RecordBatchReader.from_batches(extended, batches)


def _as_mapping(partition: Mapping[str, object]) -> Mapping[str, object]:
    if not isinstance(partition, Mapping):
        refuse("partition", "a mapping of partition columns to values", partition)
    return partition


def _internal(field: DataField, value: object) -> InternalValue:
    return values_of(_array_of(field, value), field.type)[0]


def _partition_field(schema: TableSchema, name: str) -> DataField:
    if name not in schema.partition_keys:
        keys = ", ".join(schema.partition_keys) or "none"
        message = f"'{name}' is not a partition column; the partition columns are {keys}"
        raise InvalidInputError(message)
    return schema.field(name)


def _array_of(field: DataField, value: object) -> pa.Array:
    is_number = isinstance(value, Decimal | float) and math.isfinite(value)
    if is_number and isinstance(field.type, FloatType | DoubleType):
        value = str(value)  # A literal such as 0.1 or 1e-1 is the nearest number of the type.
    try:
        array = arrow_array([value])
        if isinstance(value, str) and not pa.types.is_string(arrow_type(field.type)):
            array = array.cast(arrow_type(field.type))
            if is_number and not math.isfinite(array[0].as_py()):
                raise OverflowError  # noqa: TRY301 - reported with the others
    except (pa.ArrowException, UnicodeEncodeError, OverflowError, TypeError, ValueError) as error:
        message = f"partition column '{field.name}' is {field.type}, which cannot hold {shown(value)}"
        raise InvalidData(message) from error
    return cast_column(array, field.type, field.name)
