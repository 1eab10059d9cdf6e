"""The types of columns as the Hive metastore writes them (Java ``HiveTypeUtils``). Pure."""

from __future__ import annotations

from typing import Final

from table_format.model.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    BytesType,
    CharType,
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
    TextType,
    TimestampType,
    TimeType,
    TinyIntType,
)

_MAX_CHAR: Final = 255
_MAX_VARCHAR: Final = 65535
"""Longest CHAR and VARCHAR of Hive; a longer one is a string."""
_SIMPLE: Final[tuple[tuple[type[DataType], str], ...]] = (
    (BooleanType, "boolean"),
    (TinyIntType, "tinyint"),
    (SmallIntType, "smallint"),
    (IntType, "int"),
    (BigIntType, "bigint"),
    (FloatType, "float"),
    (DoubleType, "double"),
    (BytesType, "binary"),
    (DateType, "date"),
    (TimeType, "string"),
    (TimestampType, "timestamp"),
    # Hive 2 does not know the type "timestamp with local time zone"; the SerDe of Paimon reads both.
    (LocalZonedTimestampType, "timestamp"),
)


def hive_type(kind: DataType) -> str:
    """Return the Hive type of a column.

    >>> hive_type(ArrayType(DecimalType(10, 2)))
    'array<decimal(10,2)>'
    """
    match kind:
        case DecimalType():
            return f"decimal({kind.precision},{kind.scale})"
        case TextType():
            return _text_type(kind)
        case ArrayType():
            return f"array<{hive_type(kind.element)}>"
        case MapType():
            return f"map<{hive_type(kind.key)},{hive_type(kind.value)}>"
        case MultisetType():
            return f"map<{hive_type(kind.element)},int>"
        case RowType():
            fields = ",".join(f"{field.name}:{hive_type(field.type)}" for field in kind.fields)
            return f"struct<{fields}>"
    return next(name for simple, name in _SIMPLE if isinstance(kind, simple))


def _text_type(kind: TextType) -> str:
    is_char = isinstance(kind, CharType)
    if kind.length > (_MAX_CHAR if is_char else _MAX_VARCHAR):
        return "string"
    return f"{'char' if is_char else 'varchar'}({kind.length})"
