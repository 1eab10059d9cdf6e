"""Default values of columns, which replace nulls when rows are written (Java ``DefaultValueUtils``).

A schema contains a default value as the text of a literal, with or without quotes. The text is cast to the type of the
column.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from table_format.errors import InvalidSchema, UnsupportedFeature
from table_format.model.arrow_types import arrow_type
from table_format.model.types import (
    BigIntType,
    BooleanType,
    BytesType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TextType,
    TimestampType,
    TinyIntType,
)

_BY_ARROW = (
    *(BooleanType, TinyIntType, SmallIntType, IntType, BigIntType, FloatType, DoubleType),
    *(DateType, TimestampType),
)


def default_of(field: DataField) -> pa.Scalar[Any] | None:
    """Return the default value of a column as an Arrow scalar; ``None`` if it has none.

    >>> default_of(DataField(0, "a", IntType(), default_value="'5'")).as_py()
    5

    Raises:
        InvalidSchema: the text is not a value of the type.
        UnsupportedFeature: this version does not support default values of the type.
    """
    text = field.default_value
    if text is None or text.strip().upper() == "NULL":
        return None
    if len(text) > 1 and text.startswith("'") and text.endswith("'"):
        text = text[1:-1]
    try:
        return _converted(text, field.type)
    except (pa.ArrowInvalid, InvalidOperation) as error:
        message = (
            f"column '{field.name}': unsupported default value `{field.default_value}` for type {field.type}; "
            "write one literal, such as 5, 'text' or '2026-01-31'"
        )
        raise InvalidSchema(message) from error


def _converted(text: str, data_type: DataType) -> pa.Scalar[Any]:
    target = arrow_type(data_type)
    match data_type:
        case TextType() if len(text) > data_type.length:
            message = f"{len(text)} characters"
            raise pa.ArrowInvalid(message)
        case BytesType() if len(text.encode()) > data_type.length:
            message = f"{len(text.encode())} bytes"
            raise pa.ArrowInvalid(message)
        case TextType() | BytesType():
            return pa.scalar(text).cast(target)
        case DecimalType():
            return pa.scalar(Decimal(text), target)
    if isinstance(data_type, _BY_ARROW):
        return pa.scalar(text).cast(target)
    feature = f"a default value of type {data_type}"
    raise UnsupportedFeature(feature)
