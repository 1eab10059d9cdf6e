"""The Parquet schema of a data file: physical types, nullability and field ids (format chapter 06, section 3).

Field ids of columns and ROW fields are those of the table schema; elements, keys and values have ids derived from the
enclosing column (format chapter 02, section 4). Java ``ParquetSchemaConverter``, ``SpecialFields``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from table_format.formats.int96 import INT96, decode_int96, encode_int96
from table_format.formats.leaves import convert_leaves, entry_types
from table_format.model.arrow_calls import map_
from table_format.model.arrow_types import arrow_type
from table_format.model.field_ids import element_id, key_id, value_id
from table_format.model.types import (
    AnyTimestampType,
    ArrayType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
)

_MAX_INT64_PRECISION: Final = 6


def parquet_schema(fields: Sequence[DataField]) -> pa.Schema:
    """Return the Arrow schema that Arrow's writer converts to Java's Parquet schema, with INT96 as twelve bytes."""
    return pa.schema([_parquet_field(f.name, f.type, f.id) for f in fields])


def is_int96(data_type: DataType) -> bool:
    """Return whether values of the type are stored as INT96."""
    return isinstance(data_type, AnyTimestampType) and (data_type.precision > _MAX_INT64_PRECISION)


def holds_int96(data_type: DataType) -> bool:
    """Return whether values of the type, or of a type within it, are stored as INT96.

    >>> from table_format.model.types import TimestampType
    >>> holds_int96(ArrayType(element=TimestampType(precision=9))), holds_int96(TimestampType(precision=6))
    (True, False)
    """
    return is_int96(data_type) or any(holds_int96(child) for _, child in _children(data_type))


def int96_paths(fields: Sequence[DataField]) -> set[tuple[str, ...]]:
    """Return the paths of all INT96 columns in the Parquet schema."""
    return {path for field in fields for path in _int96_paths((field.name,), field.type)}


def to_storage(array: pa.Array, data_type: DataType) -> pa.Array:
    """Convert values of ``arrow_type(data_type)`` to the form that is passed to Arrow's writer."""
    if not holds_int96(data_type):
        return array
    return convert_leaves(array, data_type, _parquet_type(data_type, 0, 0), _stored)


def from_storage(array: pa.Array, data_type: DataType) -> pa.Array:
    """Convert values from Arrow's reader to ``arrow_type(data_type)``, the type in the file's schema.

    Raises:
        pa.ArrowInvalid: the column of the file has a different type.
    """
    target = arrow_type(data_type)
    if array.type == target:
        return array
    # The field values of a null row need not be valid values of their type.
    return convert_leaves(array, data_type, target, _restored, spread_nulls=True)


def _stored(array: pa.Array, data_type: DataType, target: pa.DataType) -> pa.Array:
    return encode_int96(array) if is_int96(data_type) else array.cast(target)


def _restored(array: pa.Array, data_type: DataType, target: pa.DataType) -> pa.Array:  # noqa: ARG001
    if array.type == target:
        return array
    if pa.types.is_timestamp(target):
        if array.type == INT96:
            return decode_int96(array, target)
        if pa.types.is_timestamp(array.type) or pa.types.is_int64(array.type):
            # TIMESTAMP(0) is stored in milliseconds. Like Java, drop the digits beyond the precision.
            return array.cast(target, safe=False)
    return array.cast(target)


def _parquet_field(name: str, data_type: DataType, field_id: int) -> pa.Field:
    return _field(name, _parquet_type(data_type, field_id, 0), data_type.nullable, field_id)


def _field(name: str, arrow: pa.DataType, nullable: bool, field_id: int) -> pa.Field:  # noqa: FBT001
    return pa.field(name, arrow, nullable, {b"PARQUET:field_id": str(field_id).encode()})


def _parquet_type(data_type: DataType, column_id: int, depth: int) -> pa.DataType:
    """Return the Arrow type; ``column_id`` is the id of the enclosing column or ROW field, ``depth`` the nesting."""
    if is_int96(data_type):
        return INT96
    below = depth + 1
    match data_type:
        case ArrayType(element=element):
            child = _parquet_type(element, column_id, below)
            return pa.list_(_field("element", child, element.nullable, element_id(column_id, below)))
        case MapType() | MultisetType():
            (_, key), (_, item) = _children(data_type)
            return map_(
                _field("key", _parquet_type(key, column_id, below), False, key_id(column_id, below)),
                _field("value", _parquet_type(item, column_id, below), item.nullable, value_id(column_id, below)),
            )
        case RowType(fields=fields):
            return pa.struct([_parquet_field(f.name, f.type, f.id) for f in fields])
    return arrow_type(data_type)


def _children(data_type: DataType) -> Sequence[tuple[tuple[str, ...], DataType]]:
    """Return the types directly below a type, with their path in the Parquet schema."""
    match data_type:
        case ArrayType(element=element):
            return [(("list", "element"), element)]
        case MapType() | MultisetType():
            key, value = entry_types(data_type)
            return [(("key_value", "key"), key), (("key_value", "value"), value)]
        case RowType(fields=fields):
            return [((f.name,), f.type) for f in fields]
    return []


def _int96_paths(path: tuple[str, ...], data_type: DataType) -> Iterator[tuple[str, ...]]:
    if is_int96(data_type):
        yield path
    for below, child in _children(data_type):
        yield from _int96_paths((*path, *below), child)
