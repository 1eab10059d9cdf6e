"""Takes nested Arrow arrays apart, and rebuilds them with different children.

Offsets and validity do not change; only the child values are replaced. The parts of a sliced array cover only the
slice.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa

from table_format.model.arrow_calls import py_buffer


def list_values(array: pa.Array) -> pa.Array:
    """Return only the elements to which the lists of ``array`` refer."""
    lists = cast("pa.ListArray", array)
    first, last = _bounds(lists)
    return lists.values.slice(first, last - first)


def with_list_values(array: pa.Array, values: pa.Array, list_type: pa.DataType) -> pa.Array:
    """Return the same lists with different elements; there must be as many as ``list_values`` returned.

    >>> lists = pa.array([[0], [1, 2], None, []]).slice(1)
    >>> with_list_values(lists, pa.array(["b", "c"]), pa.list_(pa.string())).to_pylist()
    [['b', 'c'], None, []]
    """
    return pa.Array.from_buffers(
        list_type, len(array), [_validity(array), _offsets(array)], array.null_count, children=[values]
    )


def map_entries(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return only the keys and values to which the maps of ``array`` refer."""
    maps = cast("pa.MapArray", array)
    first, last = _bounds(maps)
    return maps.keys.slice(first, last - first), maps.items.slice(first, last - first)


def with_map_entries(array: pa.Array, keys: pa.Array, items: pa.Array, map_type: pa.DataType) -> pa.Array:
    """Return the same maps with different keys and values.

    >>> maps = pa.array([[("a", 1)], None, [("b", 2)]], pa.map_(pa.string(), pa.int32())).slice(1)
    >>> with_map_entries(maps, pa.array(["B"]), pa.array([2.5]), pa.map_(pa.string(), pa.float64())).to_pylist()
    [None, [('B', 2.5)]]
    """
    kind = cast("pa.MapType", map_type)
    entries = pa.StructArray.from_arrays([keys, items], fields=[kind.key_field, kind.item_field])
    return pa.Array.from_buffers(
        map_type, len(array), [_validity(array), _offsets(array)], array.null_count, children=[entries]
    )


def struct_fields(array: pa.Array) -> list[pa.Array]:
    """Return the fields of the rows, in order; they are undefined where the row is null."""
    structs = cast("pa.StructArray", array)
    return [structs.field(i) for i in range(structs.type.num_fields)]


def with_struct_fields(array: pa.Array, fields: list[pa.Array], struct_type: pa.DataType) -> pa.Array:
    """Return rows with different fields that are null where the rows of ``array`` are null.

    >>> rows = pa.array([{"a": 1}, None, {"a": 3}]).slice(1)
    >>> with_struct_fields(rows, [pa.array(["x", "y"])], pa.struct({"b": pa.string()})).to_pylist()
    [None, {'b': 'y'}]
    """
    return pa.Array.from_buffers(struct_type, len(array), [_validity(array)], array.null_count, children=fields)


def all_valid(array: pa.Array) -> pa.Array:
    """Return the values without nulls: each null is replaced by an arbitrary value.

    >>> all_valid(pa.array([[1, 2], None, [3]]).slice(1)).to_pylist()
    [[], [3]]
    """
    if pa.types.is_struct(array.type):
        return pa.Array.from_buffers(array.type, len(array), [None], 0, children=struct_fields(array))
    if pa.types.is_list(array.type):
        return pa.Array.from_buffers(array.type, len(array), [None, _offsets(array)], 0, children=[list_values(array)])
    if pa.types.is_map(array.type):
        kind = cast("pa.MapType", array.type)
        entries = pa.StructArray.from_arrays(list(map_entries(array)), fields=[kind.key_field, kind.item_field])
        return pa.Array.from_buffers(array.type, len(array), [None, _offsets(array)], 0, children=[entries])
    return pa.Array.from_buffers(array.type, len(array), [None, *array.buffers()[1:]], 0, array.offset)


def empty_columns(rows: int) -> pa.RecordBatch:
    """Return a batch without columns that still knows its number of rows.

    >>> empty_columns(3).num_rows
    3
    """
    rows_of_nothing = cast("pa.StructArray", pa.Array.from_buffers(pa.struct([]), rows, [None], 0))
    return pa.RecordBatch.from_struct_array(rows_of_nothing)


def _bounds(array: pa.ListArray) -> tuple[int, int]:
    offsets = array.offsets
    return offsets[0].as_py(), offsets[-1].as_py()


def _offsets(array: pa.Array) -> pa.Buffer:
    offsets = cast("pa.ListArray", array).offsets.to_numpy()
    return py_buffer(np.ascontiguousarray(offsets - offsets[0]))


def _validity(array: pa.Array) -> pa.Buffer | None:
    if array.null_count == 0:
        return None
    return py_buffer(np.packbits(array.is_valid().to_numpy(zero_copy_only=False), bitorder="little"))
