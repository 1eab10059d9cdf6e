"""Removes duplicate keys of MAP values: the last value of a key wins, as in Java's maps."""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa

from table_format.formats.leaves import entry_types
from table_format.formats.nested import (
    list_values,
    map_entries,
    struct_fields,
    with_list_values,
    with_map_entries,
    with_struct_fields,
)
from table_format.model.arrow_calls import py_buffer
from table_format.model.types import ArrayType, DataType, MapType, MultisetType, RowType, types_in


def with_single_keys(array: pa.Array, data_type: DataType) -> pa.Array:
    """Return the column without entries whose key occurs again later in the same map, at any depth.

    >>> from table_format.model.types import IntType, VarCharType, types_in
    >>> maps = pa.array([[("a", 1), ("b", 2), ("a", 3)], None], pa.map_(pa.string(), pa.int32()))
    >>> with_single_keys(maps, MapType(VarCharType(nullable=False), IntType())).to_pylist()
    [[('b', 2), ('a', 3)], None]
    """
    if not _holds_map(data_type):
        return array
    match data_type:
        case ArrayType(element=element):
            return with_list_values(array, with_single_keys(list_values(array), element), array.type)
        case MapType() | MultisetType():
            _, value_type = entry_types(data_type)
            keys, items = map_entries(array)
            items = with_single_keys(items, value_type)
            return _last_of_each_key(with_map_entries(array, keys, items, array.type))
        case RowType(fields=fields):
            members = [with_single_keys(c, f.type) for c, f in zip(struct_fields(array), fields, strict=True)]
            return with_struct_fields(array, members, array.type)
    return array


def _holds_map(data_type: DataType) -> bool:
    return any(isinstance(part, MapType | MultisetType) for part in types_in(data_type))


def _last_of_each_key(array: pa.Array) -> pa.Array:
    keys, items = map_entries(array)
    if pa.types.is_nested(keys.type):
        return array
    offsets = cast("pa.MapArray", array).offsets.to_numpy().astype(np.int64)
    rows = np.repeat(np.arange(len(array)), np.diff(offsets))
    encoded = keys.dictionary_encode()
    codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    entries = rows * (len(encoded.dictionary) + 1) + codes
    _, last = np.unique(entries[::-1], return_index=True)
    if len(last) == len(entries):
        return array
    kept = np.sort(len(entries) - 1 - last)
    counts = np.bincount(rows[kept], minlength=len(array))
    ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    fields = [array.type.key_field, array.type.item_field]
    pairs = pa.StructArray.from_arrays([keys.take(kept), items.take(kept)], fields=fields)
    # ``with_map_entries`` left neither an offset nor, without nulls, a validity.
    validity = array.buffers()[0]
    return pa.Array.from_buffers(
        array.type, len(array), [validity, py_buffer(ends)], array.null_count, children=[pairs]
    )
