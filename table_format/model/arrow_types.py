"""The mapping between types of the format and Arrow types.

Every column in memory is an Arrow array of exactly ``arrow_type(type)``. TIMESTAMP(p) is ``timestamp[s]`` for
p = 0, ``[ms]`` up to 3, ``[us]`` up to 6, ``[ns]`` up to 9; with local time zone, the zone is ``UTC``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Literal, TypeAlias

import pyarrow as pa

from table_format.errors import InvalidSchema
from table_format.model.arrow_calls import map_
from table_format.model.types import (
    MAX_LENGTH,
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    BytesType,
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
    TextType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

TimeUnit: TypeAlias = Literal["s", "ms", "us", "ns"]
"""The units of Arrow's timestamps."""

_PRECISION_OF_UNIT = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def timestamp_unit(precision: int) -> TimeUnit:
    """Return the Arrow unit of TIMESTAMP(precision).

    >>> [timestamp_unit(p) for p in (0, 1, 3, 4, 6, 7, 9)]
    ['s', 'ms', 'ms', 'us', 'us', 'ns', 'ns']
    """
    if precision == 0:
        return "s"
    return "ms" if precision <= 3 else "us" if precision <= 6 else "ns"


def arrow_type(data_type: DataType) -> pa.DataType:  # noqa: C901 - one line for each type of the format
    """Return the Arrow type for values of ``data_type``."""
    match data_type:
        case BooleanType():
            return pa.bool_()
        case TinyIntType():
            return pa.int8()
        case SmallIntType():
            return pa.int16()
        case IntType():
            return pa.int32()
        case BigIntType():
            return pa.int64()
        case FloatType():
            return pa.float32()
        case DoubleType():
            return pa.float64()
        case DecimalType(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case TextType():
            return pa.string()
        case BytesType():
            return pa.binary()
        case DateType():
            return pa.date32()
        case TimeType():
            return pa.time32("ms")
        case TimestampType(precision=precision):
            return pa.timestamp(timestamp_unit(precision))
        case LocalZonedTimestampType(precision=precision):
            return pa.timestamp(timestamp_unit(precision), tz="UTC")
        case ArrayType(element=element):
            return pa.list_(pa.field("element", arrow_type(element), element.nullable))
        case MapType(key=key, value=value):
            return _arrow_map(key, value)
        case MultisetType(element=element):
            return _arrow_map(element, IntType(nullable=False))
        case RowType(fields=fields):
            return pa.struct([arrow_field(f) for f in fields])
    message = f"{data_type} has no Arrow form"
    raise InvalidSchema(message)


def _arrow_map(key: DataType, value: DataType) -> pa.DataType:
    return map_(
        pa.field("key", arrow_type(key), nullable=False),
        pa.field("value", arrow_type(value), value.nullable),
    )


def arrow_field(field: DataField) -> pa.Field:
    """Return a column as an Arrow field; its comment is stored in the metadata key ``description``."""
    metadata = {"description": field.description} if field.description else None
    return pa.field(field.name, arrow_type(field.type), field.type.nullable, metadata)


def arrow_schema(fields: Sequence[DataField]) -> pa.Schema:
    """Return the Arrow schema of these columns."""
    return pa.schema([arrow_field(f) for f in fields])


def fields_from_arrow(schema: pa.Schema) -> tuple[DataField, ...]:
    """Return columns for an Arrow schema; ids are assigned depth first from 0 (format chapter 02, section 3).

    Raises:
        InvalidSchema: a column has a type that the format cannot store.
    """
    ids = count()
    return tuple(_field_from_arrow(f, ids) for f in schema)


def type_from_arrow(arrow: pa.DataType, *, nullable: bool = True) -> DataType:
    """Return the type of the format for an Arrow type; ids of ROW fields start at 0.

    Raises:
        InvalidSchema: the format cannot store the type.
    """
    return _type_from_arrow(arrow, nullable, count(), "value")


def described(arrow: pa.DataType) -> str:
    """Return an Arrow type in the words of SQL for a message, or its own name if the format cannot store it.

    >>> described(pa.int64()), described(pa.uint8())
    ('BIGINT', 'the Arrow type uint8')
    """
    try:
        return str(type_from_arrow(arrow))
    except InvalidSchema:
        return f"the Arrow type {arrow}"


def _field_from_arrow(field: pa.Field, ids: Iterator[int], within: str = "") -> DataField:
    identifier = next(ids)
    metadata = field.metadata or {}
    description = metadata.get(b"description")
    return DataField(
        id=identifier,
        name=field.name,
        type=_type_from_arrow(field.type, field.nullable, ids, f"{within}{field.name}"),
        description=description.decode("utf-8", "replace") if description else None,
    )


def _type_from_arrow(arrow: pa.DataType, nullable: bool, ids: Iterator[int], where: str) -> DataType:  # noqa: FBT001
    scalar = _scalar_from_arrow(arrow, nullable)
    if scalar is not None:
        return scalar
    if pa.types.is_dictionary(arrow):
        return _type_from_arrow(arrow.value_type, nullable, ids, where)
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow):
        item = arrow.value_field
        return ArrayType(element=_type_from_arrow(item.type, item.nullable, ids, f"{where}.element"), nullable=nullable)
    if pa.types.is_map(arrow):
        key = _type_from_arrow(arrow.key_type, nullable=False, ids=ids, where=f"{where}.key")
        value = _type_from_arrow(arrow.item_type, arrow.item_field.nullable, ids, f"{where}.value")
        return MapType(key=key, value=value, nullable=nullable)
    if pa.types.is_struct(arrow):
        return RowType(fields=tuple(_field_from_arrow(f, ids, f"{where}.") for f in arrow), nullable=nullable)
    problem = f"the Arrow type {arrow} has no counterpart in the table format"
    if pa.types.is_null(arrow):
        problem = "there are only nulls, so the type is unknown"
    message = f"column '{where}': {problem}; cast the column, or give its type"
    raise InvalidSchema(message)


_SIMPLE: tuple[tuple[pa.DataType, type[DataType]], ...] = (
    (pa.bool_(), BooleanType),
    (pa.int8(), TinyIntType),
    (pa.int16(), SmallIntType),
    (pa.int32(), IntType),
    (pa.int64(), BigIntType),
    (pa.float32(), FloatType),
    (pa.float64(), DoubleType),
    (pa.date32(), DateType),
)


def _scalar_from_arrow(arrow: pa.DataType, nullable: bool) -> DataType | None:  # noqa: FBT001
    for candidate, kind in _SIMPLE:
        if arrow.equals(candidate):
            return kind(nullable=nullable)
    if pa.types.is_decimal128(arrow) and 0 <= arrow.scale <= arrow.precision:
        return DecimalType(precision=arrow.precision, scale=arrow.scale, nullable=nullable)
    if pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow):
        return VarCharType(length=MAX_LENGTH, nullable=nullable)
    if pa.types.is_fixed_size_binary(arrow):
        return BinaryType(length=arrow.byte_width, nullable=nullable)
    if pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow) or pa.types.is_binary_view(arrow):
        return VarBinaryType(length=MAX_LENGTH, nullable=nullable)
    if pa.types.is_time(arrow):
        return TimeType(precision=min(_PRECISION_OF_UNIT[arrow.unit], 3), nullable=nullable)
    if pa.types.is_timestamp(arrow):
        precision = _PRECISION_OF_UNIT[arrow.unit]
        if arrow.tz is None:
            return TimestampType(precision=precision, nullable=nullable)
        return LocalZonedTimestampType(precision=precision, nullable=nullable)
    return None
