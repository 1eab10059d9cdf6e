"""Encodes elements of ARRAY and MAP columns as integers: equal elements have equal codes, whatever their type.

The collection functions then use only row numbers of the flat element column and codes, and build the result with one
``take``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.aggregates.buffers import Ints, Mask, numbers, validity
from table_format.kernels.aggregates.java_order import UInt32s, order_in_groups
from table_format.kernels.aggregates.segments import Segments
from table_format.kernels.aggregates.spec import Action
from table_format.model.arrow_calls import arrow_array, frombuffer, list_array, map_array, struct_field

NULL_CODE = -1

T = TypeVar("T")


@dataclass(frozen=True)
class Elements:
    """The elements of a list or map column; those of row ``r`` are from ``starts[r]`` to ``ends[r]``."""

    flat: pa.Array
    """All elements; for a map, its entries as structs."""
    starts: Ints
    ends: Ints
    valid: Mask
    """The rows that are not null."""

    def rows(self) -> list[range | None]:
        """Return the elements of each row; ``None`` if the row is null."""
        spans = zip(self.starts.tolist(), self.ends.tolist(), self.valid.tolist(), strict=True)
        return [range(start, end) if valid else None for start, end, valid in spans]


def elements_of(array: pa.Array) -> Elements:
    """Return the elements of an array of lists or maps."""
    offsets = frombuffer(array.buffers()[1], np.int32, len(array) + 1, array.offset * 4).astype(np.int64)
    flat = entries_of(array) if pa.types.is_map(array.type) else cast("pa.ListArray", array).values
    return Elements(flat, offsets[:-1], offsets[1:], validity(array))


def entries_of(array: pa.Array) -> pa.Array:
    """Return all keys and values of a map column as structs."""
    maps = cast("pa.MapArray", array)
    return pa.StructArray.from_arrays([maps.keys, maps.items], fields=[array.type.key_field, array.type.item_field])


@dataclass(frozen=True)
class Flattened:
    """The elements of all inputs, group by group in merge order."""

    flat: pa.Array
    rows: Ints
    """The elements, as row numbers of ``flat``."""
    groups: Ints
    """The group of each element."""
    absent: Mask
    """The groups without an input."""


def flattened(segments: Segments) -> Flattened:
    """Return the elements of the inputs of a list or map column."""
    elements = elements_of(segments.values)
    used = elements.valid & (segments.actions != Action.SKIP)
    lengths = np.where(used, elements.ends - elements.starts, 0)
    before = np.cumsum(lengths) - lengths
    rows = np.repeat(elements.starts - before, lengths) + np.arange(int(lengths.sum()))
    return Flattened(elements.flat, rows, np.repeat(segments.groups, lengths), ~segments.any_of(used))


def by_key(groups: Ints, code: Ints, spreads: UInt32s | None) -> tuple[Ints, Ints]:
    """Return the first and the last element of each key of each group, in the order of Java's hash maps."""
    slots = groups * (int(code.max(initial=0)) + 2) + (code + 1)
    order = np.argsort(slots, kind="stable")
    heads = np.flatnonzero(np.diff(slots[order], prepend=-1))
    first = order[heads]
    last = order[np.append(heads[1:], len(order)) - 1] if len(heads) else first
    arrival = np.argsort(first)
    first, last = first[arrival], last[arrival]
    if spreads is None or not len(first):
        return first, last
    order = order_in_groups(groups[first], spreads[first])
    return first[order], last[order]


def collected(flat: pa.Array, chosen: Ints, sizes: Ints, absent: Mask, arrow: pa.DataType) -> pa.Array:
    """Return lists or maps of the chosen elements; ``sizes[g]`` of them belong to group ``g``; null if absent."""
    offsets = arrow_array(np.append(0, np.cumsum(sizes)).astype(np.int32))
    mask = pa.array(absent) if absent.any() else None
    if pa.types.is_map(arrow):
        entries = cast("pa.StructArray", flat)
        keys, items = (entries.field(i).take(chosen) for i in range(2))
        return map_array(offsets, keys, items, arrow, mask=mask)
    return list_array(offsets, flat.take(chosen), arrow, mask=mask)


def collected_lists(flat: pa.Array, lists: Sequence[Sequence[int] | None], arrow: pa.DataType) -> pa.Array:
    """Return one list or map for each group, given the row numbers of its elements."""
    sizes = np.array([0 if rows is None else len(rows) for rows in lists], np.int64)
    absent = np.array([rows is None for rows in lists], np.bool_)
    chosen = np.array([row for rows in lists if rows is not None for row in rows], np.int64)
    return collected(flat, chosen, sizes, absent, arrow)


def row_by_row(
    segments: Segments,
    values: Sequence[T | None],
    add: Callable[[T | None, T | None], T | None],
    take_back: Callable[[T | None, T | None], T | None],
) -> list[T | None]:
    """Fold the values of each group one by one, according to the action of each row."""
    actions = segments.actions.tolist()
    results: list[T | None] = []
    for start, length in zip(segments.starts.tolist(), segments.lengths.tolist(), strict=True):
        accumulator: T | None = None
        for row in range(start, start + length):
            value = values[row]
            match actions[row]:
                case Action.AGG:
                    accumulator = add(accumulator, value)
                case Action.REVERSED:
                    accumulator = add(value, accumulator)
                case Action.RETRACT:
                    accumulator = take_back(accumulator, value)
                case Action.RESET:
                    accumulator = value
        results.append(accumulator)
    return results


def codes(array: pa.Array, *, by_identity: bool = False) -> Ints:
    """Return one integer for each value, equal for equal values; ``NULL_CODE`` for null.

    With ``by_identity`` byte strings are never equal, as Java compares byte arrays.

    >>> codes(pa.array(["b", None, "b", "a"])).tolist()
    [0, -1, 0, 1]
    """
    arrow = array.type
    if pa.types.is_binary(arrow) and by_identity:
        return np.where(validity(array), np.arange(len(array)), NULL_CODE)
    if pa.types.is_struct(arrow):
        fields = [codes(_field(array, i)) for i in range(arrow.num_fields)]
        return np.where(validity(array), combined(fields, len(array)), NULL_CODE)
    if pa.types.is_list(arrow) or pa.types.is_map(arrow):
        return _list_codes(array)
    if pa.types.is_floating(arrow):
        array = _float_words(array)
    encoded = array.dictionary_encode().indices
    result: Ints = encoded.fill_null(NULL_CODE).to_numpy(zero_copy_only=False).astype(np.int64)
    return result


def combined(columns: Sequence[Ints], count: int) -> Ints:
    """Return one code for each row of several columns of codes."""
    result = np.zeros(count, np.int64)
    for column in columns:
        pairs = result * (int(column.max(initial=0)) + 2) + (column + 1)
        result = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return result


def ranks(array: pa.Array) -> Ints:
    """Return one integer for each value, in the order of the values; nulls first."""
    encoded = array.dictionary_encode()
    places = np.empty(len(encoded.dictionary), np.int64)
    places[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(places))
    indices = encoded.indices.fill_null(0).to_numpy()
    return np.where(validity(array), places[indices] if len(places) else 0, NULL_CODE)


def field_named(array: pa.Array, name: str) -> pa.Array:
    """Return a field of an array of structs; null if the struct is null."""
    return _field(array, array.type.get_field_index(name))


def _field(array: pa.Array, index: int) -> pa.Array:
    return struct_field(array, [index])


def _float_words(array: pa.Array) -> pa.Array:
    integer: Any = np.int32 if array.type.bit_width == 32 else np.int64
    values = numbers(array, array.type.to_pandas_dtype())
    nan = 0x7FC00000 if array.type.bit_width == 32 else 0x7FF8000000000000
    return arrow_array(np.where(np.isnan(values), integer(nan), values.view(integer)), mask=~validity(array))


def _list_codes(array: pa.Array) -> Ints:
    elements = elements_of(array)
    inner = codes(elements.flat).tolist()
    known: dict[Hashable, int] = {}
    result = np.full(len(array), NULL_CODE, np.int64)
    is_map = pa.types.is_map(array.type)
    for row, span in enumerate(elements.rows()):
        if span is not None:
            content = inner[span.start : span.stop]
            key = tuple(sorted(content)) if is_map else tuple(content)
            result[row] = known.setdefault(key, len(known))
    return result
