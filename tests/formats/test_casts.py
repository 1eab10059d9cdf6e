"""Casts return the same values as Java Paimon after ALTER TABLE; the expected values are from Paimon 1.4."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest

from table_format.errors import InvalidData
from table_format.formats.casts import bound_cast_of, cast_of
from table_format.kernels.values import array_of, values_of
from table_format.model.arrow_types import arrow_type
from table_format.model.type_changes import keeps_bounds
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from tests.support.cast_cases import CASES, INF, STRING, dec, ts


@pytest.mark.parametrize(
    ("old", "new", "values", "expected"), CASES, ids=lambda v: str(v) if isinstance(v, DataType) else ""
)
def test_a_cast_gives_what_java_reads(old: DataType, new: DataType, values: list[Any], expected: list[Any]) -> None:
    cast = cast_of(old, new)
    assert cast is not None
    # A slice, with a null in front and behind.
    array = array_of([None, None, *values, None], old).slice(1)
    result = cast(array)
    assert result.type == arrow_type(new)
    assert repr(values_of(result, new)) == repr([None, *expected, None])
    assert len(cast(array.slice(0, 0))) == 0


@pytest.mark.parametrize(
    ("old", "new", "values", "expected"), CASES, ids=lambda v: str(v) if isinstance(v, DataType) else ""
)
def test_cast_bounds_enclose_the_cast_values(
    old: DataType, new: DataType, values: list[Any], expected: list[Any]
) -> None:
    ordered = [value for value in values if value is not None and value == value]
    read = [value for value in expected if value is not None and value == value]
    bound = bound_cast_of(old, new)
    if bound is not None:
        assert all(bound(min(ordered)) <= value <= bound(max(ordered)) for value in read)  # type: ignore[operator]
    if keeps_bounds(old, new):
        assert all(min(ordered) <= value <= max(ordered) for value in read)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("", IntType()),
        ("+", IntType()),
        ("1a", IntType()),
        ("128", TinyIntType()),
        ("9223372036854775808", BigIntType()),
        ("maybe", BooleanType()),
        ("1_0", DoubleType()),
        ("nan", DoubleType()),
        ("NaNd", DoubleType()),
        ("ten", dec(5, 2)),
        ("2024-02-30", DateType()),
        ("2024-x", DateType()),
        ("24:00:00", TimeType()),
        ("00:00-01:00", TimeType()),
        ("noon", TimeType()),
        ("2024-01-01 25:00:00", ts(3)),
        ("2024-01-01 24:00:00.001", ts(3)),
        ("+7", ts(3)),
        ("20240101T", ts(3)),
        ("7", LocalZonedTimestampType(precision=3)),
    ],
)
def test_text_that_is_not_a_value_of_the_new_type_is_refused(text: str, new: DataType) -> None:
    cast = cast_of(STRING, new)
    assert cast is not None
    with pytest.raises(InvalidData, match="cannot be cast"):
        cast(pa.array([text]))


@pytest.mark.parametrize("value", [float("nan"), INF])
def test_a_number_that_is_not_finite_cannot_be_cast_to_decimal(value: float) -> None:
    cast = cast_of(DoubleType(), dec(10, 2))
    assert cast is not None
    with pytest.raises(InvalidData, match=r"DOUBLE cannot be cast to DECIMAL\(10, 2\)"):
        cast(pa.array([value]))


def test_a_timestamp_out_of_range_is_refused_and_not_wrapped_around() -> None:
    cast = cast_of(ts(0), ts(9))
    assert cast is not None
    with pytest.raises(InvalidData, match=r"TIMESTAMP\(0\) cannot be cast to TIMESTAMP\(9\)"):
        cast(pa.array([datetime.datetime(9999, 1, 1)], pa.timestamp("s")))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (IntType(), DateType()),
        (DateType(), IntType()),
        (TinyIntType(), ts(3)),
        (ts(3), TinyIntType()),
        (ts(3), VarCharType(length=10)),
        (BooleanType(), DateType()),
        (DoubleType(), BooleanType()),
        (VarBinaryType(), IntType()),
        (STRING, ArrayType(element=IntType())),
        (TimeType(), DateType()),
    ],
)
def test_pairs_that_java_does_not_cast_have_no_cast(old: DataType, new: DataType) -> None:
    assert cast_of(old, new) is None


def test_a_part_of_a_day_before_1970_counts_as_none_unless_the_time_has_a_zone() -> None:
    """As Java divides: towards zero for TIMESTAMP, to the day that the clock shows for TIMESTAMP_LTZ."""
    day = 86_400_000
    moments = [-2 * day, -day - 1, -day, -1, 0, day - 1, day, None]
    for plain, expected in (
        (TimestampType(precision=3), [-2, -1, -1, 0, 0, 0, 1, None]),
        (LocalZonedTimestampType(precision=3), [-2, -2, -1, -1, 0, 0, 1, None]),
    ):
        cast = cast_of(plain, DateType())
        assert cast is not None
        days = cast(pa.array(moments, pa.int64()).view(arrow_type(plain)))
        assert days.view(pa.int32()).to_pylist() == expected
