"""Replaces Arrow's views of text and bytes, which polars passes, by ordinary text and bytes.

Arrow has no functions that compare, filter or take views, also as the values of a dictionary, which is what polars
passes for Categorical and Enum.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def without_views(found: pa.DataType) -> Any:  # noqa: ANN401 - the stubs lack a common type of Arrow types
    """Return the type with text and bytes in the place of views, also within other types.

    >>> without_views(pa.list_(pa.dictionary(pa.uint32(), pa.string_view())))
    ListType(list<item: dictionary<values=string, indices=uint32, ordered=0>>)
    """
    if pa.types.is_string_view(found):
        return pa.string()
    if pa.types.is_binary_view(found):
        return pa.binary()
    if pa.types.is_dictionary(found):
        return pa.dictionary(found.index_type, without_views(found.value_type), ordered=found.ordered)
    if pa.types.is_list(found):
        return pa.list_(_field_without_views(found.value_field))
    if pa.types.is_large_list(found):
        return pa.large_list(_field_without_views(found.value_field))
    if pa.types.is_fixed_size_list(found):
        return pa.list_(_field_without_views(found.value_field), found.list_size)
    if pa.types.is_struct(found):
        return pa.struct([_field_without_views(field) for field in found])
    if pa.types.is_map(found):
        return pa.map_(without_views(found.key_type), _field_without_views(found.item_field), found.keys_sorted)
    return found


def schema_without_views(schema: pa.Schema) -> pa.Schema:
    """Return the schema with text and bytes in the place of views."""
    return pa.schema([_field_without_views(field) for field in schema])


def _field_without_views(field: pa.Field) -> pa.Field:
    typed: pa.Field = field.with_type(without_views(field.type))
    return typed
