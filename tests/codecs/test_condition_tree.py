"""A condition built with ``col`` is equivalent to its text, for any column names and values."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.codecs.filter_sql import FilterDialect, bind_condition, parse_filter
from table_format.errors import ColumnNotFound, InvalidFilter
from table_format.model.condition import Condition, col
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Like, Not, Or, Predicate
from table_format.model.types import (
    BigIntType,
    BooleanType,
    DataField,
    DateType,
    DecimalType,
    DoubleType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
)

ZONES = st.integers(-18 * 60, 18 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
NUMBERS = st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.floats(allow_nan=False)
TYPES = {
    "id": (BigIntType(), NUMBERS),
    "two words": (DecimalType(precision=10, scale=2), NUMBERS),
    'a"quote': (DoubleType(), NUMBERS),
    "select": (VarCharType(), st.text()),
    "ÄÖ`": (VarBinaryType(), st.binary()),
    "date": (DateType(), st.dates()),
    "at": (TimeType(precision=3), st.times()),
    "timestamp": (TimestampType(precision=6), st.datetimes() | st.dates()),
    "instant": (LocalZonedTimestampType(precision=6), st.datetimes() | st.datetimes(timezones=ZONES)),
    "flag": (BooleanType(), st.booleans()),
}
FIELDS = tuple(DataField(i, name, kind) for i, (name, (kind, _)) in enumerate(TYPES.items()))
ORDERED = [name for name in TYPES if name != "flag"]


@st.composite
def column_tests(draw: st.DrawFn) -> Condition:
    name = draw(st.sampled_from(ORDERED))
    column, values = col(name), TYPES[name][1]
    kind = draw(st.integers(0, 8 if name in ("select", "ÄÖ`") else 7))
    one = draw(values)
    comparisons = [column == one, column != one, column < one, column <= one, column > one, column >= one]
    if kind < 6:
        return comparisons[kind]
    if kind == 6:
        return column.between(one, draw(values))
    if kind == 7:
        return column.is_in(draw(st.lists(values, max_size=3)))
    functions = [column.starts_with(one), column.ends_with(one), column.contains(one)]
    return draw(st.sampled_from(functions))


PATTERNS = st.text().map(lambda text: col("select").like(text.replace("\\", "\\\\")))
NULLS = st.sampled_from(list(TYPES)).map(lambda name: col(name).is_null())
CONDITIONS = st.recursive(
    column_tests() | PATTERNS | NULLS | st.just(col("flag")) | st.booleans().map(lambda value: col("flag") == value),
    lambda inner: (
        inner.map(lambda part: ~part)
        | st.tuples(inner, inner).map(lambda two: two[0] & two[1])
        | st.tuples(inner, inner).map(lambda two: two[0] | two[1])
    ),
    max_leaves=6,
)


def meaning(bind: Callable[[], Predicate]) -> Predicate | str:
    """The predicate, or the error without the position in the text."""
    try:
        return bind()
    except InvalidFilter as error:
        return re.sub(r"^filter, at character \d+:", "filter:", str(error))


@given(CONDITIONS)
def test_the_text_of_a_condition_has_the_same_meaning(condition: Condition) -> None:
    of_text = meaning(lambda: parse_filter(repr(condition), FIELDS))
    assert meaning(lambda: bind_condition(condition, FIELDS)) == of_text


def test_a_column_may_have_any_sql_keyword_as_its_name() -> None:
    words = [word for word in FilterDialect.Tokenizer.KEYWORDS if re.fullmatch(r"\w+", word)]
    assert len(words) > 200
    for word in words:
        fields = [DataField(0, word, VarCharType())]
        for condition, predicate in (
            (col(word) == "x", Compare(word, CompareOp.EQ, "x")),
            (col(word).is_in(["x"]), In(word, ("x",))),
            (col(word).is_not_null(), Not(IsNull(word))),
            (~col(word).like("x"), Not(Like(word, "x"))),
        ):
            assert parse_filter(repr(condition), fields) == bind_condition(condition, fields) == predicate


@pytest.mark.parametrize(
    ("condition", "predicate"),
    [
        (col("id") > 10, Compare("id", CompareOp.GT, 10)),
        (col("id") < 10, Compare("id", CompareOp.LT, 10)),
        (col("id") < 1.5, Compare("id", CompareOp.LE, 1)),
        (col("two words") == Decimal("1.5"), Compare("two words", CompareOp.EQ, Decimal("1.50"))),
        (col("select") == "it's", Compare("select", CompareOp.EQ, "it's")),
        (col("ÄÖ`") == b"\x00", Compare("ÄÖ`", CompareOp.EQ, b"\x00")),
        (col("date") == date(1970, 1, 2), Compare("date", CompareOp.EQ, 1)),
        (col("date") == "1970-01-02", Compare("date", CompareOp.EQ, 1)),
        (col("at") == time(0, 0, 1), Compare("at", CompareOp.EQ, 1000)),
        (col("timestamp") == datetime(1970, 1, 1, 0, 0, 1), Compare("timestamp", CompareOp.EQ, 1_000_000_000)),
        (
            col("instant") == datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
            Compare("instant", CompareOp.EQ, 0),
        ),
        (col("flag"), Compare("flag", CompareOp.EQ, True)),
        (~col("flag"), Not(Compare("flag", CompareOp.EQ, True))),
        (
            (col("id") == 1) & (col("id") == 2) & (col("flag") | (col("id") == 3)),
            And(
                (
                    Compare("id", CompareOp.EQ, 1),
                    Compare("id", CompareOp.EQ, 2),
                    Or((Compare("flag", CompareOp.EQ, True), Compare("id", CompareOp.EQ, 3))),
                )
            ),
        ),
    ],
    ids=repr,
)
def test_a_condition_is_bound_to_a_predicate(condition, predicate):
    assert bind_condition(condition, FIELDS) == predicate


def test_a_floating_column_is_compared_with_nan():
    predicate = bind_condition(col('a"quote') == float("nan"), FIELDS)
    assert repr(predicate) == repr(parse_filter('"a""quote" = CAST(\'NaN\' AS DOUBLE)', FIELDS))


@pytest.mark.parametrize(
    ("condition", "error"),
    [
        (col("select") == 1, "column 'select' has type STRING: expected text in single quotes, found 1"),
        (col("id") == "7", "column 'id' has type BIGINT: expected a number, found '7'"),
        (col("id") == float("nan"), "column 'id' has type BIGINT: expected a number"),
        (col("timestamp") == datetime(2026, 1, 1, tzinfo=UTC), "without a time zone"),
        (col("id").like("7%"), "LIKE needs a column of type STRING"),
        (col("date").starts_with("2026"), "starts_with needs a column of type STRING or BYTES"),
        (~col("id"), "expected a condition, but 'id' has type BIGINT"),
    ],
    ids=repr,
)
def test_a_value_of_another_type_is_refused_as_in_a_text(condition, error):
    with pytest.raises(InvalidFilter, match=re.escape(error)):
        bind_condition(condition, FIELDS)
    with pytest.raises(InvalidFilter, match=re.escape(error)):
        parse_filter(repr(condition), FIELDS)


def test_an_unknown_column_has_the_error_of_the_text_with_the_nearest_names():
    with pytest.raises(ColumnNotFound) as of_text:
        parse_filter("flagg = TRUE", FIELDS)
    with pytest.raises(ColumnNotFound) as of_condition:
        bind_condition(col("flagg") == True, FIELDS)  # noqa: E712 - what a user writes
    assert str(of_condition.value) == str(of_text.value)
    assert str(of_text.value).endswith("; did you mean 'flag'?")


def test_a_chain_of_many_conditions_is_bound():
    condition = col("id") == 0
    for value in range(1, 3000):
        condition |= col("id") == value
    bound = bind_condition(condition, FIELDS)
    assert isinstance(bound, Or)
    assert len(bound.parts) == 3000


def test_a_condition_that_is_nested_too_deeply_is_refused():
    condition = col("flag") == True  # noqa: E712
    for _ in range(3000):
        condition = ~condition
    with pytest.raises(InvalidFilter, match="nested too deeply"):
        bind_condition(condition, FIELDS)
