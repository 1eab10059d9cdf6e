"""The types of columns, and their Arrow types.

>>> from table_format.types import DecimalType, arrow_type, type_from_arrow
>>> arrow_type(DecimalType(precision=10, scale=2))
Decimal128Type(decimal128(10, 2))
"""

from __future__ import annotations

from table_format.model.arrow_types import arrow_schema, arrow_type, fields_from_arrow, type_from_arrow
from table_format.model.types import (
    AnyTimestampType,
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    BytesType,
    CharType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatingType,
    FloatType,
    IntegerType,
    InternalValue,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TextType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

__all__ = [
    "AnyTimestampType",
    "ArrayType",
    "BigIntType",
    "BinaryType",
    "BooleanType",
    "BytesType",
    "CharType",
    "DataField",
    "DataType",
    "DateType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "FloatingType",
    "IntType",
    "IntegerType",
    "InternalValue",
    "LocalZonedTimestampType",
    "MapType",
    "MultisetType",
    "RowType",
    "SmallIntType",
    "TextType",
    "TimeType",
    "TimestampType",
    "TinyIntType",
    "VarBinaryType",
    "VarCharType",
    "arrow_schema",
    "arrow_type",
    "fields_from_arrow",
    "type_from_arrow",
]
