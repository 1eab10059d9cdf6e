"""Converts columns of a query to columns of a table: named by position, and cast by Spark's store assignment.

Fields of ROW types are also matched by position, or by name for ``INSERT ... BY NAME``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import types as spark_types

from table_format.errors import InvalidData
from table_format.model.types import DataField
from table_format.spark.dml.store_assignment import in_order, ordered_type
from table_format.spark.names import column
from table_format.spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def stored(frame: DataFrame, fields: Sequence[DataField], *, by_name: bool = False) -> DataFrame:
    """Return the columns of a DataFrame with the names and types of ``fields``, matched by position.

    Nulls are checked when the rows are written. A number that does not fit is an error. Strings are not cast to
    numbers. With ``by_name``, fields of ROW types are matched by name.

    Raises:
        InvalidData: with ``by_name``, a ROW type has other fields than the column.
    """
    wanted = spark_types.StructType([all_nullable_field(field) for field in spark_schema(fields).fields])
    named = frame.toDF(*(field.name for field in wanted.fields))
    if by_name:
        named = named.select(
            *(_in_order(source, target) for source, target in zip(named.schema.fields, wanted.fields, strict=True))
        )
    nested = {
        target.name: renamed
        for source, target in zip(named.schema.fields, wanted.fields, strict=True)
        if (renamed := with_names_of(source.dataType, target.dataType)) != source.dataType
    }
    for name, data_type in nested.items():
        named = named.withColumn(name, column(name).cast(data_type))
    return named.to(wanted)


def _in_order(source: spark_types.StructField, target: spark_types.StructField) -> Column:
    """Return a column with the fields of its ROW types in the order of the table.

    Raises:
        InvalidData: it has other fields.
    """
    ordered = ordered_type(source.dataType, target.dataType)
    if with_names_of(ordered, target.dataType) != ordered or not _are_as_many(ordered, target.dataType):
        message = (
            f"INSERT BY NAME: column '{target.name}' is {target.dataType.simpleString()}, and a value needs fields of "
            f"the same names; found {source.dataType.simpleString()}"
        )
        raise InvalidData(message)
    return in_order(column(source.name), source.dataType, target.dataType).alias(target.name)


def _are_as_many(source: spark_types.DataType, target: spark_types.DataType) -> bool:
    """Return whether the ROW types in two types have as many fields."""
    match source, target:
        case spark_types.ArrayType(), spark_types.ArrayType():
            return _are_as_many(source.elementType, target.elementType)
        case spark_types.MapType(), spark_types.MapType():
            return _are_as_many(source.keyType, target.keyType) and _are_as_many(source.valueType, target.valueType)
        case spark_types.StructType(), spark_types.StructType():
            return len(source.fields) == len(target.fields) and all(
                _are_as_many(ours.dataType, theirs.dataType)
                for ours, theirs in zip(source.fields, target.fields, strict=True)
            )
    return True


def all_nullable(data_type: spark_types.DataType) -> spark_types.DataType:
    """Return the type with nulls allowed everywhere."""
    match data_type:
        case spark_types.ArrayType():
            return spark_types.ArrayType(all_nullable(data_type.elementType), containsNull=True)
        case spark_types.MapType():
            return spark_types.MapType(
                all_nullable(data_type.keyType), all_nullable(data_type.valueType), valueContainsNull=True
            )
        case spark_types.StructType():
            return spark_types.StructType([all_nullable_field(field) for field in data_type.fields])
    return data_type


def all_nullable_field(field: spark_types.StructField) -> spark_types.StructField:
    """Return the column with nulls allowed everywhere in its type."""
    return spark_types.StructField(field.name, all_nullable(field.dataType), nullable=True)


def with_names_of(source: spark_types.DataType, target: spark_types.DataType) -> spark_types.DataType:
    """Return the source type with the field names of the target type, matched by position."""
    match source, target:
        case spark_types.ArrayType(), spark_types.ArrayType():
            return spark_types.ArrayType(with_names_of(source.elementType, target.elementType), source.containsNull)
        case spark_types.MapType(), spark_types.MapType():
            return spark_types.MapType(
                with_names_of(source.keyType, target.keyType),
                with_names_of(source.valueType, target.valueType),
                source.valueContainsNull,
            )
        case spark_types.StructType(), spark_types.StructType() if len(source.fields) == len(target.fields):
            return spark_types.StructType(
                [
                    spark_types.StructField(theirs.name, with_names_of(ours.dataType, theirs.dataType), ours.nullable)
                    for ours, theirs in zip(source.fields, target.fields, strict=True)
                ]
            )
    return source
