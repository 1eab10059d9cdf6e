"""Curves through several columns: bytes in the order of the values, bits interleaved, neighbours on the curve."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.kernels.curves import (
    SAMPLE_ROWS,
    Bytes,
    Sample,
    Spread,
    as_signed_words,
    hilbert,
    interleaved,
    ordered_bytes,
)

NUMBERS = st.integers(-(2**63), 2**63 - 1)
COLUMNS = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int32": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "int64": (pa.int64(), NUMBERS),
    "bool": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.integers(-100_000, 100_000)),
    "timestamp": (pa.timestamp("ns"), NUMBERS),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "decimal": (pa.decimal128(12, 2), st.decimals(-(10**9), 10**9, places=2)),
    "string": (pa.string(), st.text(max_size=12)),
    "binary": (pa.binary(), st.binary(max_size=12)),
}


def order_of(value: Any) -> Any:
    """A value that is ordered as in the format: NaN equals itself, after every number; -0.0 is 0.0; text by bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value + 0.0)
    return value.encode() if isinstance(value, str) else value


def spread_of(*arrays: pa.Array, width: int = 8) -> Spread:
    sample = Sample()
    for array in arrays:
        sample.add(array)
    return sample.spread(width=width)


@pytest.mark.parametrize("name", COLUMNS)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data())
def test_bytes_are_in_the_order_of_the_values(name: str, data: st.DataObject) -> None:
    kind, values = COLUMNS[name]
    drawn = data.draw(st.lists(values, min_size=1, max_size=12))
    unseen = data.draw(st.lists(values, max_size=12))
    width = data.draw(st.integers(1, 12))
    array = pa.array([*drawn, *unseen, None], kind)
    # Text in the sample has its prefix from all values, as in a table: the sample has seen the ends.
    spread = spread_of(array if name in ("string", "binary") else pa.array([*drawn, None], kind), width=width)
    found = [row.tobytes() for row in ordered_bytes(array, spread, width=width)]
    pairs = sorted(zip(map(order_of, drawn + unseen), found[:-1], strict=True), key=lambda pair: pair[0])
    for (left, a), (right, b) in itertools.pairwise(pairs):
        assert a <= b
        assert a == b or left != right
    assert found[-1] == min(found)


@pytest.mark.parametrize("name", ["int64", "double", "string"])
def test_values_of_a_sample_come_out_apart(name: str) -> None:
    values = {"int64": [1, 2, 10**15], "double": [-1e300, 1e-300, 5.0], "string": ["user-1", "user-2", "user-21"]}
    array = pa.array(values[name], COLUMNS[name][0])
    assert len({row.tobytes() for row in ordered_bytes(array, spread_of(array))}) == 3


def test_each_leading_bit_halves_the_rows_however_uneven_they_are() -> None:
    array = pa.array(np.random.default_rng(1).lognormal(0, 9, 50_000))
    parts = [array.slice(at, 999) for at in range(0, 50_000, 999)]
    leading = ordered_bytes(array, spread_of(*parts))[:, 0]
    shares = np.bincount(leading >> 5, minlength=8) / len(array)
    assert 0.12 < shares.min() < shares.max() < 0.13


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 9000), min_size=1, max_size=8))
def test_a_sample_stays_small_and_takes_rows_at_equal_steps(sizes: list[int]) -> None:
    total = sum(sizes)
    values = pa.array(range(total), pa.int64())
    sample, start = Sample(), 0
    for size in sizes:
        sample.add(values.slice(start, size))
        start += size
    found = sample.spread().split_points ^ np.uint64(1 << 63)
    assert min(total, SAMPLE_ROWS) <= len(found) <= 2 * SAMPLE_ROWS
    assert len(set(np.diff(found).tolist())) <= 1


def test_decimals_beyond_64_bits_are_ordered() -> None:
    values = [Decimal(n) for n in (-(10**30), -(10**20), -1, 0, 10**20, 10**30)]
    array = pa.array(values, pa.decimal128(38, 0))
    found = [row.tobytes() for row in ordered_bytes(array, spread_of(array))]
    assert found == sorted(set(found))


def naive_interleaved(columns: Sequence[bytes]) -> bytes:
    """Interleave bit by bit, as ``ZOrderByteUtils.interleaveBits`` does."""
    bits = []
    for at in range(8 * max(map(len, columns))):
        bits += [column[at // 8] >> (7 - at % 8) & 1 for column in columns if at // 8 < len(column)]
    return bytes(int("".join(map(str, bits[i : i + 8])), 2) for i in range(0, len(bits), 8))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_bits_are_interleaved_as_a_loop_does(data: st.DataObject) -> None:
    widths = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=11))
    rows = data.draw(st.lists(st.tuples(*(st.binary(min_size=w, max_size=w) for w in widths)), min_size=1, max_size=3))
    columns = [np.array([list(row[i]) for row in rows], np.uint8) for i in range(len(widths))]
    assert [row.tobytes() for row in interleaved(columns)] == [naive_interleaved(row) for row in rows]


def grid(dimensions: int, bits: int) -> tuple[list[tuple[int, ...]], list[Bytes]]:
    """All points of a cube, and their coordinates in the leading bits of a word."""
    points = list(itertools.product(range(1 << bits), repeat=dimensions))
    axes = [np.array(axis, np.uint64) << np.uint64(64 - bits) for axis in zip(*points, strict=True)]
    return points, [axis.astype(">u8").view(np.uint8).reshape(-1, 8) for axis in axes]


@pytest.mark.parametrize(("dimensions", "bits"), [(1, 6), (2, 1), (2, 5), (3, 3), (4, 2), (9, 1)])
def test_each_point_of_the_hilbert_curve_is_next_to_the_one_before(dimensions: int, bits: int) -> None:
    points, columns = grid(dimensions, bits)
    positions = [row.tobytes() for row in hilbert(columns)]
    assert len(set(positions)) == len(points)
    path = sorted(range(len(points)), key=positions.__getitem__)
    for left, right in itertools.pairwise(path):
        assert sum(abs(a - b) for a, b in zip(points[left], points[right], strict=True)) == 1


@pytest.mark.parametrize("curve", [interleaved, hilbert])
def test_one_column_alone_stays_in_its_order(curve: Callable[[Sequence[Bytes]], Bytes]) -> None:
    array = pa.array([5, -3, 0, 2**62, -(2**63)])
    found = [row.tobytes() for row in curve([ordered_bytes(array, spread_of(array))])]
    assert sorted(range(5), key=found.__getitem__) == [4, 1, 2, 0, 3]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 17).flatmap(lambda width: st.lists(st.binary(min_size=width, max_size=width), min_size=2)))
def test_words_compare_as_the_bytes_they_are_made_of(rows: list[bytes]) -> None:
    words = as_signed_words(np.array([list(row) for row in rows], np.uint8))
    found = list(zip(*(word.tolist() for word in words), strict=True))
    assert sorted(range(len(rows)), key=found.__getitem__) == sorted(range(len(rows)), key=rows.__getitem__)
