"""Folding whole columns equals folding row by row, for any groups, actions, nulls and types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.errors import InvalidData
from table_format.kernels.aggregates import fold
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    MapType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from tests.kernels.aggregates.columns import Step, column_of, float_bits, folded, row_type, spec_of
from tests.kernels.aggregates.model import FUNCTIONS, model
from tests.support.matrix import tries

INTS = [TinyIntType(), SmallIntType(), IntType(), BigIntType()]
FLOATS = [FloatType(), DoubleType()]
DECIMALS = [DecimalType(precision=4, scale=2), DecimalType(precision=18), DecimalType(precision=20, scale=3)]
COMPARABLE = [*INTS, *FLOATS, *DECIMALS, CharType(3), VarCharType(), VarBinaryType(), DateType(), TimestampType(9)]
TABLE = ArrayType(row_type(IntType(), VarCharType()))
CASES: list[tuple[str, list[DataType], dict[str, Any]]] = [
    ("sum", [*INTS, *FLOATS, *DECIMALS], {}),
    ("product", [*INTS, *FLOATS, *DECIMALS], {}),
    ("max", COMPARABLE, {}),
    ("min", COMPARABLE, {}),
    ("bool_and", [BooleanType()], {}),
    ("bool_or", [BooleanType()], {}),
    ("last_value", [*COMPARABLE, TABLE], {}),
    ("last_non_null_value", [*COMPARABLE, TABLE], {}),
    ("first_value", [*COMPARABLE, TABLE], {}),
    ("first_non_null_value", [*COMPARABLE, TABLE], {}),
    ("listagg", [VarCharType()], {}),
    ("listagg", [VarCharType()], {"distinct": True, "delimiter": "|"}),
    ("collect", [ArrayType(IntType()), ArrayType(VarCharType())], {}),
    ("collect", [ArrayType(IntType()), ArrayType(VarCharType())], {"distinct": True}),
    ("merge_map", [MapType(IntType(), VarCharType()), MapType(VarCharType(), IntType())], {}),
    ("nested_update", [TABLE], {}),
    ("nested_update", [TABLE], {"nested_key": ("a",)}),
    ("nested_update", [TABLE], {"nested_key": ("a",), "count_limit": 3}),
    ("nested_partial_update", [TABLE], {"nested_key": ("a",)}),
]
RETRACTS = {"sum", "last_value", "last_non_null_value", "collect", "merge_map", "nested_update"}
UNORDERED = {"merge_map", "nested_partial_update"}
ASSOCIATIVE = {
    "max",
    "min",
    "bool_and",
    "bool_or",
    "last_value",
    "last_non_null_value",
    "first_non_null_value",
    "merge_map",
}


def plain(t: DataType) -> st.SearchStrategy[Any]:
    """Plain values of a type, including values near its bounds."""
    bits = {TinyIntType: 7, SmallIntType: 15, IntType: 31, BigIntType: 63}.get(type(t))
    if bits:
        return st.integers(-3, 3) | st.integers(-(2**bits), 2**bits - 1)
    match t:
        case FloatType() | DoubleType():
            width = 32 if isinstance(t, FloatType) else 64
            return st.floats(width=width).map(lambda value: float_bits(value, t))
        case DecimalType(precision=precision):
            bound = 10**precision - 1
            return (st.integers(-200, 200) | st.integers(-bound, bound)).map(str)
        case BooleanType():
            return st.booleans()
        case VarBinaryType():
            return st.binary(max_size=3).map(bytes.hex)
        case DateType():
            return st.integers(-1000, 1000)
        case TimestampType():
            return st.integers(-(2**62), 2**62)
        case ArrayType(element=element):
            return st.lists(st.none() | small(element), max_size=6)
        case MapType(key=key, value=value):
            pairs = st.lists(
                st.tuples(small(key), st.none() | small(value)), max_size=4, unique_by=lambda pair: pair[0]
            )
            return pairs.map(lambda found: [list(pair) for pair in found])
    return st.sampled_from(["", "a", "b", "a|b", "|", " ", "é", "𝄞", "aa"])


def small(t: DataType) -> st.SearchStrategy[Any]:
    """Values with repetitions."""
    if t == TABLE.element:
        return st.tuples(st.none() | small(IntType()), st.none() | small(VarCharType())).map(list)
    return st.integers(0, 9) if isinstance(t, IntType) else st.sampled_from(["x", "yy", "zzz"])


def groups_of(t: DataType, letters: str) -> st.SearchStrategy[list[list[Step]]]:
    step = st.tuples(st.sampled_from(letters), st.none() | plain(t))
    return st.lists(st.lists(step, min_size=1, max_size=6), min_size=1, max_size=6)


def comparable(results: list[Any], function: str, options: dict[str, Any]) -> list[Any]:
    """Results without a defined order, in a fixed order."""
    if function not in UNORDERED and not options.get("distinct") and "nested_key" not in options:
        return results
    return [sorted(r, key=str) if isinstance(r, list) else r for r in results]


@pytest.mark.parametrize(("function", "types", "options"), CASES)
@given(data=st.data())
@settings(max_examples=tries(20, many=40), deadline=None)
def test_folding_a_column_equals_folding_its_rows_one_by_one(function, types, options, data):
    t = data.draw(st.sampled_from(types))
    ignore_retract = data.draw(st.booleans())
    limited = "count_limit" in options
    letters = "AAAs" + ("" if limited else "R=") + ("-" if function in RETRACTS or ignore_retract else "")
    groups = data.draw(groups_of(t, letters))
    spec = spec_of(function, t, ignore_retract=ignore_retract, **options)
    assert comparable(folded(spec, groups), function, options) == comparable(model(spec, groups), function, options)


@pytest.mark.parametrize("t", INTS, ids=str)
@given(data=st.data())
@settings(max_examples=tries(20, many=40), deadline=None)
def test_an_integer_product_is_divided_towards_zero(t, data):
    step = st.tuples(st.sampled_from("AA-"), st.none() | plain(t).filter(bool))
    groups = data.draw(st.lists(st.lists(step, min_size=1, max_size=6), min_size=1, max_size=6))
    assert folded(spec_of("product", t), groups) == model(spec_of("product", t), groups)


@pytest.mark.parametrize(("function", "types", "options"), [case for case in CASES if case[0] in ASSOCIATIVE])
@given(data=st.data())
@settings(max_examples=tries(12, many=25), deadline=None)
def test_merging_parts_first_changes_nothing(function, types, options, data):
    t = data.draw(st.sampled_from(types))
    rows = data.draw(st.lists(st.none() | plain(t), min_size=2, max_size=8))
    cut = data.draw(st.integers(1, len(rows) - 1))
    spec = spec_of(function, t, **options)
    whole = folded(spec, [[("A", row) for row in rows]])
    parts = folded(spec, [[("A", row) for row in part] for part in (rows[:cut], rows[cut:])])
    assert comparable(folded(spec, [[("A", part) for part in parts]]), function, options) == comparable(
        whole, function, options
    )


@pytest.mark.parametrize("t", [*INTS, *DECIMALS[:1]], ids=str)
@given(data=st.data())
@settings(max_examples=tries(12, many=25), deadline=None)
def test_sums_of_sums_are_the_sum(t, data):
    numbers = st.integers(-100, 100).map(str if isinstance(t, DecimalType) else int)
    rows = data.draw(st.lists(st.tuples(st.sampled_from("A-"), st.none() | numbers), min_size=2, max_size=8))
    cut = data.draw(st.integers(1, len(rows) - 1))
    parts = folded(spec_of("sum", t), [rows[:cut], rows[cut:]])
    assert folded(spec_of("sum", t), [[("A", part) for part in parts]]) == folded(spec_of("sum", t), [rows])


@pytest.mark.parametrize("t", [*FLOATS, BigIntType(), DecimalType(precision=30, scale=2)], ids=str)
@pytest.mark.parametrize("function", ["sum", "product", "max", "min"])
def test_long_groups_among_short_ones(function, t):
    random = np.random.default_rng(5)
    numbers = random.integers(-40, 50, 700).tolist()
    values = [float_bits(n / 7, t) if t in FLOATS else str(n) if isinstance(t, DecimalType) else n for n in numbers]
    groups = [
        [("A", value) for value in values[a:b]] for a, b in ((0, 1), (1, 300), (300, 303), (303, 699), (699, 700))
    ]
    spec = spec_of(function, t)
    assert folded(spec, groups) == model(spec, groups)


def test_float_sums_are_made_in_merge_order_and_in_their_own_width():
    steps = [("A", float_bits(value, FloatType())) for value in (1e8, 1.0, 1.0, 1.0, 1.0, -1e8, 0.1)]
    spec = spec_of("sum", FloatType())
    total = np.float32(0)
    for value in (1e8, 1.0, 1.0, 1.0, 1.0, -1e8, 0.1):
        total = np.float32(total + np.float32(value))
    assert folded(spec, [steps]) == [float_bits(float(total), FloatType())] == model(spec, [steps])


def test_an_empty_column_is_folded_to_an_empty_column():
    for function, types, options in CASES:
        empty = column_of([], types[0])
        result = fold(spec_of(function, types[0], **options), empty, np.empty(0, np.int64), np.empty(0, np.int8))
        assert len(result) == 0
        assert result.type == empty.type


def test_a_slice_of_a_column_is_folded_like_a_copy():
    for function, types, options in CASES:
        for t in types:
            rows = [None, *folded(spec_of("last_value", t), [[("A", EXAMPLES.get(type(t)))]]), None, None]
            column = column_of(rows, t)
            spec = spec_of(function, t, **options)
            actions, starts = np.ones(3, np.int8), np.array([0, 1])
            whole = fold(spec, column_of(rows[1:], t), starts, actions)
            assert fold(spec, column.slice(1), starts, actions).equals(whole)


EXAMPLES = {
    **dict.fromkeys((TinyIntType, SmallIntType, IntType, BigIntType, DateType), 5),
    FloatType: "40a00000",
    DoubleType: "4014000000000000",
    DecimalType: "5",
    BooleanType: True,
    VarBinaryType: "05",
    VarCharType: "five",
    CharType: "5",
    TimestampType: 5,
}


@pytest.mark.parametrize(
    ("starts", "actions"), [([1], [1, 1]), ([0, 2], [1, 1]), ([0, 0], [1, 1]), ([0], [1]), ([], [1, 1])]
)
def test_groups_that_do_not_cover_the_rows_are_refused(starts, actions):
    with pytest.raises(InvalidData, match="groups that cover 2 rows"):
        fold(
            spec_of("sum", IntType()),
            pa.array([1, 2], pa.int32()),
            np.array(starts, np.int64),
            np.array(actions, np.int8),
        )


def test_the_model_knows_every_function_that_can_be_told_in_plain_values():
    assert set(FUNCTIONS) == {function for function, _, _ in CASES}
