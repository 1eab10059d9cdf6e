"""Hashes of whole columns are those of the C library, value by value."""

from __future__ import annotations

import random

import pyarrow as pa
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from table_format.kernels.file_index.xxhash64 import xxhash64


def expected(values: list[bytes]) -> list[int]:
    return [xxhash.xxh64_intdigest(value) for value in values]


@given(st.lists(st.binary(max_size=70), max_size=200), st.integers(0, 5))
def test_every_length_and_any_slice(values: list[bytes], start: int) -> None:
    column = pa.array(values, pa.binary()).slice(start)
    assert xxhash64(column).tolist() == expected(values[start:])


def test_many_values_of_all_short_lengths_are_hashed_together() -> None:
    rng = random.Random(3)
    values = [rng.randbytes(n % 40) for n in range(40_000)]
    assert xxhash64(pa.array(values, pa.binary())).tolist() == expected(values)


def test_text_is_hashed_by_its_utf8_bytes() -> None:
    texts = ["", "ä", "\U0001f600" * 9, "x" * 31, "x" * 32] * 30
    assert xxhash64(pa.array(texts)).tolist() == expected([text.encode() for text in texts])


def test_values_of_one_length_are_hashed_together_whatever_it_is() -> None:
    rng = random.Random(5)
    for length in (1, 3, 4, 7, 8, 12, 20, 31, 32, 33, 36, 63, 64, 71, 100, 4096, 4097):
        values = [rng.randbytes(length) for _ in range(70)]
        assert xxhash64(pa.array([b"x", *values], pa.binary()).slice(1)).tolist() == expected(values)


def test_values_of_one_length_that_begin_alike_or_are_all_equal_are_hashed_together() -> None:
    rng = random.Random(7)
    for same, length in ((0, 9), (8, 20), (9, 20), (16, 23), (20, 21), (23, 23), (31, 31), (40, 45)):
        begin = rng.randbytes(same)
        values = [begin + rng.randbytes(length - same) for _ in range(70)]
        assert xxhash64(pa.array(values, pa.binary())).tolist() == expected(values)
        # The first value and the last one are equal, but not those between them.
        values[-1] = values[0]
        assert xxhash64(pa.array(values, pa.binary())).tolist() == expected(values)
