"""Converts values that fastavro decoded, without their logical types, to Arrow columns, also within nested types."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa

from table_format.formats.avro_types import is_array_map, timestamp_unit_of
from table_format.formats.leaves import entry_types
from table_format.model.arrow_calls import py_buffer
from table_format.model.arrow_types import arrow_type
from table_format.model.types import (
    AnyTimestampType,
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    MapType,
    MultisetType,
    RowType,
    TimeType,
)

_DECIMAL_BYTES: Final = 16


def decoded_column(values: Sequence[Any], data_type: DataType) -> pa.Array:
    """Return an array of exactly ``arrow_type(data_type)``.

    >>> from table_format.model.types import IntType
    >>> decoded_column([[1, None], None], ArrayType(element=IntType())).to_pylist()
    [[1, None], None]

    Raises:
        pa.ArrowInvalid: a value does not fit the type.
    """
    target = arrow_type(data_type)
    match data_type:
        case DateType():
            return pa.array(values, pa.int32()).view(target)
        case TimeType():
            times = pa.array(values, pa.int32()).view(target)
            times.validate(full=True)
            return times
        case AnyTimestampType():
            stored = pa.timestamp(timestamp_unit_of(data_type), cast("pa.TimestampType", target).tz)
            return pa.array(values, pa.int64()).view(stored).cast(target, safe=False)
        case DecimalType():
            return _decimals(values, data_type, target)
        case ArrayType(element=element):
            items = decoded_column(list(chain.from_iterable(v for v in values if v is not None)), element)
            return _nested(target, values, [_offsets(values), items])
        case MapType() | MultisetType():
            return _maps(values, data_type, target)
        case RowType(fields=fields):
            members = [decoded_column([None if v is None else v[f.name] for v in values], f.type) for f in fields]
            return _nested(target, values, [None, *members])
    return pa.array(values, target)


def _maps(values: Sequence[Any], data_type: MapType | MultisetType, target: pa.DataType) -> pa.Array:
    key_type, value_type = entry_types(data_type)
    present = [v for v in values if v is not None]
    if is_array_map(data_type):
        keys = [entry["key"] for entries in present for entry in entries]
        items = [entry["value"] for entries in present for entry in entries]
    else:
        keys = list(chain.from_iterable(present))
        items = list(chain.from_iterable(entries.values() for entries in present))
    columns = [decoded_column(keys, key_type), decoded_column(items, value_type)]
    kind = cast("pa.MapType", target)
    fields = [kind.key_field, kind.item_field]
    return _nested(target, values, [_offsets(values), pa.StructArray.from_arrays(columns, fields=fields)])


def _nested(target: pa.DataType, values: Sequence[Any], parts: list[Any]) -> pa.Array:
    """Return a list, map or struct, built from its offsets (if any) and its children."""
    valid = np.fromiter((v is not None for v in values), np.bool_, len(values))
    validity = None if valid.all() else py_buffer(np.packbits(valid, bitorder="little"))
    offsets, *children = parts
    buffers = [validity] if offsets is None else [validity, offsets]
    return pa.Array.from_buffers(target, len(values), buffers, int(len(values) - valid.sum()), children=children)


def _offsets(values: Sequence[Any]) -> pa.Buffer:
    counts = accumulate((0 if v is None else len(v) for v in values), initial=0)
    return py_buffer(np.fromiter(counts, np.int32, len(values) + 1))


def _decimals(values: Sequence[bytes | None], data_type: DecimalType, target: pa.DataType) -> pa.Array:
    limit = 10**data_type.precision
    words = bytearray()
    valid: list[bool] = []
    for value in values:
        unscaled = int.from_bytes(value or b"", "big", signed=True)
        # A value with more digits than the type allows becomes null, as in the reference: a sum can have too many.
        fits = value is not None and abs(unscaled) < limit
        valid.append(fits)
        words += unscaled.to_bytes(_DECIMAL_BYTES, "little", signed=True) if fits else bytes(_DECIMAL_BYTES)
    validity = None if all(valid) else py_buffer(np.packbits(np.array(valid, np.bool_), bitorder="little"))
    return pa.Array.from_buffers(target, len(values), [validity, py_buffer(bytes(words))])
