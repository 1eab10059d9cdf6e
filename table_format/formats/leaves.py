"""Converts the scalars of a column at any depth of ARRAYs, MAPs, MULTISETs and ROWs.

File formats store some scalars in a form other than ``arrow_type``; the containers around them do not change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias, cast

import pyarrow as pa

from table_format.formats.nested import (
    list_values,
    map_entries,
    struct_fields,
    with_list_values,
    with_map_entries,
    with_struct_fields,
)
from table_format.model.arrow_types import arrow_type
from table_format.model.types import ArrayType, DataField, DataType, IntType, MapType, MultisetType, RowType

Leaf: TypeAlias = Callable[[pa.Array, DataType, pa.DataType], pa.Array]
"""A conversion of scalars; takes the values, their type, and the target Arrow type."""


def convert_leaves(
    array: pa.Array, data_type: DataType, target: pa.DataType, leaf: Leaf, *, spread_nulls: bool = False
) -> pa.Array:
    """Convert an array to ``target``, an Arrow type with the same nesting; ROW fields are matched by name.

    With ``spread_nulls`` the fields of a null ROW are null too, instead of undefined.

    >>> from table_format.model.types import ArrayType, IntType
    >>> column = pa.array([[1], None, [2, 3]], pa.list_(pa.int32()))
    >>> def cast(values, data_type, target):
    ...     return values.cast(target)
    >>> convert_leaves(column, ArrayType(element=IntType()), pa.list_(pa.string()), cast).to_pylist()
    [['1'], None, ['2', '3']]

    Raises:
        pa.ArrowInvalid: the array has a different nesting, or a ROW lacks a field.
    """
    below = partial(convert_leaves, leaf=leaf, spread_nulls=spread_nulls)
    match data_type:
        case ArrayType(element=element) if pa.types.is_list(array.type):
            values = below(list_values(array), element, cast("pa.ListType", target).value_type)
            return with_list_values(array, values, target)
        case MapType() | MultisetType() if pa.types.is_map(array.type):
            key_type, item_type = entry_types(data_type)
            keys, items = map_entries(array)
            kind = cast("pa.MapType", target)
            keys = below(keys, key_type, kind.key_type)
            return with_map_entries(array, keys, below(items, item_type, kind.item_type), target)
        case RowType(fields=fields) if pa.types.is_struct(array.type):
            structs = cast("pa.StructArray", array)
            members = _members(structs, fields, structs.flatten() if spread_nulls else struct_fields(array))
            columns = [
                below(column, field.type, target.field(i).type)
                for i, (column, field) in enumerate(zip(members, fields, strict=True))
            ]
            return with_struct_fields(array, columns, target)
    return leaf(array, data_type, target)


def check_leaves(array: pa.Array, data_type: DataType, check: Callable[[pa.Array, DataType], None]) -> None:
    """Call ``check`` with the scalars at every depth of an array, and their type. Fields of a null ROW are null.

    >>> from table_format.model.types import ArrayType, IntType
    >>> column = pa.array([[1], None, [2, 3]], pa.list_(pa.int32()))
    >>> check_leaves(column, ArrayType(element=IntType()), lambda values, _: print(values.to_pylist()))
    [1, 2, 3]
    """

    def checked(values: pa.Array, kind: DataType, target: pa.DataType) -> pa.Array:  # noqa: ARG001
        check(values, kind)
        return values

    convert_leaves(array, data_type, arrow_type(data_type), checked, spread_nulls=True)


def entry_types(data_type: MapType | MultisetType) -> tuple[DataType, DataType]:
    """Return the types of keys and values; for a MULTISET, the values are counts.

    >>> from table_format.model.types import VarCharType
    >>> [str(t) for t in entry_types(MultisetType(element=VarCharType(5)))]
    ['VARCHAR(5)', 'INT NOT NULL']
    """
    if isinstance(data_type, MapType):
        return data_type.key, data_type.value
    return data_type.element, IntType(nullable=False)


def _members(array: pa.StructArray, fields: tuple[DataField, ...], members: list[pa.Array]) -> list[pa.Array]:
    columns = dict(zip((f.name for f in array.type), members, strict=True))
    missing = [f.name for f in fields if f.name not in columns]
    if missing:
        message = f"ROW field '{missing[0]}' is not in the file; its fields are {', '.join(columns)}"
        raise pa.ArrowInvalid(message)
    return [columns[f.name] for f in fields]
