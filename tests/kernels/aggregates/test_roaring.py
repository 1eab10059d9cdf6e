"""Bitmaps in both formats of the Java library: what is written can be read, and damaged bytes are refused."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from table_format.kernels.aggregates.roaring import (
    Container,
    Kind,
    RoaringFormatError,
    decode_bitmap32,
    encode_bitmap32,
    union_bitmap32,
)
from table_format.kernels.aggregates.roaring64 import Bitmap64, NodeKind, decode_bitmap64, encode_bitmap64

VALUES = st.integers(0, 50) | st.integers(65_500, 66_000) | st.integers(0, 2**32 - 1)


def bitmap32(values):
    bitmap = BitMap(values)
    bitmap.run_optimize()
    return decode_bitmap32(bitmap.serialize())


def bitmap64(values):
    bitmap = Bitmap64()
    for value in values:
        other = Bitmap64()
        other.put((value >> 16).to_bytes(6, "big"), Container(Kind.ARRAY, BitMap([value & 0xFFFF])))
        bitmap.unite(other)
    return bitmap


def values64(bitmap):
    return sorted(
        int.from_bytes(key, "big") << 16 | low
        for key, place in bitmap.entries()
        for low in bitmap.places[place].lows  # type: ignore[union-attr]
    )


@given(st.lists(VALUES), st.lists(VALUES), st.integers(0, 70_000), st.integers(0, 70_000))
@settings(max_examples=60, deadline=None)
def test_a_32_bit_union_is_read_by_other_libraries(one, two, start, count):
    older, newer = set(one) | set(range(start, start + count)), set(two)
    data = encode_bitmap32(union_bitmap32(bitmap32(older), bitmap32(newer)))
    assert list(BitMap.deserialize(data)) == sorted(older | newer)
    assert encode_bitmap32(decode_bitmap32(data)) == data


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3], Kind.ARRAY),
        ([1, 2, 3, 4], Kind.RUN),
        ([1, 2, 4, 5, 7, 8], Kind.ARRAY),
        (range(0, 20_000, 2), Kind.BITMAP),
        (range(65_536), Kind.RUN),
        (range(0, 8192, 2), Kind.ARRAY),
        ([*range(0, 8192, 2), 9000], Kind.BITMAP),
    ],
)
def test_a_container_is_laid_out_as_java_lays_it_out(values, kind):
    values = list(values)
    union = union_bitmap32(bitmap32(values[:1]), {0: Container(Kind.ARRAY, BitMap(values[1:]))})
    assert union[0].kind is kind


@given(st.sets(st.integers(0, 2**64 - 1) | st.integers(0, 2**20) | st.integers(2**40, 2**40 + 2**26), max_size=60))
@settings(max_examples=40, deadline=None)
def test_a_64_bit_bitmap_is_read_back(values):
    data = encode_bitmap64(bitmap64(values))
    assert values64(decode_bitmap64(data)) == sorted(values)
    assert encode_bitmap64(decode_bitmap64(data)) == data


@pytest.mark.parametrize(
    ("children", "kind"),
    [(4, NodeKind.NODE4), (5, NodeKind.NODE16), (17, NodeKind.NODE48), (49, NodeKind.NODE256), (256, NodeKind.NODE256)],
)
def test_nodes_grow_with_their_children(children, kind):
    bytes_of_keys = np.random.default_rng(3).permutation(256)[:children].tolist()
    bitmap = bitmap64([byte << 16 for byte in bytes_of_keys])
    assert bitmap.root.kind is kind
    again = decode_bitmap64(encode_bitmap64(bitmap))
    again.unite(bitmap64([b << 16 | 7 for b in range(256)]))
    assert values64(again) == sorted([b << 16 for b in bytes_of_keys] + [b << 16 | 7 for b in range(256)])


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_bytes_are_refused_or_read_as_something_else(data):
    wide = data.draw(st.booleans())
    source = encode_bitmap64(bitmap64([1, 2**40, 2**40 + 65_536])) if wide else BitMap([1, 2, 3, 4, 70_000]).serialize()
    damaged = bytearray(source)
    at = data.draw(st.integers(0, len(damaged) - 1))
    damaged[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.none() | st.integers(0, len(damaged) - 1))
    decode = decode_bitmap64 if wide else decode_bitmap32
    # Either it is still a bitmap, or it is refused with an error of the format.
    with contextlib.suppress(ValueError):
        decode(bytes(damaged[:cut]))


@pytest.mark.parametrize("data", [b"", b"\1", b"\2" + bytes(40), bytes.fromhex("3a300000ffffffff"), bytes(8)])
def test_bytes_that_are_not_a_32_bit_bitmap_are_refused(data):
    with pytest.raises(RoaringFormatError):
        decode_bitmap32(data)
