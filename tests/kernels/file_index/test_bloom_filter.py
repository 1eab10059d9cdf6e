"""Bloom filters: the bytes of Java for each type, no false negative, and few false positives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.errors import BadEncoding, InvalidData
from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.bloom_filter import BloomBuilder, BloomFilters, bloom_size
from table_format.kernels.file_index.conditions import SoughtValues
from table_format.kernels.file_index.fast_hash import fast_hashes
from table_format.kernels.file_index.payload import Payload
from table_format.model.arrow_types import arrow_type
from table_format.model.file_index import has_fast_hash
from table_format.model.types import (
    BigIntType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from table_format.options.index_types import DECLARED_INDEXES
from tests.support.typed_values import SCALARS, values_of_type

BLOOM = BloomFilters()
MILLIS, MICROS = 1_704_164_645_123, 1_704_164_645_123_456


class Filter:
    """A filter that is evaluated for columns."""

    def __init__(self, data_type: DataType, payload: bytes) -> None:
        self._type = data_type
        self._reader = BLOOM.reader(Payload.of(payload, path="f"), data_type, 0)

    def may_equal(self, values: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return self._reader.may_equal(SoughtValues(self._type, values))


def filter_of(column: pa.Array, data_type: DataType, **settings: Any) -> bytes:
    builder = BLOOM.builder(data_type, settings)
    builder.add(column)
    return builder.finish()


@pytest.mark.parametrize(
    ("data_type", "value", "hashed", "payload"),
    [
        (IntType(), 3, 0x135FDDF6A6BFBBDD, "010000104000"),
        (BigIntType(), 4, 0x6F2A25235E544A31, "000820008000"),
        (TinyIntType(), 1, 0x5BCA7C69B794F8CE, "800001004000"),
        (FloatType(), 1.5, 0xAD39E1C6B4E29348, "004000003000"),
        (DoubleType(), 2.5, 0x4A43E86B42A767CB, "000000120040"),
        (VarCharType(), "hello", 0x26C7827D889F6DA3, "008024000000"),
        (VarBinaryType(), b"\1\2", 0x7A813DFD3986BE46, "000004100100"),
        (DateType(), 100, 0xDB216D4EB642D87E, "000108040000"),
        (TimestampType(3), MILLIS, 0x33E8342611A66ED8, "100000402000"),
        (LocalZonedTimestampType(6), MICROS, 0x08C7EB155DF5369C, "000840000200"),
    ],
)
def test_hash_and_bytes_are_those_of_java(data_type: DataType, value: Any, hashed: int, payload: str) -> None:
    column = pa.array([None, value, None], arrow_type(data_type))
    assert fast_hashes(column, data_type).tolist() == [hashed]
    assert filter_of(column, data_type, items=10, fpp=0.1).hex() == "00000003" + payload


def test_whole_seconds_are_hashed_as_milliseconds_and_nanoseconds_as_microseconds() -> None:
    seconds = fast_hashes(pa.array([MILLIS // 1000], pa.timestamp("s")), TimestampType(0))
    assert seconds == fast_hashes(pa.array([MILLIS // 1000 * 1000], pa.timestamp("ms")), TimestampType(3))
    nanos = fast_hashes(pa.array([MICROS * 1000 + 999, -1], pa.timestamp("ns")), TimestampType(9))
    assert nanos.tolist() == fast_hashes(pa.array([MICROS, -1], pa.timestamp("us")), TimestampType(6)).tolist()


def test_there_is_one_nan_and_there_are_two_zeros() -> None:
    for data_type, bits in ((FloatType(), np.int32), (DoubleType(), np.int64)):
        floats = np.array([np.nan, 0.0, -0.0], arrow_type(data_type).to_pandas_dtype())
        other_nan = (floats[:1].view(bits) | 1).view(floats.dtype)
        nan, zero, minus_zero = fast_hashes(pa.array(floats, from_pandas=False), data_type).tolist()
        assert fast_hashes(pa.array(other_nan, from_pandas=False), data_type).tolist() == [nan]
        assert zero != minus_zero


@st.composite
def columns(draw: st.DrawFn) -> tuple[DataType, pa.Array, pa.Array]:
    data_type = draw(SCALARS.filter(has_fast_hash))
    values = draw(st.lists(values_of_type(data_type), min_size=1, max_size=30))
    column = pa.array(values, arrow_type(data_type))
    return data_type, column, column.slice(draw(st.integers(0, len(values) - 1)))


@settings(max_examples=60)
@given(columns(), st.integers(1, 40), st.floats(1e-6, 0.9))
def test_no_value_that_was_added_is_ever_excluded(
    column: tuple[DataType, pa.Array, pa.Array], items: int, fpp: float
) -> None:
    data_type, values, part = column
    reader = Filter(data_type, filter_of(values, data_type, items=items, fpp=fpp))
    assert reader.may_equal(part.drop_null()).all()


@pytest.mark.parametrize("fpp", [0.1, 0.01])
def test_of_a_million_values_none_is_missed_and_the_rate_of_false_positives_holds(fpp: float) -> None:
    count = 1_000_000
    data_type, column = BigIntType(), pa.array(np.arange(count) * 7919 - 3 * 10**9)
    reader = Filter(data_type, filter_of(column, data_type, items=count, fpp=fpp))
    assert reader.may_equal(column).all()
    absent = reader.may_equal(pa.array(np.arange(200_000) * 7919 + 10**15))
    assert absent.mean() <= 1.2 * fpp


def test_the_rate_of_false_positives_holds_for_text() -> None:
    data_type, count = VarCharType(), 20_000
    column = pa.array([f"user-{n}@example.com" for n in range(count)])
    reader = Filter(data_type, filter_of(column, data_type, items=count, fpp=0.05))
    assert reader.may_equal(column).all()
    assert reader.may_equal(pa.array([f"user-{n}@example.org" for n in range(count)])).mean() <= 1.2 * 0.05


@given(st.integers(1, 10**7), st.floats(1e-9, 0.99))
def test_the_size_is_that_of_the_formula(items: int, fpp: float) -> None:
    bits, functions = bloom_size(items, fpp)
    exact = -items * math.log(fpp) / math.log(2) ** 2
    assert bits % 8 == 0
    assert 0 < bits - exact <= 9
    assert abs(functions - bits / items * math.log(2)) <= 0.5 or functions == 1


def test_a_filter_with_too_many_bits_for_java_is_refused() -> None:
    with pytest.raises(InvalidData, match=r"2147483647 items at a rate of 0\.001 has \d+ bits"):
        BloomBuilder(IntType(), items=2**31 - 1, fpp=0.001)


@pytest.mark.parametrize("payload", [b"", b"\0\0\0\3", b"\0\0\0\0\1", b"\xff\xff\xff\xff\1"])
def test_bytes_that_are_not_a_filter_are_bad_encoding(payload: bytes) -> None:
    with pytest.raises(BadEncoding, match=r"f: a bloom filter cannot have \d+ bytes and"):
        BLOOM.reader(Payload.of(payload, path="f"), IntType(), 0)


def test_a_filter_answers_for_the_same_values_in_another_type_only() -> None:
    assert BLOOM.agrees(IntType(nullable=False), BigIntType())
    assert BLOOM.agrees(VarCharType(3), VarCharType())
    for stored, wanted in (
        (IntType(), DoubleType()),
        (FloatType(), DoubleType()),
        (TimestampType(3), TimestampType(6)),
        (CharType(3), VarCharType()),
        (IntType(), DecimalType(10, 0)),
        # Narrower, values may be other ones than those that were hashed.
        (BigIntType(), IntType()),
        (VarCharType(), VarCharType(3)),
    ):
        assert not BLOOM.agrees(stored, wanted)


def test_types_without_a_hash_are_refused() -> None:
    assert not any(BLOOM.declaration.supports(t) for t in (BooleanType(), DecimalType(4, 2)))
    assert BLOOM.declaration.supports(TimeType(3))
    with pytest.raises(InvalidData):
        fast_hashes(pa.array([True]), BooleanType())
    assert list(INDEX_TYPES) == list(DECLARED_INDEXES)


def test_a_large_filter_has_the_bits_that_a_small_one_would_have(monkeypatch: pytest.MonkeyPatch) -> None:
    column = pa.array(np.arange(3000) * 7919)
    made = []
    for largest in (0, 1 << 25):
        monkeypatch.setattr("table_format.kernels.file_index.bloom_filter._MAX_FLAGS", largest)
        builder = BloomBuilder(BigIntType(), items=5000, fpp=0.01)
        builder.add(column.slice(0, 1000))
        builder.add(column.slice(1000))
        made.append(builder.finish())
    assert made[0] == made[1]
