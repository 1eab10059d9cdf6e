"""DEFAULT in SQL: the schema contains a text that other programs read as the same value."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest

from table_format.errors import InvalidSql, UnsupportedFeature
from table_format.model.default_values import default_of
from table_format.model.types import ArrayType, DataField, DataType, IntType, MapType, VarCharType
from table_format.sql.default_values import default_sql, read_default
from table_format.sql.reader import Reader
from tests.support.random_defaults import random_fields


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", "5"),
        ("- 2.50", "-2.50"),
        ("TRUE", "TRUE"),
        (r"'it\'s'", "'it's'"),
        ('"quoted"', "'quoted'"),
        ("'NULL'", "'NULL'"),
        ("NULL", None),
        ("DATE '2026-01-31'", "'2026-01-31'"),
        ("TIMESTAMP_NTZ '2026-01-31 12:30:00'", "'2026-01-31 12:30:00'"),
        ("'[1, 2]'", "'[1, 2]'"),
        (":n", "7"),
        (":s", "'x'"),
        ("array('a', 'two words', NULL)", "ARRAY(a, two words, null)"),
        ("MAP('k', array(1), 'l', array())", "MAP(k, ARRAY(1), l, ARRAY())"),
        ("struct(42, 'x', DATE '2026-01-31', :s)", "STRUCT(42, x, 2026-01-31, x)"),
    ],
)
def test_literals_become_the_text_of_the_schema(text: str, expected: str | None) -> None:
    assert read_default(Reader.of(text, {"n": 7, "s": "x"})) == expected


@pytest.mark.parametrize("text", ["current_user()", "a", "array(f(1))", "named_struct('a', 1)", ""])
def test_what_is_not_a_literal_is_refused(text: str) -> None:
    with pytest.raises(InvalidSql, match="expected a literal"):
        read_default(Reader.of(text))


@pytest.mark.parametrize("text", ["array('a,b')", "array('')", "array('null')", "map('k', ' a')", "map(1, NULL)"])
def test_nested_values_that_other_programs_read_differently_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedFeature, match="line 1, column"):
        read_default(Reader.of(text))


@pytest.mark.parametrize(
    ("text", "data_type", "expected"),
    [
        ("'it's'", VarCharType(), "'it\\'s'"),
        ("plain", VarCharType(), "'plain'"),
        ("'5'", IntType(), "5"),
        ("[a, null]", ArrayType(VarCharType()), "ARRAY('a', NULL)"),
        ("{a -> 1}", MapType(VarCharType(nullable=False), IntType()), "MAP('a', 1)"),
        ("x", IntType(), "x"),
    ],
)
def test_the_text_of_the_schema_is_shown_in_sql(text: str, data_type: DataType, expected: str) -> None:
    assert default_sql(DataField(0, "a", data_type, default_value=text)) == expected


def test_the_sql_of_a_default_value_is_read_as_the_same_value() -> None:
    compared = 0
    for field in random_fields(Random(3), 500):
        shown = default_sql(field)
        if re.search(r"MAP\(\S+, NULL\)", shown):
            continue  # SQL cannot express it.
        read = replace(field, default_value=read_default(Reader.of(shown)))
        assert default_of(read) == default_of(field), shown
        compared += 1
    assert compared > 300
