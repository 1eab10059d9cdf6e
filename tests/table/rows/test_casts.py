"""Lossless casts of what callers hand in."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from table_format import Schema
from table_format.errors import InvalidData, InvalidSchema
from table_format.model.arrow_types import arrow_type
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BinaryType,
    CharType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    VarCharType,
)
from table_format.table.rows.casts import cast_column
from tests.support import typed_rows

ROW = RowType(fields=(DataField(0, "x", IntType()), DataField(1, "y", VarCharType())))


@pytest.mark.parametrize(
    ("array", "data_type"),
    [
        (pa.array([1, None, 3], pa.int8()), BigIntType()),
        (pa.array([1, 2], pa.int64()), SmallIntType()),
        (pa.array([7], pa.uint64()), IntType()),
        (pa.array([1.5, None, float("nan")], pa.float32()), DoubleType()),
        (pa.array([1.5, None, float("-inf")], pa.float16()), FloatType()),
        (pa.array([1.5, float("nan")], pa.float64()), FloatType()),
        (pa.array([3], pa.int64()), DoubleType()),
        (pa.array([-12], pa.int64()), DecimalType(4, 2)),
        (pa.array([Decimal("1.50")], pa.decimal128(10, 2)), DecimalType(5, 1)),
        (pa.array(["a", None], pa.large_string()), VarCharType()),
        (pa.array(["a", "b", "a"]).dictionary_encode(), VarCharType()),
        (pa.array(["a"], pa.string_view()), CharType(1)),
        (pa.array([b"ab"], pa.binary(2)), BinaryType(2)),
        (pa.array([date(2024, 1, 2)], pa.date64()), DateType()),
        (pa.array([1_000_000], pa.time64("us")), TimeType(3)),
        (pa.array([datetime(2024, 1, 2, 3)], pa.timestamp("ns")), TimestampType(0)),
        (pa.array([datetime(2024, 1, 2, 3)], pa.timestamp("s", "Europe/Berlin")), LocalZonedTimestampType(6)),
    ],
    ids=lambda value: str(value) if isinstance(value, DataType) else str(value.type),
)
def test_a_value_that_fits_is_kept(array: pa.Array, data_type: DataType) -> None:
    cast = cast_column(array, data_type, "c")
    assert cast.type == arrow_type(data_type)
    assert [str(v) for v in cast.cast(array.type).to_pylist()] == [str(v) for v in array.to_pylist()]


def test_nulls_without_a_type_fit_every_type() -> None:
    assert cast_column(pa.nulls(2), ROW, "c").equals(pa.nulls(2, arrow_type(ROW)))


@pytest.mark.parametrize(
    ("array", "data_type", "message"),
    [
        (pa.array([1, 2**40], pa.int64()), IntType(), "cannot hold 1099511627776 of row 11 exactly"),
        (pa.array([1, 2, -1], pa.int64()), DecimalType(1, 1), "cannot hold 1 of row 10"),
        (pa.array([0.5, 0.1]), FloatType(), "cannot hold 0.1 of row 11"),
        (pa.array([2**53 + 1]), DoubleType(), "cannot hold 9007199254740993 of row 10"),
        (pa.array([Decimal("1.25")]), DecimalType(5, 1), "cannot hold 1.25 of row 10"),
        (pa.array([1, 1500], pa.timestamp("ms")), TimestampType(0), "row 10"),
        (pa.array(["abc"]), VarCharType(2), "row 10 has length 3"),
        (pa.array(["äöü"]), CharType(2), "row 10 has length 3"),
        (pa.array([None, b"abc"]), BinaryType(2), "row 11 has length 3"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_row(array: pa.Array, data_type: DataType, message: str) -> None:
    with pytest.raises(InvalidData, match=f"column 'c' is .*{message}"):
        cast_column(array, data_type, "c", first_row=10)


@pytest.mark.parametrize(
    ("array", "data_type"),
    [
        (pa.array(["1"]), IntType()),
        (pa.array([1]), VarCharType()),
        (pa.array([True]), IntType()),
        (pa.array([1.0]), IntType()),
        (pa.array([1]), DateType()),
        (pa.array([datetime(2024, 1, 1)]), LocalZonedTimestampType(6)),
        (pa.array([datetime(2024, 1, 1)], pa.timestamp("us", "UTC")), TimestampType(6)),
        (pa.array([[1]]), IntType()),
        (pa.array([1]), ArrayType(element=IntType())),
        (pa.array([{"x": 1}]), ROW),
    ],
)
def test_another_kind_of_value_is_refused_whatever_it_is(array: pa.Array, data_type: DataType) -> None:
    with pytest.raises(InvalidData, match="column 'c' is "):
        cast_column(array, data_type, "c")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (pa.array(["1"]), "STRING"),
        (pa.array([[1.5]]), "ARRAY<DOUBLE>"),
        (pa.array([datetime(2024, 1, 1)], pa.timestamp("ms", "UTC")), "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        (pa.array([1], pa.duration("us")), "the Arrow type duration[us]"),
    ],
)
def test_a_refusal_names_both_types_in_the_words_of_sql(array: pa.Array, words: str) -> None:
    with pytest.raises(InvalidData) as raised:
        cast_column(array, IntType(), "c")
    assert str(raised.value) == f"column 'c' is INT, which cannot hold {words}; cast it first"


@pytest.mark.parametrize(
    ("array", "data_type"),
    [
        (pa.array([[1, 2], None, [], [3]], pa.large_list(pa.int64())), ArrayType(element=IntType())),
        (pa.array([[1, 2], [3, None]], pa.list_(pa.int16(), 2)), ArrayType(element=IntType())),
        (pa.array([[("a", 1)], None, []], pa.map_(pa.large_string(), pa.int8())), MapType(VarCharType(), BigIntType())),
        (pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())), MultisetType(VarCharType())),
        (pa.array([{"y": "p", "x": 1}, None], pa.struct([("y", pa.string()), ("x", pa.int64())])), ROW),
        (
            pa.array([[{"x": 1, "y": "p"}], None], pa.list_(pa.struct([("x", pa.int64()), ("y", pa.string())]))),
            ArrayType(element=ROW),
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, DataType) else str(value.type),
)
def test_parts_of_values_are_cast_too_also_in_a_slice(array: pa.Array, data_type: DataType) -> None:
    data_type = data_type if not isinstance(data_type, MapType) else MapType(data_type.key.not_null(), data_type.value)
    for start in range(len(array)):
        part = array.slice(start)
        cast = cast_column(part, data_type, "c")
        cast.validate(full=True)
        assert cast.type == arrow_type(data_type)
        assert cast.to_pylist() == part.to_pylist()


def test_a_part_that_does_not_fit_is_named_by_its_path() -> None:
    array = pa.array([[{"x": 2**40, "y": "p"}]])
    with pytest.raises(InvalidData, match=r"column 'c\.element\.x' is INT"):
        cast_column(array, ArrayType(element=ROW), "c")


@pytest.mark.parametrize(
    "arrow", [pa.decimal128(5, -2), pa.decimal128(2, 5), pa.decimal256(50, 2), pa.uint8()], ids=str
)
def test_a_column_of_a_type_that_the_format_lacks_is_named(arrow: pa.DataType) -> None:
    with pytest.raises(InvalidSchema, match=r"column 'c': the Arrow type .* has no counterpart"):
        Schema.from_arrow(pa.schema([("c", arrow)]))


def test_a_part_of_a_type_that_the_format_lacks_is_named_by_its_path() -> None:
    arrow = pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.null()))]))
    with pytest.raises(InvalidSchema, match=r"column 'c\.element\.m\.value': there are only nulls"):
        Schema.from_arrow(pa.schema([("c", arrow)]))


ARROW_TYPES = [
    *(pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.decimal32(3, 1), pa.decimal64(12, 2), pa.decimal256(60, 3)),
    *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1)),
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"), pa.duration("ms"), pa.month_day_nano_interval()),
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "Asia/Tokyo")),
    *(pa.dictionary(pa.int8(), pa.string()), pa.run_end_encoded(pa.int32(), pa.int8()), pa.null(), pa.uuid()),
    *(pa.list_(pa.int8()), pa.list_(pa.int8(), 1), pa.large_list(pa.int8()), pa.list_view(pa.int8())),
    *(pa.map_(pa.string(), pa.int8()), pa.struct([("x", pa.float16())]), pa.list_(pa.float16())),
]


@pytest.mark.parametrize("arrow", ARROW_TYPES, ids=str)
def test_every_arrow_type_is_cast_to_or_refused_for_every_column_type(arrow: pa.DataType) -> None:
    for data_type, _ in typed_rows.columns("parquet").values():
        for array in (pa.nulls(2, arrow), pa.array([], arrow), _some(arrow)):
            with suppress(InvalidData):
                assert cast_column(array, data_type, "c").type == arrow_type(data_type)


def _some(arrow: pa.DataType) -> pa.Array:
    """One value of the type, if Python can write it."""
    for value in (1, 1.5, Decimal(1), "a", b"a", date(2024, 1, 2), time(1), timedelta(1), [1], [1.5], [("a", 1)]):
        with suppress(pa.ArrowException, TypeError, ValueError, AttributeError):
            return pa.array([value, None], arrow)
    return pa.nulls(1, arrow)
