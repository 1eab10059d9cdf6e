"""Casts values to the types of columns, like Spark's store assignment (``spark.sql.storeAssignmentPolicy`` = ANSI).

Numbers are cast to any numeric type, atomic values to text, and dates and timestamps to each other. Fields of ROW types
are matched by name. Other types need an explicit cast. A number that does not fit its column is an error, even if
``spark.sql.ansi.enabled`` is false.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from table_format.errors import InvalidData
from table_format.model.types import DataField
from table_format.spark.types import spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column

_WHOLE: Final = (spark_types.ByteType, spark_types.ShortType, spark_types.IntegerType, spark_types.LongType)
_DIGITS: Final = (3, 5, 10, 19)
_DATETIMES: Final = (spark_types.DateType, spark_types.TimestampType, spark_types.TimestampNTZType)


def stored(value: Column, given: spark_types.DataType, field: DataField, table: str) -> Column:
    """Cast a value of the type ``given`` to the type of a column.

    Raises:
        InvalidData: values of this type need an explicit cast.
    """
    wanted = spark_type(field.type, field.name)
    value, given = in_order(value, given, wanted), ordered_type(given, wanted)
    if _plain(given) == _plain(wanted):
        return value
    if isinstance(given, spark_types.NullType):
        return value.cast(wanted)
    if not is_storable(given, wanted):
        message = (
            f"table {table}: column '{field.name}' is {field.type}, and a value of type {given.simpleString()} "
            f"cannot be stored in it without a cast; write CAST(... AS {wanted.simpleString()}) if you want this"
        )
        raise InvalidData(message)
    return _cast(value, given, wanted, f"table {table}: column '{field.name}", f"{field.type}")


def _cast(
    value: Column, given: spark_types.DataType, wanted: spark_types.DataType, where: str, shown: str | None = None
) -> Column:
    """Cast a value, also within nested types, such that a number that does not fit is an error in every session."""
    if _plain(given) == _plain(wanted):
        return value
    match given, wanted:
        case spark_types.ArrayType(), spark_types.ArrayType():
            return F.transform(value, lambda x: _cast(x, given.elementType, wanted.elementType, f"{where}.element"))
        case spark_types.MapType(), spark_types.MapType():
            ours, theirs = given.valueType, wanted.valueType
            items = F.transform_values(value, lambda _, x: _cast(x, ours, theirs, f"{where}.value"))
            if _plain(given.keyType) == _plain(wanted.keyType):
                return items
            return F.transform_keys(items, lambda x, _: _cast(x, given.keyType, wanted.keyType, f"{where}.key"))
        case spark_types.StructType(), spark_types.StructType():
            fields = (
                _cast(value.getField(a.name), a.dataType, b.dataType, f"{where}.{b.name}").alias(b.name)
                for a, b in zip(given.fields, wanted.fields, strict=True)
            )
            return F.when(value.isNotNull(), F.struct(*fields))
    if not _may_overflow(given, wanted):
        return value.cast(wanted)
    found = value.try_cast(wanted)
    text = F.concat(F.lit(f"{where}' is {shown or wanted.simpleString().upper()}, which cannot hold "), value)
    return F.when(value.isNotNull() & found.isNull(), F.raise_error(text).cast(wanted)).otherwise(found)


def ordered_type(given: spark_types.DataType, wanted: spark_types.DataType) -> spark_types.DataType:
    """Return a type with the fields of its structs in the order and with the spelling of another type.

    Structs with other names, apart from case, stay as they are.

    >>> given = spark_types.StructType().add("B", "integer").add("a", "long")
    >>> wanted = spark_types.StructType().add("a", "integer").add("b", "integer")
    >>> ordered_type(given, wanted).simpleString()
    'struct<a:bigint,b:int>'
    """
    match given, wanted:
        case spark_types.ArrayType(), spark_types.ArrayType():
            return spark_types.ArrayType(ordered_type(given.elementType, wanted.elementType), given.containsNull)
        case spark_types.MapType(), spark_types.MapType():
            values = ordered_type(given.valueType, wanted.valueType)
            return spark_types.MapType(given.keyType, values, given.valueContainsNull)
        case spark_types.StructType(), spark_types.StructType() if _same_names(given, wanted):
            of_name = {field.name.lower(): field for field in given.fields}
            pairs = [(of_name[field.name.lower()], field) for field in wanted.fields]
            return spark_types.StructType(
                [
                    spark_types.StructField(theirs.name, ordered_type(ours.dataType, theirs.dataType), ours.nullable)
                    for ours, theirs in pairs
                ]
            )
    return given


def in_order(value: Column, given: spark_types.DataType, wanted: spark_types.DataType) -> Column:
    """Return a value of the type ``given`` as a value of its ``ordered_type``."""
    if ordered_type(given, wanted) == given:
        return value
    match given, wanted:
        case spark_types.ArrayType(), spark_types.ArrayType():
            return F.transform(value, lambda element: in_order(element, given.elementType, wanted.elementType))
        case spark_types.MapType(), spark_types.MapType():
            return F.transform_values(value, lambda _, item: in_order(item, given.valueType, wanted.valueType))
        case spark_types.StructType(), spark_types.StructType():
            of_name = {field.name.lower(): field for field in given.fields}
            pairs = [(of_name[field.name.lower()], field) for field in wanted.fields]
            fields = (
                in_order(value.getField(ours.name), ours.dataType, theirs.dataType).alias(theirs.name)
                for ours, theirs in pairs
            )
            return F.when(value.isNotNull(), F.struct(*fields))
    return value


def _same_names(given: spark_types.StructType, wanted: spark_types.StructType) -> bool:
    names = [sorted(field.name.lower() for field in each.fields) for each in (given, wanted)]
    return names[0] == names[1] and len(set(names[0])) == len(names[0])


def is_storable(given: spark_types.DataType, wanted: spark_types.DataType) -> bool:
    """Return whether Spark stores values of one type in a column of another type.

    >>> is_storable(spark_types.LongType(), spark_types.ByteType())
    True
    >>> is_storable(spark_types.StringType(), spark_types.IntegerType())
    False
    """
    match given, wanted:
        case spark_types.ArrayType(), spark_types.ArrayType():
            return is_storable(given.elementType, wanted.elementType)
        case spark_types.MapType(), spark_types.MapType():
            return is_storable(given.keyType, wanted.keyType) and is_storable(given.valueType, wanted.valueType)
        case spark_types.StructType(), spark_types.StructType():
            return len(given.fields) == len(wanted.fields) and all(
                a.name.lower() == b.name.lower() and is_storable(a.dataType, b.dataType)
                for a, b in zip(given.fields, wanted.fields, strict=True)
            )
    if isinstance(given, spark_types.NullType) or _plain(given) == _plain(wanted):
        return True
    if isinstance(given, spark_types.NumericType) and isinstance(wanted, spark_types.NumericType):
        return True
    if isinstance(given, _DATETIMES) and isinstance(wanted, _DATETIMES):
        return True
    return isinstance(given, spark_types.AtomicType) and isinstance(wanted, spark_types.StringType)


def _may_overflow(given: spark_types.DataType, wanted: spark_types.DataType) -> bool:
    if not (isinstance(given, spark_types.NumericType) and isinstance(wanted, spark_types.NumericType)):
        return False
    if isinstance(wanted, spark_types.FloatType | spark_types.DoubleType):
        return False
    digits = _whole_digits(given)
    if digits is None:
        return True
    if isinstance(wanted, spark_types.DecimalType):
        return digits > wanted.precision - wanted.scale
    # The largest numbers of a type have one digit more than a type can represent completely.
    most = _whole_digits(wanted)
    return most is None or (digits >= most if isinstance(given, spark_types.DecimalType) else digits > most)


def _whole_digits(data_type: spark_types.DataType) -> int | None:
    """Return the maximum number of digits before the decimal point; ``None`` if it is unknown."""
    if isinstance(data_type, spark_types.DecimalType):
        # Rounding may carry into another digit.
        return int(data_type.precision - data_type.scale) + (1 if data_type.scale else 0)
    return next((d for t, d in zip(_WHOLE, _DIGITS, strict=True) if isinstance(data_type, t)), None)


def _plain(data_type: spark_types.DataType) -> spark_types.DataType:
    """Return the type with nulls allowed everywhere, and strings of any length."""
    match data_type:
        case spark_types.ArrayType():
            return spark_types.ArrayType(_plain(data_type.elementType), True)
        case spark_types.MapType():
            return spark_types.MapType(_plain(data_type.keyType), _plain(data_type.valueType), True)
        case spark_types.StructType():
            return spark_types.StructType(
                [spark_types.StructField(f.name, _plain(f.dataType), True) for f in data_type.fields]
            )
        case spark_types.VarcharType() | spark_types.CharType():
            return spark_types.StringType()
    return data_type
