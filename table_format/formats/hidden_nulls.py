"""Replaces nulls in NOT NULL fields of null rows, which Arrow's Parquet writer refuses.

The fields of a null row are never stored, so they may have any value.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from table_format.formats.nested import (
    all_valid,
    list_values,
    map_entries,
    struct_fields,
    with_list_values,
    with_map_entries,
    with_struct_fields,
)


def may_hide_nulls(data_type: pa.DataType) -> bool:
    """Return whether the type contains a NOT NULL field in a row that may be null."""
    children = [data_type.field(i) for i in range(data_type.num_fields)]
    is_row = pa.types.is_struct(data_type)
    return any((is_row and not field.nullable) or may_hide_nulls(field.type) for field in children)


def without_hidden_nulls(array: pa.Array) -> pa.Array:
    """Return the same values, with arbitrary values in the NOT NULL fields of null rows.

    Nulls in rows that are not null remain, and the writer refuses them.

    >>> kind = pa.struct([pa.field("x", pa.int32(), nullable=False)])
    >>> rows = without_hidden_nulls(pa.array([{"x": 1}, None], kind))
    >>> rows.to_pylist(), rows.field(0).null_count
    ([{'x': 1}, None], 0)
    """
    data_type = array.type
    if not may_hide_nulls(data_type):
        return array
    if pa.types.is_list(data_type):
        return with_list_values(array, without_hidden_nulls(list_values(array)), data_type)
    if pa.types.is_map(data_type):
        keys, items = map_entries(array)
        return with_map_entries(array, without_hidden_nulls(keys), without_hidden_nulls(items), data_type)
    fields = [without_hidden_nulls(field) for field in struct_fields(array)]
    for i, field in enumerate(fields):
        if not data_type.field(i).nullable and field.null_count and not _shows_null(array, field):
            fields[i] = all_valid(field)
    return with_struct_fields(array, fields, data_type)


def _shows_null(rows: pa.Array, field: pa.Array) -> bool:
    return pc.and_not(field.is_null(), rows.is_null()).true_count > 0
