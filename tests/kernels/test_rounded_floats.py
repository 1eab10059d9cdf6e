"""Rounding of floats by their decimal digits, which columns of decimals do for most numbers."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.errors import InvalidExpression
from table_format.kernels.expression_kinds import cast, rounded_floats
from table_format.model.types import DecimalType

NUMBERS = st.lists(st.one_of(st.floats(-1e12, 1e12), st.floats(allow_nan=False, allow_infinity=False), st.none()))
EXACT = Context(prec=700, rounding=ROUND_HALF_UP)


def by_digits(number: float, scale: int) -> Decimal:
    return Decimal(repr(number)).quantize(Decimal(1).scaleb(-scale), context=EXACT)


@given(NUMBERS, st.integers(0, 6))
def test_floats_are_rounded_by_the_digits_that_they_are_shown_with(numbers: list[float | None], scale: int) -> None:
    expected = [None if number is None else float(by_digits(number, scale)) for number in numbers]
    assert rounded_floats(pa.array(numbers, pa.float64()), scale).to_pylist() == expected


@given(st.lists(st.floats(-1e12, 1e12)), st.integers(0, 6))
def test_casts_of_floats_to_decimals_round_in_the_same_way(numbers: list[float], scale: int) -> None:
    found = cast(pa.array(numbers, pa.float64()), DecimalType(precision=38, scale=scale))
    assert found.to_pylist() == [by_digits(number, scale) for number in numbers]


def test_numbers_that_are_not_finite_stay_and_are_no_decimals() -> None:
    numbers = pa.array([1.005, float("inf"), None])
    assert rounded_floats(numbers, 2).to_pylist() == [1.01, float("inf"), None]
    with pytest.raises(InvalidExpression, match="inf cannot be cast"):
        cast(numbers, DecimalType(precision=10, scale=2))
