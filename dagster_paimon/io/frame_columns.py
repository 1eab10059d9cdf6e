"""The columns of a frame, with the types that they have in the table.

The type of a frame may differ from that of the table although the table holds all of its values: a column of only nulls
has no type, a library counts in unsigned integers, and the fields of a struct may be in another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from table_format.engine.support import ROW_KIND_COLUMN, can_widen
from table_format.types import (
    ArrayType,
    DataField,
    DataType,
    IntType,
    MapType,
    MultisetType,
    RowType,
    TimeType,
    VarCharType,
    fields_from_arrow,
    type_from_arrow,
)

_STORED_AS: Final[Mapping[pa.DataType, pa.DataType]] = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}
"""The smallest types that hold all values of the types that the format lacks."""


@dataclass(frozen=True, slots=True)
class FrameColumns:
    """The columns of a frame. ``untyped`` columns hold only nulls, and the table does not have them."""

    fields: tuple[DataField, ...]
    untyped: frozenset[str] = frozenset()

    def stored(self, dropped: frozenset[str]) -> tuple[DataField, ...]:
        """Return the columns that are stored."""
        return tuple(f for f in self.fields if f.name not in dropped | self.untyped)


def columns_of_arrow(schema: pa.Schema, table: Sequence[DataField], *, fits: bool = False) -> FrameColumns:
    """Return the columns of a frame for a table with these columns. With ``fits``, the table holds all their values.

    >>> table = fields_from_arrow(pa.schema([("city", pa.string()), ("sold", pa.int64())]))
    >>> columns = columns_of_arrow(pa.schema([("city", pa.null()), ("sold", pa.uint32()), ("note", pa.null())]), table)
    >>> [str(field) for field in columns.fields], sorted(columns.untyped)
    (['`city` STRING', '`sold` BIGINT', '`note` STRING'], ['note'])

    Raises:
        InvalidSchema: a column has a type that the format cannot store.
    """
    known = {field.name: field.type for field in table}
    held = {f.name for f in schema if f.name in known and (fits or _holds(known[f.name], f.type))}
    nulls = frozenset(f.name for f in schema if pa.types.is_null(f.type) and f.name not in known)
    # A column that the table holds, or that has no type, may have any type here.
    typed = pa.schema([f.with_type(pa.string() if f.name in held | nulls else _stored(f.type)) for f in schema])
    fields = (replace(f, type=known[f.name]) if f.name in held else f for f in fields_from_arrow(typed))
    return FrameColumns(tuple(fields), nulls - {ROW_KIND_COLUMN})


def untyped_field(name: str) -> DataField:
    """Return a column of nulls. Its type has no meaning."""
    return DataField(0, name, VarCharType())


def _holds(wanted: DataType, given: pa.DataType) -> bool:
    """Return whether a column of this type holds all values of an Arrow type."""
    found = _plain(given)
    if pa.types.is_null(found):
        return True
    match wanted:
        case ArrayType(element=element):
            return _is_list(found) and _holds(element, found.value_type)
        case MapType(key=key, value=value):
            return pa.types.is_map(found) and _holds(key, found.key_type) and _holds(value, found.item_type)
        case MultisetType(element=element):
            return pa.types.is_map(found) and _holds(element, found.key_type) and _holds(IntType(), found.item_type)
        case RowType(fields=fields):
            return pa.types.is_struct(found) and _has_fields(fields, list(found))
        case TimeType():
            return pa.types.is_time(found)
    return not _is_nested(found) and can_widen(type_from_arrow(_stored(found)), wanted)


def _has_fields(wanted: Sequence[DataField], found: Sequence[pa.Field]) -> bool:
    types = {field.name: field.type for field in found}
    return {field.name for field in wanted} == types.keys() and all(_holds(f.type, types[f.name]) for f in wanted)


def _stored(given: pa.DataType) -> pa.DataType:
    """Return the type in which a new column stores the values of an Arrow type."""
    found = _plain(given)
    if _is_list(found):
        return pa.list_(_stored_field(found.value_field))
    if pa.types.is_map(found):
        key, item = _stored(found.key_type), _stored(found.item_type)
        return given if (key, item) == (found.key_type, found.item_type) else pa.map_(key, item)
    if pa.types.is_struct(found):
        return pa.struct([_stored_field(field) for field in found])
    return _STORED_AS.get(found, found)


def _stored_field(field: pa.Field) -> pa.Field:
    typed: pa.Field = field.with_type(_stored(field.type))
    return typed


def _plain(found: Any) -> Any:  # noqa: ANN401 - the parts of an Arrow type depend on its kind
    """Return the type of the values of a dictionary or of an extension type."""
    if pa.types.is_dictionary(found):
        return _plain(found.value_type)
    return _plain(found.storage_type) if isinstance(found, pa.BaseExtensionType) else found


def _is_list(found: pa.DataType) -> bool:
    return pa.types.is_list(found) or pa.types.is_large_list(found) or pa.types.is_fixed_size_list(found)


def _is_nested(found: pa.DataType) -> bool:
    return bool(_is_list(found) or pa.types.is_map(found) or pa.types.is_struct(found))
