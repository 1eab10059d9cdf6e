"""The text of a default value becomes a value of its column."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest

from table_format.errors import InvalidSchema, UnsupportedFeature
from table_format.model.default_values import default_of
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    CharType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    VarBinaryType,
    VarCharType,
)

ROW = RowType(fields=(DataField(0, "x", IntType()), DataField(1, "y", VarCharType())))


def value(text: str | None, data_type: DataType) -> object:
    found = default_of(DataField(0, "a", data_type, default_value=text))
    return None if found is None else found.as_py()


@pytest.mark.parametrize(
    ("text", "data_type", "expected"),
    [
        ("5", IntType(), 5),
        ("'5'", BigIntType(), 5),
        ("-2.50", DecimalType(precision=5, scale=2), Decimal("-2.50")),
        ("1.5", DoubleType(), 1.5),
        ("true", BooleanType(), True),
        ("'it is'", VarCharType(), "it is"),
        ("plain", CharType(length=5), "plain"),
        ("'2026-01-31'", DateType(), date(2026, 1, 31)),
        ("'2026-01-31 12:30:00'", TimestampType(), datetime(2026, 1, 31, 12, 30)),
        ("ab", VarBinaryType(), b"ab"),
        ("'null'", VarCharType(), "null"),
        ("NULL", VarCharType(), "NULL"),
        ("ARRAY(two words, c, null, NULL)", ArrayType(VarCharType()), ["two words", "c", None, "NULL"]),
        ("'[1, 2]'", ArrayType(IntType()), [1, 2]),
        ("array()", ArrayType(IntType()), []),
        ("array(array(1), [], null)", ArrayType(ArrayType(IntType())), [[1], [], None]),
        ("{1 -> null}", MapType(IntType(nullable=False), IntType()), [(1, None)]),
        ("map(99, 99.99D, 1, -1)", MapType(IntType(nullable=False), DoubleType()), [(99, 99.99), (1, -1.0)]),
        ("{a -> 1, b->2}", MapType(VarCharType(nullable=False), BigIntType()), [("a", 1), ("b", 2)]),
        ("MAP()", MapType(IntType(nullable=False), DoubleType()), []),
        ("STRUCT(42, x)", ROW, {"x": 42, "y": "x"}),
        ("{42, null}", ROW, {"x": 42, "y": None}),
        ("struct()", ROW, {"x": None, "y": None}),
        ("[{1, a}, {2, b}]", ArrayType(ROW), [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]),
        ("NULL", MapType(IntType(nullable=False), IntType()), None),
        (None, IntType(), None),
    ],
)
def test_a_literal_is_cast_as_a_text_is(text: str | None, data_type: DataType, expected: object) -> None:
    assert value(text, data_type) == expected


@pytest.mark.parametrize(
    ("text", "data_type"),
    [
        ("x", IntType()),
        ("1 + 1", IntType()),
        ("300.123", DecimalType(precision=4, scale=2)),
        ("abc", DecimalType(precision=4, scale=2)),
        ("too long", VarCharType(length=3)),
        ("abc", VarBinaryType(length=2)),
        ("(1, 2)", ArrayType(IntType())),
        ("array(1, x)", ArrayType(IntType())),
        ("array('1')", ArrayType(IntType())),
        ("array(1, NULL)", ArrayType(IntType())),
        ("array('a')", ArrayType(VarCharType())),
        ('array("a")', ArrayType(VarCharType())),
        ("map(1, null)", MapType(IntType(nullable=False), IntType())),
        ("NULL", IntType()),
        ("null", DateType()),
        ("NULL", ArrayType(IntType())),
        ("array('a,b')", ArrayType(VarCharType())),
        ("array('it\\'s')", ArrayType(VarCharType())),
        ("array(null)", ArrayType(IntType(nullable=False))),
        ("array(1) || array(2)", ArrayType(IntType())),
        ("map(1)", MapType(IntType(nullable=False), IntType())),
        ("map(1, 2, 1, 3)", MapType(IntType(nullable=False), IntType())),
        ("{1, 2}", MapType(IntType(nullable=False), IntType())),
        ("struct(1)", ROW),
        ("named_struct('x', 1, 'y', 'a')", ROW),
        ("current_date()", DateType()),
        ("current_timestamp()", TimestampType()),
    ],
)
def test_a_text_that_is_not_a_value_of_the_type_is_refused(text: str, data_type: DataType) -> None:
    with pytest.raises(InvalidSchema, match="column 'a': unsupported default value"):
        value(text, data_type)


@pytest.mark.parametrize("data_type", [MultisetType(IntType()), LocalZonedTimestampType()])
def test_types_without_default_values_are_refused_by_name(data_type: DataType) -> None:
    with pytest.raises(UnsupportedFeature, match="a default value of type"):
        value("1", data_type)
