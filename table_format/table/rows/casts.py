"""Lossless casts of input values to the exact Arrow type of the column.

A cast keeps every value, or is refused with the value and its row. A type of another family (text for a number, a
timestamp for a date) is always refused.
"""

from __future__ import annotations

import typing
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidData
from table_format.model.arrow_calls import binary_length, greater, list_array, map_array, nulls, utf8_length
from table_format.model.arrow_types import arrow_field, arrow_type, described
from table_format.model.types import (
    MAX_LENGTH,
    NESTED,
    ArrayType,
    BinaryType,
    CharType,
    DataType,
    IntType,
    MapType,
    MultisetType,
    RowType,
    VarBinaryType,
    VarCharType,
)

_CastPart: typing.TypeAlias = Callable[[pa.Array, DataType, str], pa.Array]
"""Casts a part of a nested array, with the name of the part."""

_INTEGER_DIGITS = 20
"""Of the largest unsigned 64-bit number."""


def cast_column(
    array: pa.Array, data_type: DataType, column: str, *, first_row: int = 0, check_lengths: bool = True
) -> pa.Array:
    """Cast the array to ``arrow_type(data_type)``. ``first_row`` is the number of its first row in messages.

    Without ``check_lengths``, texts and bytes may be longer than the type says.

    Raises:
        InvalidData: the types are incompatible, or a value does not fit.
    """
    target = arrow_type(data_type)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = typing.cast("pa.DictionaryArray", array).dictionary_decode()
    if pa.types.is_null(array.type):
        return nulls(len(array), target)
    if isinstance(data_type, NESTED):
        return _cast_nested(array, data_type, column, check_lengths)
    if not array.type.equals(target):
        if _family(array.type) not in _accepted(target):
            raise _refusal(array, data_type, column)
        cast = _lossless(array, target)
        if cast is None:
            row = _first_failure(array, lambda part: _lossless(part, target) is not None)
            message = (
                f"column '{column}' is {data_type}, which cannot hold {array[row]} of row {first_row + row} exactly"
            )
            raise InvalidData(message)
        array = cast
    if check_lengths:
        _check_length(array, data_type, column, first_row)
    return array


def _lossless(array: pa.Array, target: pa.DataType) -> pa.Array | None:
    """Return the cast array, or ``None`` if a value would change."""
    try:
        if pa.types.is_integer(array.type) and pa.types.is_decimal(target):
            # Arrow requires room for every number of the source type; only the actual numbers need it.
            array = array.cast(pa.decimal128(_INTEGER_DIGITS, 0))
        if pa.types.is_float16(array.type):
            array = array.cast(pa.float32())  # Arrow cannot compare the numbers below
        cast = array.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if not pa.types.is_floating(target):
        return cast
    # A safe cast to floating point may round.
    same = pc.equal(array, cast.cast(array.type, safe=False))
    if pa.types.is_floating(array.type):
        same = pc.or_(same, pc.is_nan(array))
    return cast if pc.all(same, min_count=0).as_py() else None


def _first_failure(array: pa.Array, succeeds: Callable[[pa.Array], bool]) -> int:
    """Return the first row that does not fit, by bisection."""
    start, stop = 0, len(array)
    while stop - start > 1:
        middle = (start + stop) // 2
        if succeeds(array.slice(start, middle - start)):
            start = middle
        else:
            stop = middle
    return start


def _family(source: pa.DataType) -> str:
    for name, tests in _FAMILIES.items():
        if any(test(source) for test in tests):
            return name
    if pa.types.is_timestamp(source):
        return "timestamp" if source.tz is None else "instant"
    return str(source)


_FAMILIES: dict[str, tuple[Callable[[pa.DataType], bool], ...]] = {
    "boolean": (pa.types.is_boolean,),
    "integer": (pa.types.is_integer,),
    "float": (pa.types.is_floating,),
    "decimal": (pa.types.is_decimal,),
    "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    "bytes": (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_binary_view,
        pa.types.is_fixed_size_binary,
    ),
    "date": (pa.types.is_date,),
    "time": (pa.types.is_time,),
}


def _accepted(target: pa.DataType) -> tuple[str, ...]:
    family = _family(target)
    return (family, "integer") if family in ("float", "decimal") else (family,)


def _check_length(array: pa.Array, data_type: DataType, column: str, first_row: int) -> None:
    match data_type:
        case CharType(length=length) | VarCharType(length=length):
            measure = utf8_length
        case BinaryType(length=length) | VarBinaryType(length=length):
            measure = binary_length
        case _:
            return
    if length == MAX_LENGTH:
        return
    lengths = measure(array)
    if (pc.max(lengths).as_py() or 0) > length:
        row = pc.index(greater(lengths, length), value=True).as_py()
        message = f"column '{column}' is {data_type}; the value of row {first_row + row} has length {lengths[row]}"
        raise InvalidData(message)


def _refusal(array: pa.Array, data_type: DataType, column: str) -> InvalidData:
    return InvalidData(f"column '{column}' is {data_type}, which cannot hold {described(array.type)}; cast it first")


def _cast_nested(array: pa.Array, data_type: DataType, column: str, check_lengths: bool) -> pa.Array:  # noqa: FBT001
    # Rows of parts have no number, so messages name the part and the value.
    def cast_part(part: pa.Array, part_type: DataType, name: str) -> pa.Array:
        return cast_column(part, part_type, f"{column}.{name}", check_lengths=check_lengths)

    match data_type:
        case ArrayType(element=element) if _is_list(array.type):
            values = cast_part(typing.cast("pa.ListArray", array).flatten(), element, "element")
            return list_array(_offsets(array), values, type=arrow_type(data_type), mask=array.is_null())
        case MapType(key=key, value=value) if pa.types.is_map(array.type):
            return _cast_map(array, data_type, key, value, cast_part)
        case MultisetType(element=element) if pa.types.is_map(array.type):
            return _cast_map(array, data_type, element, IntType(nullable=False), cast_part)
        case RowType() if pa.types.is_struct(array.type):
            return _cast_struct(array, data_type, column, cast_part)
        case _:
            raise _refusal(array, data_type, column)


def _is_list(source: pa.DataType) -> bool:
    return any(test(source) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def _offsets(array: pa.Array) -> pa.Array:
    """Where each list begins in the values of all lists that are not null."""
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))


def _cast_map(array: pa.Array, data_type: DataType, key: DataType, value: DataType, cast_part: _CastPart) -> pa.Array:
    # A copy begins at 0 and has no values behind its nulls.
    copy = typing.cast("pa.MapArray", array.take(np.arange(len(array))))
    keys = cast_part(copy.keys, key, "key")
    values = cast_part(copy.items, value, "value")
    return map_array(copy.offsets, keys, values, type=arrow_type(data_type), mask=copy.is_null())


def _cast_struct(array: pa.Array, data_type: RowType, column: str, cast_part: _CastPart) -> pa.Array:
    found, wanted = [f.name for f in array.type], [f.name for f in data_type.fields]
    if sorted(found) != sorted(wanted):
        message = f"column '{column}' is {data_type}; found a struct with the fields {', '.join(found)}"
        raise InvalidData(message)
    children = [cast_part(pc.struct_field(array, found.index(f.name)), f.type, f.name) for f in data_type.fields]
    fields = [arrow_field(f) for f in data_type.fields]
    return pa.StructArray.from_arrays(children, fields=fields, mask=array.is_null())
