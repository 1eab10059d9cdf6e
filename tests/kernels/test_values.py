"""Internal values are converted to Arrow arrays and back."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.errors import InvalidData
from table_format.kernels.values import array_of, values_of
from table_format.model.arrow_types import arrow_type
from table_format.model.types import (
    ArrayType,
    DataField,
    DateType,
    DecimalType,
    IntType,
    LocalZonedTimestampType,
    RowType,
    TimestampType,
    TimeType,
    VarCharType,
)
from tests.codecs.facts import scalar_types, some_examples, values


@given(st.data())
@some_examples
def test_values_become_an_array_and_come_back(data):
    t = data.draw(scalar_types())
    expected = data.draw(st.lists(values(t), max_size=10))
    array = array_of(expected, t)
    assert array.type == arrow_type(t)
    assert values_of(array, t) == expected


@pytest.mark.parametrize(
    ("t", "value", "shown"),
    [
        (DateType(), -1, date(1969, 12, 31)),
        (TimeType(3), 3_600_001, time(1, 0, 0, 1000)),
        (TimestampType(0), -(10**9), datetime(1969, 12, 31, 23, 59, 59)),
        (TimestampType(6), 1000, datetime(1970, 1, 1, 0, 0, 0, 1)),
        (DecimalType(38, 10), Decimal("-1.5"), Decimal("-1.5000000000")),
    ],
)
def test_an_internal_value_means_what_arrow_shows(t, value, shown):
    assert array_of([value], t)[0].as_py() == shown


@pytest.mark.parametrize(
    ("t", "value"),
    [
        (IntType(), 1 << 31),
        (IntType(), "x"),
        (VarCharType(), 5),
        (TimestampType(3), 999_999),
        (TimestampType(3), "2024"),
        (LocalZonedTimestampType(9), 1 << 63),
        (DecimalType(3, 1), Decimal("100.0")),
        (DecimalType(3, 1), Decimal("0.01")),
    ],
)
def test_a_value_the_type_cannot_hold_is_refused(t, value):
    with pytest.raises(InvalidData, match="expected values of"):
        array_of([None, value], t)


def test_nested_types_have_nulls_only():
    for t in (ArrayType(IntType()), RowType((DataField(0, "a", IntType()),))):
        array = array_of([None, None], t)
        assert array.type == arrow_type(t)
        assert values_of(array, t) == [None, None]
    with pytest.raises(InvalidData):
        values_of(pa.array([[1]], arrow_type(ArrayType(IntType()))), ArrayType(IntType()))


def test_an_array_of_another_type_is_refused():
    with pytest.raises(InvalidData, match="expected an Arrow array of int32"):
        values_of(pa.array([1], pa.int64()), IntType())


def test_a_slice_of_an_array_gives_its_own_values():
    array = pa.array([1, 2, None, 4], pa.timestamp("us"))
    assert values_of(array.slice(1, 2), TimestampType(6)) == [2000, None]
