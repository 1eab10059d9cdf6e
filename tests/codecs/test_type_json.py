"""Types as schema files write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.codecs.type_json import parse_type, type_json
from table_format.errors import InvalidSchema, UnsupportedFeature
from table_format.model.types import (
    MAX_LENGTH,
    ArrayType,
    BigIntType,
    BinaryType,
    CharType,
    DataField,
    DataType,
    DecimalType,
    DoubleType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
)
from tests.codecs.facts import scalar_types, some_examples


def types() -> st.SearchStrategy[DataType]:
    scalars = st.tuples(scalar_types(), st.booleans()).map(lambda drawn: drawn[0].with_nullable(drawn[1]))
    return st.recursive(scalars, _nested, max_leaves=6)


def _nested(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    text = st.none() | st.text(max_size=5)
    fields = st.builds(DataField, st.integers(0, 100), st.text(max_size=5), inner, text, text)
    return st.one_of(
        st.builds(ArrayType, inner, nullable=st.booleans()),
        st.builds(MultisetType, inner, nullable=st.booleans()),
        st.builds(MapType, inner, inner, nullable=st.booleans()),
        st.builds(RowType, st.lists(fields, max_size=3).map(tuple), nullable=st.booleans()),
    )


@given(types())
@some_examples
def test_a_written_type_is_read_back(t):
    assert parse_type(type_json(t)) == t


@pytest.mark.parametrize(
    ("text", "t"),
    [
        ("INT", IntType()),
        ("INT NOT NULL", IntType(nullable=False)),
        ("int  not   null", IntType(nullable=False)),
        ("INT NULL", IntType()),
        (" INTEGER ", IntType()),
        ("DOUBLE PRECISION NOT NULL", DoubleType(nullable=False)),
        ("DECIMAL", DecimalType(10, 0)),
        ("NUMERIC(5)", DecimalType(5, 0)),
        ("dec( 5 ,2 )", DecimalType(5, 2)),
        ("CHAR", CharType(1)),
        ("VARCHAR", VarCharType(1)),
        ("VARCHAR(2147483647)", VarCharType(MAX_LENGTH)),
        ("STRING", VarCharType(MAX_LENGTH)),
        ("BYTES NOT NULL", VarBinaryType(MAX_LENGTH, nullable=False)),
        ("BINARY(3)", BinaryType(3)),
        ("TIME", TimeType(0)),
        ("TIME(3) WITHOUT TIME ZONE", TimeType(3)),
        ("TIMESTAMP", TimestampType(6)),
        ("TIMESTAMP(9) WITHOUT TIME ZONE NOT NULL", TimestampType(9, nullable=False)),
        ("TIMESTAMP(0) WITH LOCAL TIME ZONE", LocalZonedTimestampType(0)),
        ("TIMESTAMP_LTZ(3)", LocalZonedTimestampType(3)),
        ("TIMESTAMP WITH LOCAL TIME ZONE NOT NULL", LocalZonedTimestampType(6, nullable=False)),
        ({"type": "ARRAY NOT NULL", "element": "INT"}, ArrayType(IntType(), nullable=False)),
        ({"type": "map", "key": "INT NOT NULL", "value": "BIGINT"}, MapType(IntType(nullable=False), BigIntType())),
        ({"type": "MULTISET", "element": "STRING", "later": 1}, MultisetType(VarCharType())),
    ],
)
def test_every_form_of_the_java_parser_is_read(text, t):
    assert parse_type(text) == t


@pytest.mark.parametrize(
    ("t", "text"),
    [
        (DecimalType(10, 2), "DECIMAL(10, 2)"),
        (VarCharType(), "STRING"),
        (VarCharType(9, nullable=False), "VARCHAR(9) NOT NULL"),
        (TimestampType(6), "TIMESTAMP(6)"),
        (LocalZonedTimestampType(3, nullable=False), "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL"),
        (
            RowType((DataField(29, "x", IntType()), DataField(30, "y", VarCharType(), "why", "a")), nullable=False),
            {
                "type": "ROW NOT NULL",
                "fields": [
                    {"id": 29, "name": "x", "type": "INT"},
                    {"id": 30, "name": "y", "type": "STRING", "description": "why", "defaultValue": "a"},
                ],
            },
        ),
    ],
)
def test_exactly_one_form_is_written(t, text):
    assert type_json(t) == text


@pytest.mark.parametrize(
    "value",
    [
        "",
        "INTEGRAL",
        "INT(5)",
        "DECIMAL(39, 0)",
        "DECIMAL(5, 6)",
        "DECIMAL(5, 2, 1)",
        "VARCHAR(0)",
        "VARCHAR(2147483648)",
        "TIMESTAMP(10)",
        "TIMESTAMP WITH TIME ZONE",
        "INT WITHOUT TIME ZONE",
        "STRING(5)",
        "ARRAY<INT>",
        "INT NOT NULL NOT NULL",
        "DECIMAL(٣, 1)",
        5,
        None,
        ["INT"],
        {"type": 5},
        {"type": "ARRAY"},
        {"type": "MAP", "key": "INT"},
        {"type": "ROW", "fields": {}},
        {"type": "ROW", "fields": [5]},
        {"type": "ROW", "fields": [{"id": True, "name": "x", "type": "INT"}]},
        {"type": "ROW", "fields": [{"id": 1, "name": "x", "type": "INT", "description": 5}]},
        {"type": "STRUCT"},
    ],
)
def test_a_value_that_is_not_a_type_is_refused(value):
    with pytest.raises(InvalidSchema):
        parse_type(value)


@pytest.mark.parametrize("value", ["VARIANT", "BLOB NOT NULL", "VECTOR<INT, 3>", {"type": "VECTOR", "element": "INT"}])
def test_a_type_of_newer_releases_is_named_as_unsupported(value):
    with pytest.raises(UnsupportedFeature, match=r"VARIANT|BLOB|VECTOR"):
        parse_type(value)
