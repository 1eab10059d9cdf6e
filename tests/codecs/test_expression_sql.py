"""SQL text as expressions, evaluated on columns: SQL's values and nulls; unsupported syntax is refused by name."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.codecs.expression_sql import parse_expression
from table_format.errors import ColumnNotFound, InvalidExpression, TableFormatError
from table_format.kernels.expressions import evaluate, truths
from table_format.model.expression import ColumnOf, columns_in

COLUMNS = {
    ColumnOf("target", "i"): pa.array([1, 2, None], pa.int32()),
    ColumnOf("target", "d"): pa.array([Decimal("1.25"), None, Decimal("-2.50")], pa.decimal128(38, 2)),
    ColumnOf("target", "f"): pa.array([1.5, None, 2.0]),
    ColumnOf("target", "s"): pa.array(["ab", "", None]),
    ColumnOf("target", "day"): pa.array([0, 1, None], pa.date32()),
    ColumnOf("target", "at"): pa.array([0, 1_500_000_000, None], pa.timestamp("ns")),
    ColumnOf("target", "b"): pa.array([True, False, None]),
    ColumnOf("target", "raw"): pa.array([b"\1", b"", None]),
    ColumnOf("target", "odd name"): pa.array([7, 8, 9]),
    ColumnOf("source", "i"): pa.array([10, 20, 30]),
    ColumnOf("source", "x"): pa.array([5, None, 0]),
}
SCOPE = {
    "target": [c.name for c in COLUMNS if c.relation == "target"],
    "source": [c.name for c in COLUMNS if c.relation == "source"],
}


def value(text: str) -> list[Any]:
    return evaluate(parse_expression(text, SCOPE), COLUMNS, 3).to_pylist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t.i + 1", [2, 3, None]),
        ("target.i - s.i * 2", [-19, -38, None]),
        ("-t.i", [-1, -2, None]),
        ("t.i / 2", [0.5, 1.0, None]),
        ("d + 1", [Decimal("2.25"), None, Decimal("-1.50")]),
        ("d * d", [Decimal("1.5625"), None, Decimal("6.2500")]),
        ("d + f", [2.75, None, -0.5]),
        ('"odd name" + 0.5', [Decimal("7.5"), Decimal("8.5"), Decimal("9.5")]),
        ("`odd name`", [7, 8, 9]),
        ("NULL", [None] * 3),
        ("'it''s'", ["it's"] * 3),
        ("x'0aff'", [b"\x0a\xff"] * 3),
        ("1e3", [1000.0] * 3),
        ("9223372036854775808", [Decimal(2**63)] * 3),
        ("DATE '2024-02-29'", [date(2024, 2, 29)] * 3),
        ("x > 0 AND t.i = 1", [True, False, False]),
        ("x > 0 OR b", [True, None, None]),
        ("NOT b", [False, True, None]),
        ("t.i IN (1, 3)", [True, False, None]),
        ("t.i NOT IN (1, NULL)", [False, None, None]),
        ("t.i BETWEEN 2 AND 3", [False, True, None]),
        ("s IS NULL", [False, False, True]),
        ("b IS NOT TRUE", [False, True, True]),
        ("b IS FALSE", [False, True, False]),
        ("t.i IS NOT DISTINCT FROM NULL", [False, False, True]),
        ("day < TIMESTAMP '1970-01-01 12:00:00'", [True, False, None]),
        ("at = TIMESTAMP '1970-01-01 00:00:01.5'", [False, True, None]),
        ("CASE WHEN x = 0 THEN 0 ELSE 10 / x END", [2.0, None, 0.0]),
        ("CASE t.i WHEN 1 THEN 'one' WHEN 2 THEN s END", ["one", "", None]),
        ("IF(t.i = 1, t.i, d)", [Decimal("1.00"), None, Decimal("-2.50")]),
        ("COALESCE(t.i, x, 1)", [1, 2, 0]),
        ("NULLIF(s, '')", ["ab", None, None]),
        ("s || '-' || UPPER(s)", ["ab-AB", "-", None]),
        ("CONCAT(s, 'x')", ["abx", "x", None]),
        ("LENGTH(TRIM('  é '))", [1] * 3),
        ("SUBSTRING('hello', 2, 3)", ["ell"] * 3),
        ("SUBSTRING(s, 2)", ["b", "", None]),
        ("REPLACE(LOWER('ABA'), 'a', 'o')", ["obo"] * 3),
        ("ABS(d)", [Decimal("1.25"), None, Decimal("2.50")]),
        ("ROUND(d, 1)", [Decimal("1.30"), None, Decimal("-2.50")]),
        ("CAST(d AS INT)", [1, None, -2]),
        ("CAST(d AS DECIMAL(3, 1))", [Decimal("1.3"), None, Decimal("-2.5")]),
        ("CAST(t.i AS STRING) || '!'", ["1!", "2!", None]),
        ("CAST('12' AS BIGINT)", [12] * 3),
        ("CAST(at AS TIMESTAMP(0))", [datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 0, 1), None]),
        ("CAST(at AS DATE)", [date(1970, 1, 1), date(1970, 1, 1), None]),
        ("CAST(NULL AS INT) + 1", [None] * 3),
        ("-9223372036854775808", [-(2**63)] * 3),
        ("CAST(1.005e0 AS DECIMAL(10, 2))", [Decimal("1.01")] * 3),
        ("CAST(f / 12 AS DECIMAL(10, 2))", [Decimal("0.13"), None, Decimal("0.17")]),
        ("ROUND(1.005e0, 2)", [1.01] * 3),
        ("ROUND(f, -1)", [0.0, None, 0.0]),
        ("f + 0.3 = 1.8", [True, None, False]),
        ("CAST('2020-01-01 00:00:00.123456' AS TIMESTAMP(3))", [datetime(2020, 1, 1, 0, 0, 0, 123_000)] * 3),
        ("TIMESTAMP '9999-12-31 23:59:59'", [datetime(9999, 12, 31, 23, 59, 59)] * 3),
        ("at < TIMESTAMP '1970-01-01 00:00:00.000000001'", [True, False, None]),
        ("TIMESTAMP_LTZ '2020-01-01 01:00:00+01:00'", [datetime(2020, 1, 1, tzinfo=UTC)] * 3),
        ("TIME '12:30:00.5'", [time(12, 30, 0, 500_000)] * 3),
    ],
)
def test_values_are_those_of_sql(text: str, expected: list[Any]) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "error", "names"),
    [
        ("i", InvalidExpression, "in target and source; qualify it, as in source.i"),
        ("nope", ColumnNotFound, "'nope'.* target: i, d"),
        ("u.i", InvalidExpression, "'u.i': unknown relation; expected target and source"),
        ("a.b.i", InvalidExpression, "Column is not supported"),
        ("t.i % 2", InvalidExpression, "Mod is not supported"),
        ("s LIKE 'a%'", InvalidExpression, "Like is not supported"),
        ("my_function(s)", InvalidExpression, "MY_FUNCTION is not supported"),
        ("CURRENT_DATE", InvalidExpression, "CurrentDate is not supported"),
        ("SUM(x)", InvalidExpression, "Sum is not supported"),
        ("TRY_CAST(s AS INT)", InvalidExpression, "TryCast is not supported"),
        ("TRIM(BOTH 'a' FROM s)", InvalidExpression, "Trim is not supported"),
        ("(SELECT 1)", InvalidExpression, "Subquery is not supported"),
        ("t.i IN (SELECT 1)", InvalidExpression, "In is not supported"),
        ("CAST(s AS ARRAY<INT>)", InvalidExpression, "a cast to ARRAY<INT> is not supported"),
        ("CAST(s AS DECIMAL(40, 2))", InvalidExpression, "precision must be 1 to 38"),
        ("CAST(f AS STRING)", InvalidExpression, "from DOUBLE to STRING"),
        ("CAST(s AS INT)", InvalidExpression, "Failed to parse string: ''"),
        ("DATE '2024-02-30'", InvalidExpression, "a date of the calendar"),
        ("TIME '12:00:00.0001'", InvalidExpression, "at most three decimals"),
        ("CAST(CAST('NaN' AS DOUBLE) AS DECIMAL(5, 2))", InvalidExpression, "nan cannot be cast to DECIMAL"),
        ("10 / s.x", InvalidExpression, "divide by zero"),
        ("9223372036854775807 + t.i", InvalidExpression, "overflow"),
        ("s + 1", InvalidExpression, "expected a number"),
        ("s || 1", InvalidExpression, "expected a text"),
        ("s = 1", InvalidExpression, "values of different types are combined"),
        ("day > '2024-01-01'", InvalidExpression, "values of different types are combined"),
        ("raw > s", InvalidExpression, "values of different types are combined"),
        ("CASE WHEN b THEN 1 ELSE s END", InvalidExpression, "values of different types are combined"),
        ("NOT t.i", InvalidExpression, "expected a condition, which is TRUE or FALSE"),
        ("SUBSTRING(s, 0)", InvalidExpression, "expected a start of at least 1"),
        ("SUBSTRING(s, x)", InvalidExpression, "the same for all rows"),
        ("t.i +", InvalidExpression, r"a value is missing beside \+"),
        ("t.i; s", InvalidExpression, "one value"),
        ("'open", InvalidExpression, "not closed"),
        ("", InvalidExpression, "one value"),
        ("12345678901234567890123456789012345678901", InvalidExpression, "more than 38 digits"),
        ("(" * 3000 + "1" + ")" * 3000, InvalidExpression, "nested too deeply|not closed|Expecting"),
    ],
)
def test_unsupported_syntax_is_refused_by_name(text: str, error: type[TableFormatError], names: str) -> None:
    with pytest.raises(error, match=names):
        value(text)


def test_an_expression_names_the_columns_it_reads() -> None:
    found = columns_in(parse_expression("CASE WHEN b THEN CAST(t.i AS BIGINT) ELSE COALESCE(s.i, x) END", SCOPE))
    assert {f"{c.relation}.{c.name}" for c in found} == {"target.b", "target.i", "source.i", "source.x"}


NUMBERS = st.lists(st.one_of(st.none(), st.integers(-9, 9)), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None)
@given(NUMBERS, st.integers(-9, 9), st.integers(-9, 9))
def test_a_case_expression_is_evaluated_for_each_row(numbers: list[int | None], low: int, high: int) -> None:
    text = f"CASE WHEN x < {low} THEN x * 2 WHEN x = {high} THEN NULL WHEN x IS NULL THEN -1 ELSE 100 END"
    column = ColumnOf("target", "x")
    expression = parse_expression(text, {"target": ["x"]})
    found = evaluate(expression, {column: pa.array(numbers, pa.int64())}, len(numbers)).to_pylist()
    expected = [-1 if x is None else x * 2 if x < low else None if x == high else 100 for x in numbers]
    assert found == expected
    below = truths(parse_expression(f"x < {low}", {"target": ["x"]}), {column: pa.array(numbers, pa.int64())}, 0)
    assert below.to_pylist() == [x is not None and x < low for x in numbers]


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=7))
def test_a_decimal_becomes_the_nearest_double(number: Decimal) -> None:
    text = f"{number:f}"
    assert value(f"CAST({text} AS DOUBLE)") == [float(text)] * 3
    assert value(f"CAST(0 AS DOUBLE) + {text}") == [float(text)] * 3


@given(st.floats(-1e15, 1e15), st.integers(0, 6))
def test_the_digits_of_a_double_are_rounded_half_away_from_zero(number: float, scale: int) -> None:
    rounded = Decimal(repr(number)).quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP)
    shown = f"CAST('{number!r}' AS DOUBLE)"
    assert value(f"CAST({shown} AS DECIMAL(38, {scale}))") == [rounded] * 3
    assert value(f"ROUND({shown}, {scale})") == [float(rounded)] * 3
