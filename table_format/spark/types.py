"""The mapping between types of the format and Spark types.

Spark and the tasks exchange values as Arrow, so the Arrow types must agree. ``spark_arrow_schema`` is the Arrow schema
that Spark uses for a Spark schema, ``arrow_schema`` the one of this library. They differ in the units of times.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import to_arrow_schema

from table_format.errors import InvalidSchema, UnsupportedFeature
from table_format.model.types import (
    MAX_LENGTH,
    AnyTimestampType,
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

_SCALARS: tuple[tuple[type[DataType], type[spark_types.DataType]], ...] = (
    (BooleanType, spark_types.BooleanType),
    (TinyIntType, spark_types.ByteType),
    (SmallIntType, spark_types.ShortType),
    (IntType, spark_types.IntegerType),
    (BigIntType, spark_types.LongType),
    (FloatType, spark_types.FloatType),
    (DoubleType, spark_types.DoubleType),
    (CharType, spark_types.StringType),
    (VarCharType, spark_types.StringType),
    (BinaryType, spark_types.BinaryType),
    (VarBinaryType, spark_types.BinaryType),
    (DateType, spark_types.DateType),
    (TimestampType, spark_types.TimestampNTZType),
    (LocalZonedTimestampType, spark_types.TimestampType),
)

_TIMESTAMP_DIGITS = 6
"""Spark's timestamps have at most microseconds."""


def spark_schema(fields: Sequence[DataField]) -> spark_types.StructType:
    """Return the Spark schema of columns.

    Raises:
        UnsupportedFeature: Spark does not have the type of a column.
    """
    return spark_types.StructType([_spark_field(field) for field in fields])


def frame_schema(fields: Sequence[DataField]) -> spark_types.StructType:
    """Return the Spark schema of columns. All columns admit nulls, like those that Spark reads from files.

    Raises:
        UnsupportedFeature: Spark does not have the type of a column.
    """
    return spark_schema([DataField(field.id, field.name, field.type.with_nullable(True)) for field in fields])


def in_types_of(batch: pa.RecordBatch, shown: spark_types.StructType) -> pa.RecordBatch:
    """Cast the columns of a batch to the types that Spark expects: instants in UTC in any time zone of the session."""
    wanted = to_arrow_schema(shown, timezone="UTC", prefers_large_types=False)
    columns = [batch.column(field.name).cast(field.type) for field in wanted]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)


def _spark_field(field: DataField) -> spark_types.StructField:
    metadata = {"comment": field.description} if field.description else None
    return spark_types.StructField(field.name, spark_type(field.type, field.name), field.type.nullable, metadata)


def is_on_spark(data_type: DataType) -> bool:
    """Return whether Spark has a type for the values of ``data_type``."""
    try:
        spark_type(data_type)
    except UnsupportedFeature:
        return False
    return True


def spark_type(data_type: DataType, where: str = "value") -> spark_types.DataType:
    """Return the Spark type for values of ``data_type``. ``where`` names the column in errors."""
    match data_type:
        case AnyTimestampType(precision=precision):
            if precision > _TIMESTAMP_DIGITS:
                feature = f"column '{where}' of type {data_type} on Spark, whose timestamps have only microseconds,"
                raise UnsupportedFeature(feature)
        case TimeType():
            feature = f"column '{where}' of type {data_type} on Spark, which has no stable TIME type,"
            raise UnsupportedFeature(feature)
        case DecimalType(precision=precision, scale=scale):
            return spark_types.DecimalType(precision, scale)
        case ArrayType(element=element):
            return spark_types.ArrayType(spark_type(element, where), element.nullable)
        case MapType(key=key, value=value):
            return spark_types.MapType(spark_type(key, where), spark_type(value, where), value.nullable)
        case MultisetType(element=element):
            return spark_types.MapType(spark_type(element, where), spark_types.IntegerType(), valueContainsNull=False)
        case RowType(fields=fields):
            return spark_schema(fields)
        case _:
            pass
    for ours, theirs in _SCALARS:
        if isinstance(data_type, ours):
            return theirs()
    feature = f"column '{where}' of type {data_type} on Spark"
    raise UnsupportedFeature(feature)


def type_of_spark(data_type: spark_types.DataType, *, nullable: bool = True, where: str = "value") -> DataType:
    """Return the type of the format for a Spark type. Fields of ROWs are numbered from 0.

    Raises:
        InvalidSchema: the format cannot store the type.
    """
    match data_type:
        case spark_types.VarcharType():
            return VarCharType(length=data_type.length, nullable=nullable)
        case spark_types.CharType():
            return CharType(length=data_type.length, nullable=nullable)
        case spark_types.StringType():
            return VarCharType(length=MAX_LENGTH, nullable=nullable)
        case spark_types.BinaryType():
            return VarBinaryType(length=MAX_LENGTH, nullable=nullable)
        case spark_types.DecimalType():
            return DecimalType(precision=data_type.precision, scale=data_type.scale, nullable=nullable)
        case spark_types.ArrayType():
            element = type_of_spark(data_type.elementType, nullable=data_type.containsNull, where=where)
            return ArrayType(element=element, nullable=nullable)
        case spark_types.MapType():
            key = type_of_spark(data_type.keyType, nullable=False, where=where)
            value = type_of_spark(data_type.valueType, nullable=data_type.valueContainsNull, where=where)
            return MapType(key=key, value=value, nullable=nullable)
        case spark_types.StructType():
            return RowType(fields=fields_of_spark(data_type), nullable=nullable)
        case _:
            pass
    for ours, theirs in _SCALARS:
        if type(data_type) is theirs:
            return ours(nullable=nullable)
    message = f"column '{where}': the Spark type {data_type.simpleString()} cannot be stored; cast it first"
    raise InvalidSchema(message)


def fields_of_spark(schema: spark_types.StructType) -> tuple[DataField, ...]:
    """Return columns for a Spark schema, with comments as descriptions. Creating a table assigns their ids."""
    return tuple(
        DataField(
            id=number,
            name=field.name,
            type=type_of_spark(field.dataType, nullable=field.nullable, where=field.name),
            description=(field.metadata or {}).get("comment"),
        )
        for number, field in enumerate(schema.fields)
    )
