"""Predicates on columns, compared with a row-by-row model."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from table_format.errors import ColumnNotFound, InvalidFilter
from table_format.kernels import predicate as predicate_module
from table_format.kernels.predicate import matches, negate, normalise
from table_format.model.arrow_types import arrow_schema, arrow_type
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Like, Literal, Not, Or
from table_format.model.ticks import position
from table_format.model.types import (
    ArrayType,
    DataField,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    TimestampType,
    VarCharType,
)
from tests.kernels.predicate_model import FIELDS, LITERALS, Row, answer, predicates, rows

EQ, LT, GT = CompareOp.EQ, CompareOp.LT, CompareOp.GT


def batch_of(found: list[Row]) -> pa.RecordBatch:
    columns = []
    for field in FIELDS:
        values = [row[field.name] for row in found]
        kind = arrow_type(field.type)
        if field.name == "ms":
            values = [None if v is None else v // 1_000_000 for v in values]
        integers = pa.int32() if pa.types.is_date(kind) else pa.int64()
        columns.append(pa.array(values, integers).cast(kind) if pa.types.is_temporal(kind) else pa.array(values, kind))
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(FIELDS))


def single(name: str, kind, values, arrow=None):
    field = DataField(0, name, kind)
    return pa.record_batch({name: pa.array(values, arrow or arrow_type(kind))}), [field]


@settings(max_examples=200, deadline=None)
@given(rows, predicates)
@example([], And(()))
@example([], Or((Literal(None), IsNull("text"))))
def test_a_mask_says_what_a_row_by_row_evaluation_says(found, predicate):
    mask = matches(predicate, batch_of(found), FIELDS)
    assert mask.null_count == 0
    assert mask.to_pylist() == [answer(predicate, row) is True for row in found]


@settings(max_examples=200, deadline=None)
@given(rows, predicates)
def test_normalising_and_negating_keep_the_meaning_with_three_values(found, predicate):
    for row in found:
        expected = answer(predicate, row)
        assert answer(normalise(predicate), row) is expected
        assert answer(negate(predicate), row) is (None if expected is None else not expected)
    assert normalise(normalise(predicate)) == normalise(predicate)


@settings(max_examples=50, deadline=None)
@given(rows.filter(lambda found: len(found) > 1), predicates)
def test_a_slice_of_a_batch_is_read_at_its_offset(found, predicate):
    mask = matches(predicate, batch_of(found).slice(1), FIELDS)
    assert mask.to_pylist() == [answer(predicate, row) is True for row in found[1:]]


def test_a_literal_between_two_ticks_is_compared_without_rounding():
    batch, fields = single("t", TimestampType(precision=3), [-1, 0, 1], pa.timestamp("ms"))
    half_past = 500_000  # nanoseconds: between tick 0 and tick 1
    expected = {"=": [], "<>": [-1, 0, 1], "<": [-1, 0], "<=": [-1, 0], ">": [1], ">=": [1]}
    for op, kept in expected.items():
        mask = matches(Compare("t", CompareOp(op), half_past), batch, fields)
        assert [v for v, m in zip([-1, 0, 1], mask.to_pylist(), strict=True) if m] == kept


def test_in_with_many_values_finds_each():
    batch, fields = single("d", DecimalType(precision=38, scale=2), [Decimal(n) for n in range(100)])
    values = tuple(Decimal(n) for n in range(0, 100_000, 3))
    assert matches(In("d", values), batch, fields).to_pylist() == [n % 3 == 0 for n in range(100)]


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("a%", ["ab", "a.c", "a\nc"]),
        ("a_c", ["a.c", "a\nc"]),
        ("a.c", ["a.c"]),
        ("%b", ["ab"]),
        ("", [""]),
        ("_", ["😀"]),
        ("%", ["ab", "a.c", "a\nc", "", "😀"]),
    ],
)
def test_like_knows_no_special_characters_but_its_own(pattern, kept):
    values = ["ab", "a.c", "a\nc", "", "😀", None]
    batch, fields = single("s", VarCharType(), values)
    mask = matches(Like("s", pattern), batch, fields).to_pylist()
    assert [v for v, m in zip(values, mask, strict=True) if m] == kept


@pytest.mark.parametrize("pattern", ["a\\", "\\a", "%\\b"])
def test_an_escape_of_nothing_special_is_refused(pattern):
    batch, fields = single("s", VarCharType(), ["a"])
    with pytest.raises(InvalidFilter, match="must be followed by"):
        matches(Like("s", pattern), batch, fields)


@pytest.mark.parametrize(
    ("predicate", "told"),
    [
        (Compare("a", EQ, "x"), "'x' is not a value of the type"),
        (Compare("a", EQ, True), "True is not a value of the type"),
        (Compare("a", EQ, 1.5), "1.5 is not a value of the type"),
        (In("a", (1, None)), "None is not a value of the type"),
        (Compare("a", CompareOp.CONTAINS, 1), "contains does not apply to column 'a' of type INT"),
        (Like("a", "x"), "LIKE does not apply to column 'a' of type INT"),
    ],
)
def test_literals_that_do_not_fit_are_refused(predicate, told):
    batch, fields = single("a", IntType(), [1])
    with pytest.raises(InvalidFilter, match=told):
        matches(predicate, batch, fields)


def test_nested_columns_can_only_be_tested_for_null():
    batch, fields = single("a", ArrayType(element=IntType()), [[1], None])
    assert matches(Not(IsNull("a")), batch, fields).to_pylist() == [True, False]
    with pytest.raises(InvalidFilter, match="only be tested for null"):
        matches(Compare("a", EQ, 1), batch, fields)


def test_an_unknown_column_is_named():
    batch, fields = single("a", IntType(), [1])
    with pytest.raises(ColumnNotFound, match="column 'b' of the filter"):
        matches(Compare("b", EQ, 1), batch, fields)


def test_normalising_folds_constants_and_flattens():
    a, b = Compare("a", LT, 1), Like("b", "x%")
    assert normalise(And((a, And((b, Literal(True)))))) == And((a, b))
    assert normalise(Or((a, Literal(True)))) == Literal(True)
    assert normalise(Not(And((a, b)))) == Or((Compare("a", CompareOp.GE, 1), Not(b)))
    assert normalise(Not(Not(a))) == a
    assert normalise(And(())) == Literal(True)
    assert negate(Compare("a", GT, 1)) == Compare("a", CompareOp.LE, 1)


@given(st.integers(0, 3))
def test_a_literal_condition_is_the_same_for_every_row(count):
    batch, fields = single("a", IntType(), [1] * count)
    for value in (True, False, None):
        assert matches(Literal(value), batch, fields).to_pylist() == [value is True] * count


@settings(max_examples=100, deadline=None)
@given(rows.filter(lambda found: len(found) <= 2), st.sampled_from(FIELDS), st.data())
def test_an_in_of_many_values_on_few_rows_says_what_a_row_by_row_evaluation_says(found, field, data):
    values = data.draw(st.lists(LITERALS[field.name], min_size=20, max_size=60))
    for predicate in (In(field.name, tuple(values)), Not(In(field.name, tuple(values)))):
        assert matches(predicate, batch_of(found), FIELDS).to_pylist() == [
            answer(predicate, row) is True for row in found
        ]


def test_the_values_of_an_in_are_converted_once_for_all_batches(monkeypatch):
    converted = []
    monkeypatch.setattr(predicate_module, "position", lambda *arguments: converted.append(1) or position(*arguments))
    batch, fields = single("a", IntType(), [5, None, 7])
    predicate = In("a", tuple(range(0, 400, 5)))
    assert [matches(predicate, batch, fields).to_pylist() for _ in range(3)] == [[True, False, False]] * 3
    assert len(converted) == 80


@pytest.mark.parametrize(("kind", "bits"), [(FloatType(), 0xFFC00000), (DoubleType(), 0xFFF8000000000000)])
def test_in_finds_a_nan_whatever_its_bits(kind, bits):
    # A processor computes infinity - infinity as a NaN with another sign than that of the literal.
    integer, number = (np.uint32, np.float32) if isinstance(kind, FloatType) else (np.uint64, np.float64)
    values = np.concatenate([np.array([bits, bits + 1], integer).view(number), np.array([np.nan, 1, -0.0], number)])
    batch, fields = single("f", kind, values)
    found = In("f", (float("nan"), 0.0))
    assert matches(found, batch, fields).to_pylist() == [True, True, True, False, True]
    assert matches(Not(found), batch, fields).to_pylist() == [False, False, False, True, False]
    assert matches(In("f", (float(values[0]),)), batch, fields).to_pylist() == [True, True, True, False, False]
