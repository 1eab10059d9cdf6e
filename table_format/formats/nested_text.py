"""Converts arrays, maps and rows to text, as Java Paimon's casts to STRING do.

Java ``ArrayToStringCastRule``, ``MapToStringCastRule``, ``RowToStringCastRule``: ``[1, null]``, ``{a -> 1}`` and
``{1, x}``. Text elements are neither quoted nor cut to the length of the new type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import pyarrow as pa

from table_format.formats.nested import list_values, map_entries, struct_fields, with_list_values
from table_format.model.arrow_calls import binary_join, binary_join_element_wise, fill_null, if_else
from table_format.model.types import ArrayType, DataType, MapType, RowType

_ToText: TypeAlias = Callable[[pa.Array], pa.Array]
_NULL: Final = "null"
_SEPARATOR: Final = ", "
_TEXTS: Final = pa.list_(pa.string())


def nested_to_text(source: DataType, part_to_text: Callable[[DataType], _ToText | None]) -> _ToText | None:
    """Return a function that converts a nested type to text; ``None`` for MULTISET and for unsupported parts."""
    match source:
        case ArrayType(element=element):
            of_element = part_to_text(element)
            return (
                None if of_element is None else lambda array: _listed("[", array, of_element(list_values(array)), "]")
            )
        case MapType(key=key, value=value):
            of_key, of_value = part_to_text(key), part_to_text(value)
            return None if of_key is None or of_value is None else _map_to_text(of_key, of_value)
        case RowType(fields=fields):
            each = [part_to_text(field.type) for field in fields]
            found = [to_text for to_text in each if to_text is not None]
            return _row_to_text(found) if len(found) == len(each) else None
    return None


def _map_to_text(of_key: _ToText, of_value: _ToText) -> _ToText:
    def to_text(array: pa.Array) -> pa.Array:
        keys, values = map_entries(array)
        return _listed("{", array, _joined([of_key(keys), of_value(values)], " -> "), "}")

    return to_text


def _row_to_text(of_fields: Sequence[_ToText]) -> _ToText:
    def to_text(array: pa.Array) -> pa.Array:
        pairs = zip(of_fields, struct_fields(array), strict=True)
        text = _enclosed("{", _joined([of_field(values) for of_field, values in pairs], _SEPARATOR), "}")
        shown: pa.Array = if_else(array.is_valid(), text, pa.scalar(None, pa.string()))
        return shown

    return to_text


def _listed(start: str, lists: pa.Array, values: pa.Array, end: str) -> pa.Array:
    """Return each list or map as one text, given the texts of its entries."""
    texts = with_list_values(lists, _joined([values], ""), _TEXTS)
    return _enclosed(start, binary_join(texts, _SEPARATOR), end)


def _joined(texts: Sequence[pa.Array], separator: str) -> pa.Array:
    """Join texts row by row; nulls are written as ``null``."""
    return binary_join_element_wise(*(fill_null(text, _NULL) for text in texts), separator)


def _enclosed(start: str, text: pa.Array, end: str) -> pa.Array:
    return binary_join_element_wise(start, text, end, "")
