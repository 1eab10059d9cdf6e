"""Stored bounds always enclose their values, at any length and in any script."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.errors import InvalidOption
from table_format.kernels.bounds import ColumnBounds
from table_format.kernels.statistics import (
    column_bounds,
    merge_bounds,
    stored_bounds,
    truncated_maximum,
    truncated_minimum,
)
from table_format.kernels.values import array_of
from table_format.model.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
)

NAN = float("nan")


@pytest.mark.parametrize(
    ("data_type", "values", "bounds"),
    [
        (IntType(), [3, None, 1], (1, 3, 1)),
        (IntType(), [None, None], (None, None, 2)),
        (IntType(), [], (None, None, 0)),
        (BooleanType(), [True, False], (False, True, 0)),
        (DateType(), [-1, 5], (-1, 5, 0)),
        (TimeType(), [7, 5], (5, 7, 0)),
        (TimestampType(precision=9), [-1, 2**63 - 1], (-1, 2**63 - 1, 0)),
        (TimestampType(precision=0), [-(10**18) * 9, 10**18 * 9], (-(10**18) * 9, 10**18 * 9, 0)),
        (DecimalType(precision=38, scale=1), [Decimal("-1.5"), Decimal("9.5")], (Decimal("-1.5"), Decimal("9.5"), 0)),
        (VarCharType(), ["\ufffd", "\U0001f600", "a"], ("a", "\U0001f600", 0)),
        (VarBinaryType(), [b"\xff", b"\x01\x02"], (b"\x01\x02", b"\xff", 0)),
        (DoubleType(), [1.0, None, 2.0], (1.0, 2.0, 1)),
        (DoubleType(), [1.0, NAN, None], (None, None, 1)),
    ],
)
def test_bounds_of_a_column_are_internal_values(
    data_type: DataType, values: list[Any], bounds: tuple[Any, ...]
) -> None:
    array = array_of(values, data_type)
    for column in (array, pa.chunked_array([array, array.slice(0, 0)])):
        assert column_bounds(column, data_type) == ColumnBounds(*bounds, len(values))


def test_nested_columns_have_no_bounds_and_no_null_count() -> None:
    array = pa.array([None, [1]], pa.list_(pa.int32()))
    assert column_bounds(array, ArrayType(element=IntType())) == ColumnBounds(None, None, None, 2)


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([], ColumnBounds(None, None, 0, 0)),
        ([ColumnBounds("b", "c", 0, 2), ColumnBounds("a", "b", 1, 2)], ColumnBounds("a", "c", 1, 4)),
        ([ColumnBounds(None, None, 2, 2), ColumnBounds(1, 1, 0, 1)], ColumnBounds(1, 1, 2, 3)),
        ([ColumnBounds(None, None, 1, 2), ColumnBounds(1, 1, 0, 1)], ColumnBounds(None, None, 1, 3)),
        ([ColumnBounds(1, 2, None, 2), ColumnBounds(3, 4, 0, 2)], ColumnBounds(1, 4, None, 4)),
        ([ColumnBounds(1, None, 0, 2), ColumnBounds(3, 4, 0, 2)], ColumnBounds(None, None, 0, 4)),
    ],
)
def test_bounds_of_parts_make_bounds_of_the_whole(parts: list[ColumnBounds], whole: ColumnBounds) -> None:
    assert merge_bounds(parts) == whole


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("full", ("a" * 20, "z" * 20, 1)),
        ("truncate(16)", ("a" * 16, "z" * 15 + "{", 1)),
        ("TRUNCATE(20)", ("a" * 20, "z" * 20, 1)),
        ("counts", (None, None, 1)),
        ("none", (None, None, None)),
    ],
)
def test_the_mode_determines_what_is_stored(mode: str, expected: tuple[Any, ...]) -> None:
    assert stored_bounds(ColumnBounds("a" * 20, "z" * 20, 1, 9), mode) == ColumnBounds(*expected, 9)


def test_without_a_maximum_there_is_no_minimum_either() -> None:
    assert stored_bounds(ColumnBounds(b"a", b"\xff" * 9, 1, 9), "truncate(4)") == ColumnBounds(None, None, 1, 9)


@pytest.mark.parametrize("mode", ["truncate", "truncate(0)", "truncate(-1)", "some", ""])
def test_unknown_modes_are_refused(mode: str) -> None:
    with pytest.raises(InvalidOption, match=r"metadata\.stats-mode"):
        stored_bounds(ColumnBounds(1, 2, 0, 2), mode)


@pytest.mark.parametrize(
    ("value", "length", "minimum", "maximum"),
    [
        ("abcdefghijklmnopqrstuvwxyz", 16, "abcdefghijklmnop", "abcdefghijklmnoq"),
        ("😀😀😀", 2, "😀😀", "😀😁"),
        ("a\U0010ffff\U0010ffffb", 3, "a\U0010ffff\U0010ffff", "b"),
        ("\U0010ffff\U0010ffff", 1, "\U0010ffff", None),
        ("\ud7ff!", 1, "\ud7ff", "\ue000"),
        (b"\x01\xff\xff", 2, b"\x01\xff", b"\x02"),
        (b"\xff\xff", 1, b"\xff", None),
        (123, 1, 123, 123),
        (None, 1, None, None),
    ],
)
def test_cuts_are_made_between_code_points(value: Any, length: int, minimum: Any, maximum: Any) -> None:
    assert (truncated_minimum(value, length), truncated_maximum(value, length)) == (minimum, maximum)


@given(st.one_of(st.text(), st.binary()), st.integers(1, 5))
def test_cut_bounds_enclose_the_value_in_the_order_of_its_bytes(value: str | bytes, length: int) -> None:
    def order(bound: Any) -> bytes:
        return bound.encode() if isinstance(bound, str) else bound

    assert order(truncated_minimum(value, length)) <= order(value)
    maximum = truncated_maximum(value, length)
    if maximum is None:
        assert len(value) > length
    else:
        assert order(value) <= order(maximum)
        assert len(maximum) <= length or maximum == value
