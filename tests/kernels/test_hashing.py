"""Hashes of columns, compared with those of Apache Paimon and with a plain loop over the bytes of rows."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.codecs.binary_row import encode_row
from table_format.errors import InvalidData
from table_format.kernels.hashing import fixed_buckets, row_hashes
from table_format.kernels.values import array_of
from table_format.model.types import (
    ArrayType,
    BigIntType,
    DataType,
    DecimalType,
    InternalValue,
    IntType,
    TimestampType,
    VarBinaryType,
    VarCharType,
)
from tests.codecs.facts import scalar_types, some_examples, values
from tests.codecs.vectors import bucket_counts, row_vectors

MASK = 0xFFFFFFFF


def murmur(row: bytes) -> int:
    """The hash as format chapter 05 states it, word by word."""
    state = 42
    for at in range(0, len(row), 4):
        word = int.from_bytes(row[at : at + 4], "little") * 0xCC9E2D51 & MASK
        word = (word << 15 | word >> 17) * 0x1B873593 & MASK
        state ^= word
        state = ((state << 13 | state >> 19) & MASK) * 5 + 0xE6546B64 & MASK
    state ^= len(row)
    state = (state ^ state >> 16) * 0x85EBCA6B & MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def columns_of(types: list[DataType], table: list[list[InternalValue]]) -> list[pa.Array]:
    return [array_of([row[i] for row in table], t) for i, t in enumerate(types)]


@pytest.mark.parametrize(
    ("name", "vectors"), [(name, list(group)) for name, group in groupby(row_vectors(), key=lambda v: v.name)]
)
def test_hashes_and_buckets_are_those_of_paimon(name, vectors):
    types = vectors[0].types
    hashes = row_hashes(types, columns_of(types, [v.values for v in vectors]))
    assert hashes.tolist() == [v.hash for v in vectors]
    for i, count in enumerate(bucket_counts()):
        assert fixed_buckets(hashes, count).tolist() == [v.buckets[i] for v in vectors]


def test_reserved_nulls_are_part_of_the_hash():
    types = [TimestampType(6), DecimalType(30, 4), VarCharType(), IntType()]
    assert row_hashes(types, columns_of(types, [[None, None, None, 5]])).tolist() == [-2009448014]


@st.composite
def tables(draw) -> tuple[list[DataType], list[list[InternalValue]]]:
    types = draw(st.lists(scalar_types(), min_size=1, max_size=5))
    row_count = draw(st.integers(0, 20))
    return types, [[draw(values(t)) for t in types] for _ in range(row_count)]


@given(tables())
@some_examples
def test_a_hash_is_that_of_the_binary_row(table):
    types, table_rows = table
    hashes = row_hashes(types, columns_of(types, table_rows))
    assert hashes.dtype == np.int32
    assert hashes.tolist() == [murmur(encode_row(types, row)) for row in table_rows]


@given(st.lists(st.none() | st.binary(max_size=200), min_size=1, max_size=80), st.integers(0, 5))
@some_examples
def test_bytes_of_mixed_lengths_hash_alike_in_a_slice_of_an_array(items, skipped):
    types = [VarBinaryType(), IntType(), VarBinaryType()]
    columns = [
        pa.array(items, pa.binary()),
        pa.array(range(len(items)), pa.int32()),
        pa.array(items[::-1], pa.binary()),
    ]
    hashes = row_hashes(types, [c.slice(skipped) for c in columns])
    expected = [murmur(encode_row(types, row)) for row in zip(items, range(len(items)), items[::-1], strict=True)]
    assert hashes.tolist() == expected[skipped:]


def test_columns_longer_than_a_block_hash_row_by_row():
    count = 40_000
    words = ["x" * (i % 41) + str(i) for i in range(count)]
    types = [BigIntType(), VarCharType()]
    hashes = row_hashes(types, [pa.array(range(count), pa.int64()), pa.array(words)])
    for i in (0, 1, 16_383, 16_384, 32_768, count - 1):
        assert hashes[i] == murmur(encode_row(types, [i, words[i]]))


def test_one_very_long_text_among_short_ones_is_hashed():
    words = ["a", "x" * 100_003, None, "y" * 20, "z" * 777]
    hashes = row_hashes([VarCharType()], [pa.array(words)])
    assert hashes.tolist() == [murmur(encode_row([VarCharType()], [word])) for word in words]


def test_values_hidden_under_nulls_do_not_matter():
    hidden = pa.Array.from_buffers(
        pa.string(), 2, [pa.py_buffer(b"\x02"), pa.py_buffer(np.array([0, 9, 10], np.int32)), pa.py_buffer(b"x" * 10)]
    )
    assert row_hashes([VarCharType()], [hidden]).tolist() == [
        murmur(encode_row([VarCharType()], [value])) for value in (None, "x")
    ]
    numbers = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\x02"), pa.py_buffer(np.array([7, 7], np.int64))])
    assert row_hashes([BigIntType()], [numbers]).tolist() == [
        murmur(encode_row([BigIntType()], [value])) for value in (None, 7)
    ]


def test_more_than_fifty_six_columns_need_two_words_of_null_bits():
    types = [IntType()] * 60
    table = [[None if i % 3 else i for i in range(60)], [None] * 60, list(range(60))]
    hashes = row_hashes(types, columns_of(types, table))
    assert hashes.tolist() == [murmur(encode_row(types, row)) for row in table]


def test_buckets_of_extreme_hashes_are_not_negative():
    hashes = np.array([-(1 << 31), (1 << 31) - 1, -1, 0], np.int32)
    assert fixed_buckets(hashes, 3).tolist() == [2, 1, 1, 0]
    assert fixed_buckets(hashes, 1).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("types", "columns", "expected"),
    [
        ([IntType()], [pa.array([1], pa.int64())], "expected an Arrow array of int32"),
        ([ArrayType(IntType())], [pa.array([[1]], pa.list_(pa.int32()))], "cannot be a bucket key"),
        ([IntType()], [], "columns of equal length"),
        ([IntType()] * 2, [pa.array([1], pa.int32()), pa.array([], pa.int32())], "columns of equal length"),
    ],
)
def test_columns_that_cannot_be_keys_are_refused(types, columns, expected):
    with pytest.raises(InvalidData, match=expected):
        row_hashes(types, columns)
