"""INT96 timestamps: all values that Arrow can store are supported, and all others are refused."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from table_format.errors import UnsupportedFeature
from table_format.formats.int96 import INT96, decode_int96, encode_int96

NS = pa.timestamp("ns")
EPOCH_DAY = 2_440_588
NANOS_PER_DAY = 86_400 * 10**9
EDGES = [-(2**63), -NANOS_PER_DAY - 1, -NANOS_PER_DAY, -1, 0, 1, NANOS_PER_DAY - 1, NANOS_PER_DAY, 2**63 - 1]


def raw(day: int, nanos: int) -> bytes:
    return struct.pack("<qi", nanos, day)


@pytest.mark.parametrize("nanos", EDGES)
def test_every_timestamp_comes_back(nanos: int) -> None:
    array = pa.array([None, nanos], pa.int64()).cast(NS)
    encoded = encode_int96(array)
    assert encoded.type == INT96
    day, of_day = divmod(nanos, NANOS_PER_DAY)
    assert encoded.to_pylist() == [None, raw(EPOCH_DAY + day, of_day)]
    assert decode_int96(encoded, NS).equals(array)
    assert decode_int96(encoded.slice(1), NS).equals(array.slice(1))


def test_the_negative_nanoseconds_of_java_before_1970_are_read() -> None:
    array = pa.array([raw(EPOCH_DAY, -1), raw(EPOCH_DAY - 1, -NANOS_PER_DAY + 1)], INT96)
    assert decode_int96(array, NS).cast(pa.int64()).to_pylist() == [-1, -2 * NANOS_PER_DAY + 1]
    assert decode_int96(array.slice(0, 1), pa.timestamp("ms")).cast(pa.int64()).to_pylist() == [-1]


@pytest.mark.parametrize(("day", "nanos"), [(106_751, 85_636_854_775_808), (-106_752, 763_145_224_191), (10**6, 0)])
def test_a_timestamp_that_arrow_cannot_hold_is_refused_and_not_wrapped_around(day: int, nanos: int) -> None:
    array = pa.array([raw(EPOCH_DAY + day, nanos)], INT96)
    with pytest.raises(UnsupportedFeature, match=r"does not fit into Arrow's timestamp\[ns\]"):
        decode_int96(array, NS)
    micros = decode_int96(array, pa.timestamp("us", "UTC"))
    assert micros.cast(pa.int64()).to_pylist() == [(day * NANOS_PER_DAY + nanos) // 1000]


def test_values_hidden_by_nulls_are_ignored() -> None:
    values = pa.array([raw(2**31 - 1, 2**62), raw(EPOCH_DAY, 5)], INT96)
    validity = pa.py_buffer(bytes([0b10]))
    array = pa.Array.from_buffers(INT96, 2, [validity, values.buffers()[1]])
    assert decode_int96(array, NS).cast(pa.int64()).to_pylist() == [None, 5]


def test_empty_arrays_stay_empty() -> None:
    assert len(decode_int96(encode_int96(pa.array([], NS)), NS)) == 0
