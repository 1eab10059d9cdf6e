"""Converts TIMESTAMP(7..9) to and from Parquet's INT96.

An INT96 value is little-endian: 8 bytes of nanoseconds of the day, then 4 bytes of the Julian day.

Arrow's own conversion wraps around silently outside the years 1677 to 2262, and can only be enabled for all timestamps
of a file. The twelve bytes are therefore encoded and decoded here (format chapter 06, section 3; Java
``ParquetRowDataWriter``, ``TimestampColumnReader``).
"""

from __future__ import annotations

from typing import Final, cast

import numpy as np
import pyarrow as pa

from table_format.errors import UnsupportedFeature
from table_format.model.arrow_calls import py_buffer

INT96: Final = pa.binary(12)
"""The type of the values in Arrow."""

_LAYOUT: Final = np.dtype([("nanos", "<i8"), ("julian_day", "<i4")])
_EPOCH_JULIAN_DAY: Final = 2_440_588
_NANOS_PER_DAY: Final = 86_400_000_000_000
_NANOS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_NEAR_OVERFLOW: Final = float(2**63 - 2**40)


def encode_int96(array: pa.Array) -> pa.Array:
    """Encode each ``timestamp[ns]`` as twelve bytes.

    >>> encode_int96(pa.array([-1, None], pa.timestamp("ns"))).to_pylist()
    [b'\\xff\\xffN\\x91\\x94N\\x00\\x00\\x8b=%\\x00', None]
    """
    nanos = np.frombuffer(_data(array, 8), np.int64)
    out = np.empty(len(array), _LAYOUT)
    # The Java writer rounds the day towards zero and stores negative nanoseconds before 1970, which Java 0.9 cannot
    # read. Every version reads a day and a time of day that were computed by floor division.
    days = nanos // _NANOS_PER_DAY
    out["nanos"] = nanos - days * _NANOS_PER_DAY
    out["julian_day"] = days + _EPOCH_JULIAN_DAY
    return pa.Array.from_buffers(INT96, len(array), [_validity(array), py_buffer(out)], array.null_count)


def decode_int96(array: pa.Array, timestamp: pa.DataType) -> pa.Array:
    """Decode values of twelve bytes to timestamps; digits finer than the unit of ``timestamp`` are cut off.

    Raises:
        UnsupportedFeature: a value does not fit into 64 bits in this unit.
    """
    raw = np.frombuffer(_data(array, _LAYOUT.itemsize), _LAYOUT)
    nanos_per_unit = _NANOS[cast("pa.TimestampType", timestamp).unit]
    units_per_day = _NANOS_PER_DAY // nanos_per_unit
    days = raw["julian_day"].astype(np.int64) - _EPOCH_JULIAN_DAY
    of_day = raw["nanos"] // nanos_per_unit
    values = days * units_per_day + of_day
    near = np.abs(days.astype(np.float64) * units_per_day + of_day) > _NEAR_OVERFLOW
    if near.any():
        _check_range(days, of_day, near & _is_valid(array), units_per_day, timestamp)
    return pa.Array.from_buffers(timestamp, len(array), [_validity(array), py_buffer(values)], array.null_count)


def _check_range(
    days: np.ndarray, of_day: np.ndarray, rows: np.ndarray, units_per_day: int, timestamp: pa.DataType
) -> None:
    for row in np.flatnonzero(rows):
        exact = int(days[row]) * units_per_day + int(of_day[row])
        if not -(2**63) <= exact < 2**63:
            feature = f"a timestamp {int(days[row]):+} days from 1970-01-01"
            message = f"{feature} does not fit into Arrow's {timestamp}; cast the column to TIMESTAMP(6) to read it"
            raise UnsupportedFeature(feature, message)


def _data(array: pa.Array, width: int) -> memoryview:
    buffer = array.buffers()[1]
    if buffer is None:
        return memoryview(bytes(len(array) * width))
    return memoryview(buffer)[array.offset * width : (array.offset + len(array)) * width]


def _is_valid(array: pa.Array) -> np.ndarray:
    valid: np.ndarray = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _validity(array: pa.Array) -> pa.Buffer | None:
    return py_buffer(np.packbits(_is_valid(array), bitorder="little")) if array.null_count else None
