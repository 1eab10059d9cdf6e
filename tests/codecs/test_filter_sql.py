"""Filter texts become predicates with literals of the column's type, or an error with the problem and its position."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from table_format.codecs.filter_sql import parse_filter
from table_format.errors import ColumnNotFound, InvalidFilter
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Like, Literal, Not, Or
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    CharType,
    DataField,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

TYPES = {
    "a": IntType(),
    "A": VarCharType(),
    "two words": BigIntType(),
    "tiny": TinyIntType(),
    "flag": BooleanType(),
    "f": FloatType(),
    "d": DoubleType(),
    "price": DecimalType(precision=10, scale=2),
    "day": DateType(),
    "clock": TimeType(precision=3),
    "ts": TimestampType(precision=6),
    "ms": TimestampType(precision=3),
    "instant": LocalZonedTimestampType(precision=6),
    "s": VarCharType(),
    "c": CharType(length=3),
    "b": VarBinaryType(),
    "list": ArrayType(element=IntType()),
    "order": IntType(),
    "timestamp": IntType(),
}
FIELDS = tuple(DataField(i, name, kind) for i, (name, kind) in enumerate(TYPES.items()))

EQ, NE, LT, LE, GT, GE = (CompareOp(op) for op in ("=", "<>", "<", "<=", ">", ">="))
SECOND = 1_000_000_000
DAY = 86_400 * SECOND


def known(column, answer):
    null = IsNull(column)
    return Or((Not(null), Literal(None))) if answer else And((null, Literal(None)))


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("a = 1", Compare("a", EQ, 1)),
        ("a == 1", Compare("a", EQ, 1)),
        ("a != -1", Compare("a", NE, -1)),
        ("a <> +1", Compare("a", NE, 1)),
        ("1 < a", Compare("a", GT, 1)),
        ("(a) >= (1)", Compare("a", GE, 1)),
        ("A = 'x'", Compare("A", EQ, "x")),
        ("\"A\" = 'x'", Compare("A", EQ, "x")),
        ("`two words` = 9223372036854775807", Compare("two words", EQ, 2**63 - 1)),
        ("order = 1 AND timestamp = 2", And((Compare("order", EQ, 1), Compare("timestamp", EQ, 2)))),
        ("s = 'it''s \\ 😀'", Compare("s", EQ, "it's \\ 😀")),
        ("c = 'abc'", Compare("c", EQ, "abc")),
        ("b = X'00fF'", Compare("b", EQ, b"\x00\xff")),
        ("b = x''", Compare("b", EQ, b"")),
        ("flag", Compare("flag", EQ, True)),
        ("NOT flag", Not(Compare("flag", EQ, True))),
        ("flag = false", Compare("flag", EQ, False)),
        ("flag IS TRUE", And((Not(IsNull("flag")), Compare("flag", EQ, True)))),
        ("flag IS NOT FALSE", Not(And((Not(IsNull("flag")), Compare("flag", EQ, False))))),
        ("d = 1e3", Compare("d", EQ, 1000.0)),
        ("d > -.5", Compare("d", GT, -0.5)),
        ("f = 0.1", Compare("f", EQ, 0.10000000149011612)),
        ("price = 1.50", Compare("price", EQ, Decimal("1.50"))),
        ("price < 7", Compare("price", LT, Decimal("7.00"))),
        ("day = DATE '1970-01-02'", Compare("day", EQ, 1)),
        ("day = '1969-12-31'", Compare("day", EQ, -1)),
        ("day = CAST('1970-01-02' AS DATE)", Compare("day", EQ, 1)),
        ("clock = TIME '00:01:00.25'", Compare("clock", EQ, 60_250)),
        ("clock = '23:59'", Compare("clock", EQ, 86_340_000)),
        ("ts = TIMESTAMP '1970-01-02 00:00:01.000001'", Compare("ts", EQ, DAY + SECOND + 1000)),
        ("ts = '1970-01-02T00:00:01'", Compare("ts", EQ, DAY + SECOND)),
        ("ts >= DATE '1970-01-02'", Compare("ts", GE, DAY)),
        ("ts = '1969-12-31 23:59:59.9'", Compare("ts", EQ, -SECOND // 10)),
        ("ms = '1970-01-01 00:00:00.001'", Compare("ms", EQ, 1_000_000)),
        ("instant = TIMESTAMP '1970-01-01 00:00:00'", Compare("instant", EQ, 0)),
        ("instant = '1970-01-01 02:00:00+02:00'", Compare("instant", EQ, 0)),
        ("instant = TIMESTAMP_LTZ '1969-12-31 22:30:00-01:30'", Compare("instant", EQ, 0)),
        ("instant = '1970-01-01 00:00:00Z'", Compare("instant", EQ, 0)),
        ("a IN (1, 2)", In("a", (1, 2))),
        ("a NOT IN (1)", Not(In("a", (1,)))),
        ("a IN (1, NULL)", Or((In("a", (1,)), Literal(None)))),
        ("a IN (1, 2.5)", In("a", (1,))),
        ("a BETWEEN 1 AND 3", And((Compare("a", GE, 1), Compare("a", LE, 3)))),
        ("a NOT BETWEEN 1 AND 3", Not(And((Compare("a", GE, 1), Compare("a", LE, 3))))),
        ("a IS NULL", IsNull("a")),
        ("list IS NOT NULL", Not(IsNull("list"))),
        ("a = NULL", Literal(None)),
        ("a IS NOT DISTINCT FROM NULL", IsNull("a")),
        ("a IS DISTINCT FROM 1", Not(And((Not(IsNull("a")), Compare("a", EQ, 1))))),
        ("s LIKE 'x%'", Like("s", "x%")),
        ("s NOT LIKE '_\\%'", Not(Like("s", "_\\%"))),
        ("s LIKE '100!%\\' ESCAPE '!'", Like("s", "100\\%\\\\")),
        ("starts_with(s, 'x')", Compare("s", CompareOp.STARTS_WITH, "x")),
        ("endswith(s, 'x')", Compare("s", CompareOp.ENDS_WITH, "x")),
        ("contains(b, X'00')", Compare("b", CompareOp.CONTAINS, b"\x00")),
        ("TRUE", Literal(True)),
        (
            "a = 1 OR a = 2 OR NOT (a = 3 AND a = 4)",
            Or((Compare("a", EQ, 1), Compare("a", EQ, 2), Not(And((Compare("a", EQ, 3), Compare("a", EQ, 4)))))),
        ),
        ("a = 1 -- a remark", Compare("a", EQ, 1)),
    ],
)
def test_a_text_is_parsed_to_a_predicate(text, predicate):
    assert parse_filter(text, FIELDS) == predicate


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("a < 1.5", Compare("a", LE, 1)),
        ("a >= -1.5", Compare("a", GT, -2)),
        ("a = 1.5", known("a", answer=False)),
        ("a <> 1.5", known("a", answer=True)),
        ("tiny < 128", known("tiny", answer=True)),
        ("tiny > 1000", known("tiny", answer=False)),
        ("tiny IN (1000)", known("tiny", answer=False)),
        ("price > 1.005", Compare("price", GT, Decimal("1.00"))),
        ("price <= 1e30", known("price", answer=True)),
        ("ms < TIMESTAMP '1970-01-01 00:00:00.0005'", Compare("ms", LE, 0)),
        ("clock < '00:00:00.0000001'", Compare("clock", LE, 0)),
    ],
)
def test_a_literal_between_two_values_of_the_type_moves_to_the_nearest_one(text, predicate):
    assert parse_filter(text, FIELDS) == predicate


def test_special_numbers_are_written_as_casts():
    assert math.isnan(parse_filter("d = CAST('NaN' AS DOUBLE)", FIELDS).value)
    assert parse_filter("f < CAST('Infinity' AS FLOAT)", FIELDS) == Compare("f", LT, math.inf)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "one condition"),
        ("a = 1; a = 2", "one condition"),
        ("a =", "line 1"),
        ("(a = 1", "Expecting"),
        ("a = 'x", "not closed"),
        ("a = 'x'", "character 5: column 'a' has type INT: expected a number, found 'x'"),
        ("a = 1 AND s = 2", "character 15: column 's' has type STRING: expected text in single quotes, found 2"),
        ("a = TRUE", "expected a number"),
        ("flag = 1", "expected TRUE or FALSE"),
        ("b = 'x'", "expected bytes X'...'"),
        ("b = X'0'", "two hexadecimal digits"),
        ("day = '2024-02-30'", "a date of the calendar"),
        ("day = TIMESTAMP '2024-02-03 00:00:00'", "expected a date 'yyyy-mm-dd'"),
        ("day = '20240203'", "expected a date 'yyyy-mm-dd'"),
        ("clock = '24:00:00'", "from 00:00:00 to 23:59:59"),
        ("ts = '2024-01-01 25:00:00'", "from 00:00:00 to 23:59:59"),
        ("ts = 'yesterday'", "expected a timestamp"),
        ("ts = '2024-01-01 00:00:00Z'", "without a time zone"),
        ("instant = '2024-01-01 00:00:00+19:00'", "time zone from"),
        ("f = 1e39", "within the range"),
        ("d = 1e999", "within the range"),
        ("list = 1", "can only be tested for null"),
        ("upper(s) = 'X'", "character 1: '.*' is not supported"),
        ("a + 1 = 2", "'a \\+ 1' is not supported"),
        ("a = 1 + 1", "'a = 1 \\+ 1' is not supported"),
        ("1 = 1", "'1' is not supported"),
        ("a", "expected a condition, but 'a' has type INT"),
        ("a IS TRUE", "expected a condition, but 'a' has type INT"),
        ("a IN (SELECT 1)", "is not supported"),
        ("a IN (tiny)", "is not supported"),
        ("a BETWEEN 1 AND tiny", "is not supported"),
        ("t.a = 1", "'t.a' is not supported"),
        ("a = tiny", "'a = tiny' is not supported"),
        ('s = "x"', 'character 5: "x" is not a column of the table, and text is in single quotes'),
        ("s IN ('x', y)", "character 12: y is not a column of the table, and text is in single quotes"),
        ("a = 1; drop table", "Expected table name but got the end"),
        ("a = ?", "is not supported"),
        ("a = 1 b", "is not supported"),
        ("CASE WHEN flag THEN flag END", "is not supported"),
        ("SELECT 1", "is not supported"),
        ("DROP TABLE x", "is not supported"),
        ("s RLIKE 'x'", "is not supported"),
        ("s LIKE A", "expected text in single quotes"),
        ("a LIKE 'x'", "LIKE needs a column of type STRING, but 'a' has type INT"),
        ("s LIKE 'x\\y'", "must be followed by"),
        ("s LIKE 'x' ESCAPE 'ab'", "is not supported"),
        ("starts_with(a, 'x')", "starts_with needs a column of type STRING"),
        ("starts_with(s, A)", "is not supported"),
        ("(" * 2000 + "a = 1" + ")" * 2000, "nested too deeply"),
    ],
)
def test_an_invalid_filter_is_refused_with_its_position_and_problem(text, told):
    with pytest.raises(InvalidFilter, match=told):
        parse_filter(text, FIELDS)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("WHERE a = 1", "write the condition without WHERE"),
        ("a = 1 && a = 2", "write AND in place of &&"),
        ("two words = 1", 'write the column as "two words"'),
        ("s = 'two words' AND", None),
        ("s = 'a && b' AND", None),
    ],
)
def test_a_filter_with_a_habit_of_other_dialects_is_refused_with_what_to_write(text, advice):
    with pytest.raises(InvalidFilter) as refused:
        parse_filter(text, FIELDS)
    assert str(refused.value).partition("; ")[2] == (advice or "")


@pytest.mark.parametrize("name", ["Order ID", "select", "when", "paid?", "price €", "1st"])
def test_the_advised_name_of_a_column_is_a_filter_that_works(name):
    fields = [DataField(0, name, IntType()), DataField(1, "a", IntType())]
    with pytest.raises(InvalidFilter, match="write the column as") as refused:
        parse_filter(f"{name} = 1", fields)
    advised = str(refused.value).partition("write the column as ")[2]
    assert parse_filter(f"{advised} = 1", fields) == Compare(name, CompareOp.EQ, 1)


@pytest.mark.parametrize("text", ["B = 1", "S = 'x'", "Flag", '"two  words" = 1', "x IN (1)", "x IS NULL"])
def test_a_column_that_does_not_exist_is_named_with_those_that_do(text):
    with pytest.raises(ColumnNotFound, match="of the filter does not exist; the columns are a, A, two words"):
        parse_filter(text, FIELDS)


def test_a_long_chain_of_conditions_is_one_flat_condition():
    parsed = parse_filter(" OR ".join(f"a = {n}" for n in range(3000)), FIELDS)
    assert isinstance(parsed, Or)
    assert len(parsed.parts) == 3000
