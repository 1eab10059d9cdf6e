"""Pruning by bounds never loses a row, and prunes in obvious cases."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.kernels.bounds import ColumnBounds, may_match
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Like, Literal, Not, Or
from tests.kernels.predicate_model import FIELDS, Row, answer, predicates, rows

EQ, NE, LT, LE, GT, GE = (CompareOp(op) for op in ("=", "<>", "<", "<=", ">", ">="))


def honest_bounds(found: list[Row], name: str, draw: Any) -> ColumnBounds:
    """Bounds that enclose the values of a column; NaN may be left out, parts may be unknown or wider."""
    values = [row[name] for row in found if row[name] is not None]
    numbers = [v for v in values if not (isinstance(v, float) and math.isnan(v))]
    order = (lambda v: v.encode()) if name == "text" else None
    low, high = (min(numbers, key=order), max(numbers, key=order)) if numbers else (None, None)
    if isinstance(low, (str, bytes)):
        low = low[: draw(st.integers(0, 4))]
        high = high + (high[-1:] or high)
    return ColumnBounds(
        draw(st.sampled_from([low, None])),
        draw(st.sampled_from([high, None])),
        draw(st.sampled_from([len(found) - len(values), None])),
        len(found),
        may_hold_nan=len(numbers) < len(values) or draw(st.booleans()),
    )


@settings(max_examples=250, deadline=None)
@given(rows, predicates, st.data())
def test_a_row_that_matches_is_never_pruned(found, predicate, data):
    names = data.draw(st.sets(st.sampled_from([field.name for field in FIELDS])))
    bounds = {name: honest_bounds(found, name, data.draw) for name in names}
    if any(answer(predicate, row) is True for row in found):
        assert may_match(predicate, bounds)


NUMBERS = {"a": ColumnBounds(10, 20, 0, 100)}
WITH_NULLS = {"a": ColumnBounds(10, 20, 5, 100)}
ALL_NULL = {"a": ColumnBounds(None, None, 100, 100)}
UNKNOWN = {"a": ColumnBounds(None, None, None, 100)}
TEXT = {"a": ColumnBounds("book", "boot", 0, 100)}
DOUBLES = {"a": ColumnBounds(1.0, 2.0, 0, 100)}
NAN_FREE = {"a": ColumnBounds(1.0, 2.0, 0, 100, may_hold_nan=False)}


@pytest.mark.parametrize(
    ("predicate", "bounds", "expected"),
    [
        (Compare("a", EQ, 9), NUMBERS, False),
        (Compare("a", EQ, 10), NUMBERS, True),
        (Compare("a", LT, 10), NUMBERS, False),
        (Compare("a", LE, 10), NUMBERS, True),
        (Compare("a", GT, 20), NUMBERS, False),
        (Compare("a", GE, 20), NUMBERS, True),
        (Compare("a", NE, 10), {"a": ColumnBounds(10, 10, 0, 5)}, False),
        (Compare("a", NE, 10), NUMBERS, True),
        (In("a", (1, 2, 30)), NUMBERS, False),
        (In("a", (1, 15)), NUMBERS, True),
        (In("a", ()), NUMBERS, False),
        (Not(Compare("a", GE, 10)), NUMBERS, False),
        (Not(Compare("a", GE, 10)), WITH_NULLS, False),
        (Not(In("a", (7,))), {"a": ColumnBounds(7, 7, 0, 5)}, False),
        (IsNull("a"), NUMBERS, False),
        (IsNull("a"), WITH_NULLS, True),
        (IsNull("a"), UNKNOWN, True),
        (Not(IsNull("a")), ALL_NULL, False),
        (Not(IsNull("a")), UNKNOWN, True),
        (Compare("a", EQ, 1), ALL_NULL, False),
        (Not(Compare("a", EQ, 1)), ALL_NULL, False),
        (Compare("a", EQ, 1), UNKNOWN, True),
        (Compare("b", EQ, 1), NUMBERS, True),
        (And((Compare("b", EQ, 1), Compare("a", GT, 99))), NUMBERS, False),
        (Or((Compare("b", EQ, 1), Compare("a", GT, 99))), NUMBERS, True),
        (Or((Literal(False), Literal(None))), NUMBERS, False),
        (Compare("a", CompareOp.STARTS_WITH, "boo"), TEXT, True),
        (Compare("a", CompareOp.STARTS_WITH, "bop"), TEXT, False),
        (Compare("a", CompareOp.STARTS_WITH, "boa"), TEXT, False),
        (Not(Compare("a", CompareOp.STARTS_WITH, "boo")), TEXT, False),
        (Like("a", "c%"), TEXT, False),
        (Like("a", "%z"), TEXT, True),
        (Compare("a", GT, 5.0), DOUBLES, True),
        (Compare("a", LT, 0.5), DOUBLES, False),
        (Compare("a", EQ, 5.0), DOUBLES, False),
        (Compare("a", GT, 5.0), NAN_FREE, False),
        (Compare("a", EQ, math.nan), NAN_FREE, False),
        (Compare("a", EQ, math.nan), DOUBLES, True),
        (Compare("a", LT, 0.5), {"a": ColumnBounds(math.nan, math.nan, 0, 5)}, True),
        (Compare("a", EQ, "x"), NUMBERS, True),
        (Compare("a", EQ, 1), {"a": ColumnBounds(None, None, None, 0)}, False),
    ],
)
def test_bounds_decide_what_they_can(predicate, bounds, expected):
    assert may_match(predicate, bounds) is expected


MIXED = st.sampled_from([-1, 0, 1, 2, 5, True, 1.0, 1.5, Decimal("1.00"), Decimal("1.5"), math.inf, math.nan])
KINDS = MIXED | st.sampled_from(["", "a", "b", "ab"]) | st.sampled_from([b"", b"a", b"b"])


@settings(max_examples=300, deadline=None)
@given(st.lists(KINDS, max_size=6), st.lists(KINDS | st.none(), min_size=2, max_size=2), st.booleans())
def test_an_in_has_the_outcomes_of_its_equalities(values, limits, may_hold_nan):
    bounds = {"a": ColumnBounds(*limits, 0, 9, may_hold_nan=may_hold_nan)}
    if all(isinstance(limit, str | bytes) == isinstance(limits[0], str | bytes) for limit in limits):
        equalities = Or(tuple(Compare("a", EQ, value) for value in values))
        for listed, each in ((In("a", tuple(values)), equalities), (Not(In("a", tuple(values))), Not(equalities))):
            assert may_match(listed, bounds) is may_match(each, bounds)


def test_an_in_of_many_values_compares_few_of_them_with_each_file():
    compared = 0

    class Counting(int):
        def __lt__(self, other):
            nonlocal compared
            compared += 1
            return int(self) < other

        def __gt__(self, other):
            nonlocal compared
            compared += 1
            return int(self) > other

    predicate = In("a", tuple(range(0, 30_000, 3)))
    for first in range(1, 1000):
        assert may_match(predicate, {"a": ColumnBounds(Counting(first), Counting(first + 1), 0, 9)}) is (first % 3 != 1)
    assert compared < 100_000
