"""Binary rows, compared with bytes from Apache Paimon, and encoded and decoded again."""

from __future__ import annotations

import struct
from decimal import Decimal

import pytest
from hypothesis import given

from table_format.codecs.binary_row import deserialize_row, encode_row, serialize_row
from table_format.errors import BadEncoding, InvalidData
from table_format.model.data_file import EMPTY_ROW
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    DateType,
    DecimalType,
    FloatType,
    IntType,
    TimestampType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from tests.codecs.facts import rows, some_examples
from tests.codecs.vectors import RowVector, old_rows_with_nulls, row_vectors

INT, STRING = IntType(), VarCharType()
NANOS_2024 = 1_704_164_645_123_456_000


@pytest.mark.parametrize("vector", list(row_vectors()), ids=lambda v: f"{v.name}-{v.values!r:.40}")
def test_a_row_has_the_same_bytes_as_in_paimon(vector: RowVector):
    assert encode_row(vector.types, vector.values) == vector.row


@pytest.mark.parametrize("vector", list(row_vectors()), ids=lambda v: f"{v.name}-{v.values!r:.40}")
def test_a_row_of_paimon_is_decoded(vector: RowVector):
    data = len(vector.types).to_bytes(4, "big") + vector.row
    expected = tuple(
        # The vectors show floats rounded to the digits that tell them apart.
        struct.unpack("<f", struct.pack("<f", value))[0] if isinstance(t, FloatType) and value is not None else value
        for t, value in zip(vector.types, vector.values, strict=True)
    )
    assert deserialize_row(vector.types, data) == expected


@pytest.mark.parametrize("vector", list(old_rows_with_nulls()), ids=lambda v: f"{v.name}-{v.values!r:.40}")
def test_nulls_without_reserved_space_read_back(vector: RowVector):
    data = len(vector.types).to_bytes(4, "big") + vector.row
    assert deserialize_row(vector.types, data) == vector.values


@pytest.mark.parametrize(
    ("types", "values", "row"),
    [
        ([INT], [1], "0000000000000000 0100000000000000"),
        ([INT], [-1], "0000000000000000 ffffffff00000000"),
        ([STRING], ["a"], "0000000000000000 6100000000000081"),
        ([STRING], ["abcdefg"], "0000000000000000 6162636465666787"),
        ([STRING], ["abcdefgh"], "0000000000000000 0800000010000000 6162636465666768"),
        ([INT, STRING], [None, None], "0003000000000000 0000000000000000 0000000000000000"),
        ([DecimalType(10, 2)], [Decimal("12.34")], "0000000000000000 d204000000000000"),
        (
            [DecimalType(30, 4)],
            [Decimal(-1)],
            "0000000000000000 0200000010000000 d8f0000000000000 0000000000000000",
        ),
        ([TimestampType(3)], [NANOS_2024], "0000000000000000 03d920c88c010000"),
        ([TimestampType(6)], [NANOS_2024], "0000000000000000 40f5060010000000 03d920c88c010000"),
        (
            [STRING, STRING, DateType()],
            ["longer than 7", "another long one", 19723],
            "0000000000000000 0d00000020000000 1000000030000000 0b4d000000000000"
            "6c6f6e676572207468616e2037000000 616e6f74686572206c6f6e67206f6e65",
        ),
        (
            [TimestampType(6), DecimalType(30, 4), STRING, INT],
            [None, None, None, 5],
            "0007000000000000 0000000028000000 0000000030000000 0000000000000000 0500000000000000"
            "0000000000000000 0000000000000000 0000000000000000",
        ),
        ([INT] * 57, [None] * 57, "00ffffffffffffff 0100000000000000" + "0000000000000000" * 57),
    ],
)
def test_a_row_has_the_bytes_of_the_format_chapter(types, values, row):
    assert encode_row(types, values) == bytes.fromhex(row)


def test_the_empty_row_is_twelve_zeros():
    assert serialize_row([], []) == EMPTY_ROW
    assert deserialize_row([], EMPTY_ROW) == ()


def test_a_serialised_row_begins_with_its_arity_in_big_endian():
    expected = "00000002 0000000000000000 0100000000000000 6162630000000083"
    assert serialize_row([INT, STRING], [1, "abc"]) == bytes.fromhex(expected)


@given(rows())
@some_examples
def test_a_serialised_row_is_decoded_to_its_values(row):
    types, values = row
    data = serialize_row(types, values)
    assert len(data) % 8 == 4
    assert list(deserialize_row(types, data)) == values


def test_a_nested_column_of_statistics_is_null():
    types = [ArrayType(INT), INT]
    data = serialize_row(types, [None, 7])
    assert data.hex() == "00000002" + "0001000000000000" + "0" * 16 + "0700000000000000"
    assert deserialize_row(types, data) == (None, 7)


@pytest.mark.parametrize(
    ("t", "value"),
    [
        (TinyIntType(), 128),
        (INT, "1"),
        (INT, 1.5),
        (BigIntType(), 1 << 63),
        (STRING, b"a"),
        (STRING, "\ud800"),
        (VarBinaryType(), "a"),
        (DecimalType(4, 2), Decimal("100.00")),
        (DecimalType(4, 2), Decimal("1.001")),
        (DecimalType(4, 2), Decimal("NaN")),
        (DecimalType(4, 2), 1.0),
        (TimestampType(6), "2024"),
        (ArrayType(INT), b""),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(t, value):
    with pytest.raises(InvalidData, match="position 1 does not fit"):
        encode_row([BooleanType(), t], [True, value])


def test_a_row_of_another_arity_is_refused():
    with pytest.raises(InvalidData, match="expected 2 values, found 1"):
        encode_row([INT, INT], [1])
    with pytest.raises(BadEncoding, match="f: expected a binary row of 2 columns, found 1"):
        deserialize_row([INT, INT], serialize_row([INT], [1]), path="f")


@given(rows(min_columns=1))
@some_examples
def test_a_truncated_row_is_refused_or_lost_only_padding(row):
    types, values = row
    data = serialize_row(types, values)
    for end in range(len(data)):
        try:
            found = deserialize_row(types, data[:end], path="f")
        except BadEncoding:
            continue
        assert list(found) == values


@pytest.mark.parametrize("slot", ["ffffffffffffff8f", "ffffffff10000000", "0900000010000000"])
def test_lengths_beyond_the_row_are_refused(slot):
    data = bytes.fromhex("00000001 0000000000000000" + slot + "6162636465666768")
    with pytest.raises(BadEncoding):
        deserialize_row([DecimalType(30, 2) if slot.startswith("ffffffff1") else STRING], data, path="f")
