"""Reads ORC timestamps outside the years 1677 to 2262, which Arrow's reader refuses because it uses nanoseconds.

A stripe is read as a small file of its own, in which its timestamps are declared as numbers. Arrow then returns the
seconds with their nulls and nesting. The fractions of the seconds are decoded from their stream here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import numpy as np
import pyarrow as pa
from pyarrow import orc

from table_format.errors import UnsupportedFeature
from table_format.formats.leaves import entry_types
from table_format.formats.nested import (
    list_values,
    map_entries,
    struct_fields,
    with_list_values,
    with_map_entries,
    with_struct_fields,
)
from table_format.formats.orc_runs import unsigned_values
from table_format.formats.orc_tail import LONG, TIMESTAMP, TIMESTAMP_INSTANT, ColumnType, Stripe, StripeStreams, Tail
from table_format.formats.orc_types import UNITS_PER_SECOND
from table_format.model.arrow_types import arrow_type
from table_format.model.types import (
    AnyTimestampType,
    ArrayType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    types_in,
)

_TIMESTAMPS: Final = (TIMESTAMP, TIMESTAMP_INSTANT)
_EPOCH_SECONDS: Final = 1_420_070_400
"""ORC counts seconds from 2015-01-01."""

_FRACTION_STREAM: Final = 5
_RUNS_OF_VERSION_2: Final = (2, 3)
_UTC: Final = ("", "UTC", "GMT", "Etc/UTC", "Z")
_SECOND_IS_ABOVE_FROM_NANOS: Final = 999_999


def holds_timestamps(data_type: DataType) -> bool:
    """Return whether the type is or contains a timestamp."""
    return any(isinstance(part, AnyTimestampType) for part in types_in(data_type))


def read_wide_stripe(
    source: pa.NativeFile, tail: Tail, stripe: Stripe, fields: Sequence[DataField], positions: Sequence[int]
) -> dict[str, pa.Array]:
    """Return the columns of a stripe by name, with timestamps in the unit of their type.

    Raises:
        UnsupportedFeature: a timestamp does not fit its Arrow type, or was written in a time zone other than UTC.
        ValueError: the content of the stripe does not match its footer.
    """
    source.seek(stripe.offset)
    data = source.read(stripe.length)
    if len(data) != stripe.length:
        message = f"a stripe of {stripe.length} bytes, but only {len(data)} bytes are left"
        raise ValueError(message)
    types = tail.types
    kinds = {i: LONG for i, t in enumerate(types) if t.kind in _TIMESTAMPS}
    file = orc.ORCFile(pa.BufferReader(tail.with_kinds(stripe, data, kinds)))
    batch = file.read_stripe(0, columns=cast("list[str]", list(positions)))  # the stubs accept only names
    streams = StripeStreams.of(tail, stripe, data)
    if streams.time_zone not in _UTC:
        feature = f"ORC timestamps outside the years 1677 to 2262 written in the time zone '{streams.time_zone}'"
        raise UnsupportedFeature(feature)
    reader = _Timestamps(tail, types, streams)
    columns = dict(zip(types[0].names, types[0].children, strict=True))
    return {f.name: reader.restored(batch.column(f.name), f.type, columns[f.name]) for f in fields}


class _Timestamps:
    """Combines the seconds and fractions of the timestamps of one stripe."""

    def __init__(self, tail: Tail, types: Sequence[ColumnType], streams: StripeStreams) -> None:
        self._tail = tail
        self._types = types
        self._streams = streams

    def restored(self, array: pa.Array, data_type: DataType, column: int) -> pa.Array:
        """Return the array with timestamps in place of seconds."""
        if not holds_timestamps(data_type):
            return array
        children = self._types[column].children
        match data_type:
            case ArrayType(element=element):
                values = self.restored(list_values(array), element, children[0])
                return with_list_values(array, values, pa.list_(values.type))
            case MapType() | MultisetType():
                parts = [
                    self.restored(part, t, child)
                    for part, t, child in zip(map_entries(array), entry_types(data_type), children, strict=True)
                ]
                return with_map_entries(array, parts[0], parts[1], pa.map_(parts[0].type, parts[1].type))
            case RowType(fields=fields):
                types = {f.name: f.type for f in fields}
                names = self._types[column].names
                members = [
                    self.restored(part, types[name], child) if name in types else part
                    for part, name, child in zip(struct_fields(array), names, children, strict=True)
                ]
                return with_struct_fields(array, members, pa.struct(zip(names, (m.type for m in members), strict=True)))
        return self._timestamps(array, arrow_type(data_type), column)

    def _timestamps(self, array: pa.Array, target: pa.DataType, column: int) -> pa.Array:
        per_second = UNITS_PER_SECOND[cast("pa.TimestampType", target).unit]
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        seconds = array.drop_null().to_numpy() + _EPOCH_SECONDS
        nanos = self._fractions(column, len(seconds))
        seconds = seconds - ((seconds < 0) & (nanos > _SECOND_IS_ABOVE_FROM_NANOS))
        fractions = nanos // (1_000_000_000 // per_second)
        _check_range(seconds, fractions, per_second, target)
        values = np.zeros(len(array), np.int64)
        # In the first and the last second, the product alone may wrap around, but not the sum.
        values[valid] = seconds * per_second + fractions
        return pa.array(values, mask=~valid).view(target)

    def _fractions(self, column: int, count: int) -> np.ndarray:
        if self._streams.encoding(column) not in _RUNS_OF_VERSION_2:
            feature = "ORC timestamps outside the years 1677 to 2262 in files of ORC 0.11"
            raise UnsupportedFeature(feature)
        stored = unsigned_values(self._tail.plain(self._streams.stored(column, _FRACTION_STREAM)), count)
        # The lowest three bits are the number of zeros that were cut off, minus one.
        zeros = stored & 7
        return (stored >> 3) * np.power(10, np.where(zeros > 0, zeros + 1, 0))


def _check_range(seconds: np.ndarray, fractions: np.ndarray, per_second: int, target: pa.DataType) -> None:
    lowest, highest = -(1 << 63) // per_second, ((1 << 63) - 1) // per_second
    for row in np.flatnonzero((seconds <= lowest) | (seconds >= highest)):
        ticks = int(seconds[row]) * per_second + int(fractions[row])
        if not -(1 << 63) <= ticks < 1 << 63:
            feature = f"a timestamp {seconds[row]:+} seconds from 1970-01-01"
            message = f"{feature} does not fit into Arrow's {target}; cast the column to TIMESTAMP(6) to read it"
            raise UnsupportedFeature(feature, message)
