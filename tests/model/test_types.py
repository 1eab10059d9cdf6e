"""Kinds of types: each type of the format belongs to the kind that determines its treatment."""

from __future__ import annotations

import pickle

import pytest

from table_format.model.type_changes import can_widen
from table_format.model.types import (
    AnyTimestampType,
    BigIntType,
    BinaryType,
    BytesType,
    CharType,
    DecimalType,
    DoubleType,
    FloatingType,
    FloatType,
    IntegerType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TextType,
    TimestampType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

INTEGERS = (TinyIntType(), SmallIntType(), IntType(), BigIntType())


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        (IntegerType, INTEGERS),
        (FloatingType, (FloatType(), DoubleType())),
        (TextType, (CharType(3), VarCharType())),
        (BytesType, (BinaryType(3), VarBinaryType())),
        (AnyTimestampType, (TimestampType(3), LocalZonedTimestampType())),
    ],
)
def test_types_are_of_one_kind_and_can_be_pickled(kind: type, members: tuple[object, ...]) -> None:
    kinds = (IntegerType, FloatingType, TextType, BytesType, AnyTimestampType)
    for member in members:
        assert [other for other in kinds if isinstance(member, other)] == [kind]
        assert pickle.loads(pickle.dumps(member)) == member  # noqa: S301 - made here


def test_whole_numbers_widen_by_their_bits() -> None:
    for narrow in INTEGERS:
        for wide in INTEGERS:
            assert can_widen(narrow, wide) == (narrow.bits <= wide.bits)
        assert narrow.digits == len(str(2 ** (narrow.bits - 1) - 1))


def test_a_decimal_holds_another_with_no_more_digits_on_either_side_of_the_point() -> None:
    assert DecimalType(10, 2).holds(DecimalType(10, 2))
    assert DecimalType(12, 3).holds(DecimalType(10, 2))
    assert not DecimalType(10, 3).holds(DecimalType(10, 2))
    assert not DecimalType(12, 1).holds(DecimalType(10, 2))
