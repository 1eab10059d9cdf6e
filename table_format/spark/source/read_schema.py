"""Compares the columns of ``spark.read.schema(...).format("paimon")`` with those of the table."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import types as spark_types

from table_format.errors import InvalidInputError
from table_format.model.types import DataField
from table_format.spark.types import spark_type

_WHOLE_NUMBERS = (spark_types.ByteType, spark_types.ShortType, spark_types.IntegerType, spark_types.LongType)


def check_read_schema(wanted: spark_types.StructType, fields: Sequence[DataField]) -> None:
    """Refuse a schema with which reading the table would lose data.

    The schema may leave out columns, reorder them, admit nulls, and use wider types.

    Raises:
        InvalidInputError: a column does not exist, is given twice, or has an incompatible type.
    """
    by_name = {field.name: field for field in fields}
    names = [field.name for field in wanted.fields]
    for column in wanted.fields:
        found = by_name.get(column.name)
        if found is None:
            message = f"the schema names a column '{column.name}'; the table has {', '.join(by_name)}"
            raise InvalidInputError(message)
        if names.count(column.name) > 1:
            message = f"the schema names the column '{column.name}' more than once"
            raise InvalidInputError(message)
        stored = spark_type(found.type, found.name)
        if not _holds(column.dataType, stored):
            shown, expected = column.dataType.simpleString(), stored.simpleString()
            message = (
                f"the schema gives column '{column.name}' the type {shown}, which cannot represent all values of the "
                f"table's {expected}; read it as {expected} and cast it"
            )
            raise InvalidInputError(message)
        if found.type.nullable and not column.nullable:
            message = f"the schema says that column '{column.name}' has no nulls; in the table, it may have nulls"
            raise InvalidInputError(message)


def _holds(wanted: spark_types.DataType, stored: spark_types.DataType) -> bool:
    """Return whether the wanted type can represent every value of the stored type, and Arrow's cast preserves it."""
    match wanted, stored:
        case spark_types.ArrayType(), spark_types.ArrayType():
            return _admits(wanted.containsNull, stored.containsNull) and wanted.elementType == stored.elementType
        case spark_types.MapType(), spark_types.MapType():
            same = (wanted.keyType, wanted.valueType) == (stored.keyType, stored.valueType)
            return same and _admits(wanted.valueContainsNull, stored.valueContainsNull)
        case spark_types.DecimalType(), spark_types.DecimalType():
            has_scale = wanted.scale >= stored.scale
            return has_scale and wanted.precision - wanted.scale >= stored.precision - stored.scale
        case spark_types.DoubleType(), spark_types.FloatType():
            return True
    if isinstance(wanted, _WHOLE_NUMBERS) and isinstance(stored, _WHOLE_NUMBERS):
        return _WHOLE_NUMBERS.index(type(wanted)) >= _WHOLE_NUMBERS.index(type(stored))
    return wanted == stored


def _admits(wanted: bool, stored: bool) -> bool:  # noqa: FBT001 - both tell whether nulls are allowed
    return wanted or not stored
