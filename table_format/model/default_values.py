"""Default values of columns: what stands in the place of a null that is written (Java ``DefaultValueUtils``).

A schema holds the text of a literal, within quotes or not. It is converted as a text is cast to the type of the column.
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
    """The default value of a column in Arrow; ``None`` if it has none.

    >>> default_of(DataField(0, "a", IntType(), default_value="'5'")).as_py()
    5

    Raises:
        InvalidSchema: the text is no value of the type.
        UnsupportedFeature: columns of that type have no default values in this version.
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
