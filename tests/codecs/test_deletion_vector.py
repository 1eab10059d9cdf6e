"""Deletion vectors as bytes."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.codecs.deletion_vector import (
    MAX_NARROW_POSITION,
    DeletionVector,
    check_length,
    check_version,
    decode_vector,
    encode_index_file,
    stored_bytes,
)
from table_format.errors import BadEncoding, CorruptionError, InvalidInputError, LimitExceeded
from table_format.model.manifest import DeletionVectorRange

PATH = "/w/db.db/t/index/index-0"
FILE = "data-0.parquet"
ALL_ROWS = 1 << 62


def positions_below(limit: int) -> st.SearchStrategy[set[int]]:
    """Scattered rows, runs of rows, and rows far apart, which create each kind of container."""
    single = st.integers(0, limit - 1)
    run = st.tuples(single, st.integers(1, 9000)).map(lambda r: set(range(r[0], min(r[0] + r[1], limit))))
    few = st.sets(single, max_size=40)
    near = st.sets(st.integers(0, min(limit, 200) - 1), max_size=60)
    step = st.integers(2, 5).map(lambda s: set(range(0, min(limit, 30_000), s)))
    return st.lists(st.one_of(run, few, near, step), max_size=3).map(lambda sets: set().union(*sets))


NARROW = positions_below(1 << 31)
WIDE = positions_below(1 << 40)


def decoded(data: bytes, at: DeletionVectorRange, row_count: int = ALL_ROWS) -> DeletionVector:
    return decode_vector(data[at.offset : at.offset + stored_bytes(at.length)], at, row_count, path=PATH)


@pytest.mark.parametrize(
    ("is_wide", "stored", "length"),
    [
        (False, "01000000185e43f2d03a300000010000000000010010000000000002007b8a0ff7", 24),
        (True, "0100000024d1d339640100000000000000000000003a30000001000000000001001000000000000200c993c18d", 44),
    ],
)
def test_the_bytes_are_those_of_the_format_description(is_wide: bool, stored: str, length: int) -> None:
    data, ranges = encode_index_file({FILE: DeletionVector.of([0, 2], is_wide=is_wide)})
    assert data.hex() == stored
    assert ranges == (DeletionVectorRange(FILE, 1, length, 2),)
    assert decoded(data, ranges[0]).positions == DeletionVector.of([0, 2], is_wide=is_wide).positions


def test_an_index_file_without_vectors_is_the_version_byte() -> None:
    assert encode_index_file({}) == (b"\x01", ())


@settings(max_examples=50, deadline=None, derandomize=True)
@given(vectors=st.lists(st.one_of(NARROW.map(lambda p: (p, False)), WIDE.map(lambda p: (p, True))), max_size=4))
def test_stored_vectors_are_decoded_unchanged(vectors: list[tuple[set[int], bool]]) -> None:
    named = {f"data-{i}": DeletionVector.of(p, is_wide=wide) for i, (p, wide) in enumerate(vectors)}
    data, ranges = encode_index_file(named)
    check_version(data[:1], path=PATH)
    assert [r.data_file for r in ranges] == list(named)
    for stored, (positions, is_wide) in zip(ranges, vectors, strict=True):
        found = decoded(data, stored)
        assert found.is_wide is is_wide
        assert found.cardinality == stored.cardinality == len(positions)
        assert set(found.positions) == positions
        assert found.last == max(positions, default=None)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(positions=positions_below(5000), start=st.integers(0, 5000), rows=st.integers(0, 3000), is_wide=st.booleans())
def test_the_kept_rows_are_the_unmarked_rows(positions: set[int], start: int, rows: int, is_wide: bool) -> None:
    kept = DeletionVector.of(positions, is_wide=is_wide).kept(start, start + rows)
    assert kept.dtype == np.bool_
    assert kept.tolist() == [p not in positions for p in range(start, start + rows)]


@settings(max_examples=50, deadline=None, derandomize=True)
@given(first=NARROW, second=NARROW, is_wide=st.booleans())
def test_adding_positions_keeps_the_existing_ones(first: set[int], second: set[int], is_wide: bool) -> None:
    vector = DeletionVector.of(first, is_wide=is_wide)
    more = vector.union(second)
    assert set(more.positions) == first | second
    assert more.is_wide is is_wide
    assert set(vector.positions) == first


@pytest.mark.parametrize("is_wide", [False, True])
def test_every_truncation_and_every_flipped_bit_of_a_vector_is_detected(is_wide: bool) -> None:
    samples: list[list[int]] = [[0], [1, 5, 6, 7], list(range(100)), [0, 65_536, 131_073], list(range(0, 200, 2))]
    for positions in samples:
        vector = DeletionVector.of(positions, is_wide=is_wide)
        data, (stored,) = encode_index_file({FILE: vector})
        record = data[1:]
        at = replace(stored, offset=0)
        assert decoded(record, at).positions == vector.positions
        for length in range(len(record)):
            with pytest.raises(BadEncoding, match=FILE):
                decoded(record[:length], at)
        for bit in range(8 * len(record)):
            broken = bytearray(record)
            broken[bit // 8] ^= 1 << bit % 8
            with pytest.raises(BadEncoding) as refusal:
                decoded(bytes(broken), at)
            assert refusal.value.path == PATH


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    bitmap=st.one_of(
        st.binary(max_size=120), st.integers(0, 5).map(lambda n: struct.pack("<II", 12346, n) + bytes(40))
    ),
    is_wide=st.booleans(),
)
def test_a_bitmap_with_a_correct_checksum_is_valid_or_refused(bitmap: bytes, is_wide: bool) -> None:
    body = ((1681511377).to_bytes(4, "little") if is_wide else (1581511376).to_bytes(4, "big")) + bitmap
    record = struct.pack(">i", len(body)) + body + zlib.crc32(body).to_bytes(4, "big")
    at = DeletionVectorRange(FILE, 0, len(body) + 8 * is_wide)
    try:
        found = decoded(record, at, 1000)
    except CorruptionError:
        return
    assert all(0 <= position < 1000 for position in found.positions)


def test_a_vector_must_fit_its_range_and_its_data_file() -> None:
    data, (stored,) = encode_index_file({FILE: DeletionVector.of([3, 9])})
    assert decoded(data, replace(stored, cardinality=None), 10).cardinality == 2
    with pytest.raises(BadEncoding, match="expected 3 deleted rows, found 2"):
        decoded(data, replace(stored, cardinality=3))
    with pytest.raises(BadEncoding, match="row 9 is deleted, but the data file has only 9 rows"):
        decoded(data, stored, 9)
    with pytest.raises(BadEncoding, match="expected 25 bytes, found 24"):
        decoded(data, replace(stored, length=25))


def test_a_range_too_long_for_a_vector_is_refused_before_it_is_read() -> None:
    for rows in (1, 65_536, 65_537, 1_000_000):
        every_other = DeletionVector.of(range(0, rows, 2))
        _, (stored,) = encode_index_file({FILE: every_other})
        check_length(stored, rows, path=PATH)
        with pytest.raises(LimitExceeded, match=r"has a stated length of 200000000 bytes; the maximum for \d+ rows"):
            check_length(replace(stored, length=200_000_000), rows, path=PATH)


@pytest.mark.parametrize(("first", "what"), [(b"", "an empty file"), (b"\x02", "version 2"), (b"\x00", "version 0")])
def test_another_version_of_index_files_is_named(first: bytes, what: str) -> None:
    with pytest.raises(BadEncoding, match=f"in version 1, found {what}"):
        check_version(first, path=PATH)


def test_the_32_bit_encoding_ends_where_javas_does() -> None:
    assert DeletionVector.of([MAX_NARROW_POSITION]).encoded()
    with pytest.raises(InvalidInputError, match="use 64-bit vectors"):
        DeletionVector.of([MAX_NARROW_POSITION + 1]).encoded()
