"""Implements ``write.merge-schema``: changes the schema of a table before a write, so that it can store the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from table_format.errors import InvalidData
from table_format.model.arrow_types import arrow_type
from table_format.model.merged_schema import changes_to_hold
from table_format.model.row_kind import ROW_KIND_COLUMN
from table_format.model.schema import TableSchema
from table_format.model.schema_change import AddColumn, AlterColumnType, SchemaChange
from table_format.model.types import DataField
from table_format.spark.names import column
from table_format.spark.types import fields_of_spark, spark_type
from table_format.table.facts import TableFacts
from table_format.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def with_merged_schema(
    table: Table, rows: spark_types.StructType, alter: Callable[[str, Sequence[SchemaChange]], Table]
) -> Table:
    """Return the table after changing its schema, so that it can store the columns of the rows.

    Raises:
        InvalidData: a column of the rows and of the table have no common type.
        InvalidSchemaChange: the schema does not allow the change.
        UnsupportedFeature: an option requires a change that this version does not support.
    """
    latest = table.current()
    changes = changes_for(latest.facts, rows)
    if not changes:
        return latest
    return alter(str(table.identifier), changes).copy(table.dynamic_options)


def check_required(schema: TableSchema, names: Sequence[str]) -> None:
    """Refuse rows without a column that admits no nulls, before the schema changes.

    Raises:
        InvalidData: names the columns.
    """
    missing = [field for field in schema.fields if not field.type.nullable and field.name not in names]
    if missing:
        shown = ", ".join(f"{field.name} {field.type}" for field in missing)
        message = f"the rows have no value for columns of the table that admit no nulls: {shown}"
        raise InvalidData(message)


def changes_for(facts: TableFacts, rows: spark_types.StructType) -> Sequence[AddColumn | AlterColumnType]:
    """Return the schema changes after which a table can store the columns of the rows.

    Raises:
        InvalidData: a column of the rows and of the table have no common type.
    """
    schema = facts.schema
    kinds = {facts.options.merge.rowkind_field or ROW_KIND_COLUMN} - set(schema.field_names)
    columns = spark_types.StructType([field for field in rows.fields if field.name not in kinds])
    keys = frozenset((*schema.primary_keys, *schema.partition_keys))
    return changes_to_hold(schema.fields, fields_of_spark(columns), fixed=keys)


def with_all_columns(rows: DataFrame, schema: TableSchema) -> DataFrame:
    """Return the rows with nulls for missing columns and missing fields of ROW types."""
    present = {field.name: field for field in rows.schema.fields}
    if all(_is_whole(present.get(field.name), field) for field in schema.fields):
        return rows
    shown = {field.name: _aligned(column(field.name), present.get(field.name), field) for field in schema.fields}
    others = [column(name) for name in rows.columns if name not in shown]
    return rows.select(*(value.alias(name) for name, value in shown.items()), *others)


def batch_with_all_columns(batch: pa.RecordBatch, schema: TableSchema) -> pa.RecordBatch:
    """Add missing columns to Arrow rows whose ROW values are complete."""
    missing = [field for field in schema.fields if field.name not in batch.schema.names]
    nulls = [pa.nulls(batch.num_rows).cast(arrow_type(field.type)) for field in missing]
    names = [*batch.schema.names, *(field.name for field in missing)]
    return pa.RecordBatch.from_arrays([*batch.columns, *nulls], names=names)


def _is_whole(found: spark_types.StructField | None, wanted: DataField) -> bool:
    return found is not None and _has_all(found.dataType, spark_type(wanted.type, wanted.name))


def _has_all(found: spark_types.DataType, wanted: spark_types.DataType) -> bool:
    if not isinstance(found, spark_types.StructType) or not isinstance(wanted, spark_types.StructType):
        return True
    types = {field.name: field.dataType for field in found.fields}
    return all(field.name in types and _has_all(types[field.name], field.dataType) for field in wanted.fields)


def _aligned(value: Column, found: spark_types.StructField | None, wanted: DataField) -> Column:
    target = spark_type(wanted.type, wanted.name)
    return F.lit(None).cast(target) if found is None else filled(value, found.dataType, target)


def filled(
    value: Column, found: spark_types.DataType, wanted: spark_types.DataType, otherwise: Column | None = None
) -> Column:
    """Return a value with all fields of its ROW types. Missing fields are null, or taken from ``otherwise``."""
    if _has_all(found, wanted):
        return value
    if not isinstance(found, spark_types.StructType) or not isinstance(wanted, spark_types.StructType):
        return value
    types = {field.name: field.dataType for field in found.fields}
    parts = [
        (
            filled(value.getField(field.name), types[field.name], field.dataType, _field_of(otherwise, field.name))
            if field.name in types
            else F.lit(None).cast(field.dataType)
            if otherwise is None
            else otherwise.getField(field.name)
        ).alias(field.name)
        for field in wanted.fields
    ]
    return F.when(value.isNotNull(), F.struct(*parts))


def _field_of(value: Column | None, name: str) -> Column | None:
    return None if value is None else value.getField(name)
