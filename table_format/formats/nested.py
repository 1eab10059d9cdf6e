"""Taking nested Arrow arrays apart and putting them together again with other children.

Offsets and validity are kept as they are; only the values below them are exchanged. Slices are handled: the parts of a
sliced array describe just the slice.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def list_values(array: pa.ListArray) -> pa.Array:
    """The elements that the lists of ``array`` refer to, and nothing before or behind them."""
    first, last = _bounds(array)
    return array.values.slice(first, last - first)


def with_list_values(array: pa.ListArray, values: pa.Array, list_type: pa.DataType) -> pa.ListArray:
    """The same lists over other elements, as many as ``list_values`` gave.

    >>> lists = pa.array([[0], [1, 2], None, []]).slice(1)
    >>> with_list_values(lists, pa.array(["b", "c"]), pa.list_(pa.string())).to_pylist()
    [['b', 'c'], None, []]
    """
    return pa.Array.from_buffers(
        list_type, len(array), [_validity(array), _offsets(array)], array.null_count, children=[values]
    )


def map_entries(array: pa.MapArray) -> tuple[pa.Array, pa.Array]:
    """The keys and the values that the maps of ``array`` refer to."""
    first, last = _bounds(array)
    return array.keys.slice(first, last - first), array.items.slice(first, last - first)


def with_map_entries(array: pa.MapArray, keys: pa.Array, items: pa.Array, map_type: pa.DataType) -> pa.MapArray:
    """The same maps over other keys and values.

    >>> maps = pa.array([[("a", 1)], None, [("b", 2)]], pa.map_(pa.string(), pa.int32())).slice(1)
    >>> with_map_entries(maps, pa.array(["B"]), pa.array([2.5]), pa.map_(pa.string(), pa.float64())).to_pylist()
    [None, [('B', 2.5)]]
    """
    entries = pa.StructArray.from_arrays([keys, items], fields=[map_type.key_field, map_type.item_field])
    return pa.Array.from_buffers(
        map_type, len(array), [_validity(array), _offsets(array)], array.null_count, children=[entries]
    )


def struct_fields(array: pa.StructArray) -> list[pa.Array]:
    """The fields of the rows, in order; below a null row they hold anything."""
    return [array.field(i) for i in range(array.type.num_fields)]


def with_struct_fields(array: pa.StructArray, fields: list[pa.Array], struct_type: pa.DataType) -> pa.StructArray:
    """Rows that are null where those of ``array`` are, with other fields.

    >>> rows = pa.array([{"a": 1}, None, {"a": 3}]).slice(1)
    >>> with_struct_fields(rows, [pa.array(["x", "y"])], pa.struct({"b": pa.string()})).to_pylist()
    [None, {'b': 'y'}]
    """
    return pa.Array.from_buffers(struct_type, len(array), [_validity(array)], array.null_count, children=fields)


def empty_columns(rows: int) -> pa.RecordBatch:
    """A batch without columns that still knows its number of rows.

    >>> empty_columns(3).num_rows
    3
    """
    return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None], 0))


def _bounds(array: pa.ListArray | pa.MapArray) -> tuple[int, int]:
    offsets = array.offsets
    return offsets[0].as_py(), offsets[-1].as_py()


def _offsets(array: pa.ListArray | pa.MapArray) -> pa.Buffer:
    offsets = array.offsets.to_numpy()
    return pa.py_buffer(np.ascontiguousarray(offsets - offsets[0]))


def _validity(array: pa.Array) -> pa.Buffer | None:
    if array.null_count == 0:
        return None
    return pa.py_buffer(np.packbits(array.is_valid().to_numpy(zero_copy_only=False), bitorder="little"))
