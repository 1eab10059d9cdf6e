"""Conditions are built with operators, and invalid ones are refused with an explanation."""

from __future__ import annotations

import pickle
from decimal import Decimal

import numpy as np
import pytest

from table_format.errors import InvalidFilter
from table_format.model.condition import col


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (col("a") != 1, "a <> 1"),
        (col("a") >= Decimal("1.50"), "a >= 1.50"),
        (col("a") == 10**5000, f"a = 1{'0' * 5000}"),
        (col("a") == np.int64(7), "a = 7"),
        (col("a") == np.float64(0.5), "a = 0.5"),
        (col("b") == float("-inf"), "b = CAST('-Infinity' AS DOUBLE)"),
        (col("b") == b"\xff", "b = X'ff'"),
        (col("a").not_in(x for x in (1, 2)), "a NOT IN (1, 2)"),
        (~(col("a") == 1), "NOT (a = 1)"),
        (~col("flag"), "NOT flag"),
        (~col("s").like("x%"), "s NOT LIKE 'x%'"),
        ((col("a") == 1) & ((col("b") == 2) | (col("c") == 3)), "a = 1 AND (b = 2 OR c = 3)"),
        ((col("a") == 1) & ((col("b") == 2) & (col("c") == 3)), "a = 1 AND b = 2 AND c = 3"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 50 else "",
)
def test_the_repr_of_a_condition_is_the_text_of_the_filter(condition, text):
    assert repr(condition) == text


def test_a_condition_can_be_pickled():
    condition = (col("a") > 1) & ~col("flag")
    assert repr(pickle.loads(pickle.dumps(condition))) == repr(condition)  # noqa: S301 - made here


def test_a_condition_has_no_truth_value_and_says_what_to_write_instead():
    with pytest.raises(InvalidFilter, match=r"'a > 1' is neither true nor false.* & \| ~"):
        _ = (col("a") > 1) and (col("b") > 1)
    with pytest.raises(InvalidFilter, match=r"between\(\)"):
        _ = 1 < col("a") < 3


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: col("a") == None, r"use is_null\(\)"),  # noqa: E711
        (lambda: col("a").is_in([1, None]), r"use is_null\(\)"),
        (lambda: col("a") == col("b"), "column 'a' is compared with column 'b'"),
        (lambda: col("a") == [1], "compared with list"),
        (lambda: col("a").is_in("xyz"), "is_in of column 'a': expected several values, found str 'xyz'"),
        (lambda: col("a").is_in(1), "expected several values, found int 1"),
        (lambda: col("a").like(1), "expected a pattern, found int 1"),
        (lambda: (col("a") > 1) & True, "put each comparison in parentheses"),
        (lambda: (col("a") > 1) | "b", "put each comparison in parentheses"),
        (lambda: col(1), "expected the name of a column, found int 1"),
    ],
)
def test_an_invalid_condition_is_refused_when_it_is_built(build, message):
    with pytest.raises(InvalidFilter, match=message):
        build()


def test_a_column_cannot_be_a_key_of_a_dictionary():
    with pytest.raises(TypeError, match="unhashable"):
        hash(col("a"))
