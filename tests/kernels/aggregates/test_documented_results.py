"""The results and bytes that format chapter 12, section 6 states, and further required results."""

from __future__ import annotations

import sys

import pytest
from pyroaring import BitMap

from table_format.errors import InvalidData, PackageMissing, RetractNotSupported
from table_format.kernels.aggregates import initial_values
from table_format.kernels.aggregates.functions import FUNCTIONS
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    CharType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from tests.kernels.aggregates.columns import column_of, folded, import_library_of, row_type, spec_of

INT, TEXT, BYTES = IntType(), VarCharType(), VarBinaryType()
TABLE = ArrayType(row_type(INT, TEXT))
DECIMAL_4_2 = DecimalType(precision=4, scale=2)
DECIMAL_20 = DecimalType(precision=20)
RETRACTABLE = {"sum", "product", "count", "collect", "merge_map", "nested_update", "last_value", "last_non_null_value"}


def adds(*values):
    return [("A", value) for value in values]


def takes(*values):
    return [("-", value) for value in values]


DOCUMENTED = [
    ("sum", INT, {}, [*adds(1, None, 5), *takes(2)], 4),
    ("sum", INT, {}, takes(2), -2),
    ("sum", INT, {}, adds(None, None), None),
    ("sum", INT, {}, adds(2**31 - 1, 1), -(2**31)),
    ("sum", TinyIntType(), {}, adds(127, 1), -128),
    ("sum", DECIMAL_4_2, {}, adds("9999", "100"), "10099"),
    ("sum", DECIMAL_20, {}, adds("99999999999999999999", "1"), None),
    ("sum", DECIMAL_20, {}, adds("99999999999999999999", "1", "5"), "5"),
    ("product", INT, {}, [*adds(6, None, 5), *takes(3)], 10),
    ("product", INT, {}, [*takes(3), *adds(2)], 2),
    ("product", DECIMAL_4_2, {}, adds("115", "115"), "132"),
    ("count", INT, {}, [*adds(10, None, 20, 30), *takes(30)], 2),
    ("count", BigIntType(), {}, [*adds(10, 20, 30), *takes(30)], 2),
    ("count", INT, {}, [*adds(1), *takes(1)], 0),
    ("count", INT, {"partial_counts": True}, [*adds(3, 1), *takes(1)], 3),
    ("max", INT, {}, adds(1, None, 5, 3), 5),
    ("min", INT, {}, adds(4, None, 2, 3), 2),
    ("max", INT, {"ignore_retract": True}, [*adds(5), *takes(5)], 5),
    ("last_value", INT, {}, adds(1, None), None),
    ("last_value", INT, {}, [*adds(1), *takes(1)], None),
    ("last_non_null_value", INT, {}, [*adds(1), *takes(7)], None),
    ("last_non_null_value", INT, {}, [*adds(1), *takes(None)], 1),
    ("first_value", INT, {}, adds(None, 2), None),
    ("first_value", INT, {}, [*adds(1, 2), ("R", 4)], 4),
    ("first_non_null_value", INT, {}, adds(None, 2, 3), 2),
    ("first_not_null_value", INT, {}, adds(None, 2, 3), 2),
    ("listagg", TEXT, {}, adds("a", None, "", "b", "a"), "a,b,a"),
    ("listagg", TEXT, {}, adds("", "b"), "b"),
    ("listagg", TEXT, {}, adds("", ""), ""),
    ("listagg", TEXT, {}, adds("a", " ", "b"), "a, ,b"),
    ("listagg", TEXT, {"distinct": True}, adds("a,b", "b,c"), "a,b,c"),
    ("listagg", TEXT, {"distinct": True}, adds("a,a", "b,a"), "a,a,b"),
    ("listagg", TEXT, {"delimiter": ";"}, adds("a", "b"), "a;b"),
    ("bool_and", BooleanType(), {}, adds(True, None, False), False),
    ("bool_and", BooleanType(), {}, adds(True, None), True),
    ("bool_or", BooleanType(), {}, adds(True, None, False), True),
    ("collect", ArrayType(INT), {}, [*adds([1, 2], None, [2, None]), *takes([2])], [1, 2, None]),
    ("collect", ArrayType(INT), {}, [*adds([1]), *takes([1])], []),
    ("collect", ArrayType(INT), {"distinct": True}, adds([1, 2, 2]), [1, 2]),
    ("collect", ArrayType(INT), {"distinct": True}, [*adds([1, 2], [2, 3]), *takes([2])], [1, 3]),
    ("collect", ArrayType(TEXT), {}, [*takes(["A"]), *adds(["A", "B"])], ["A", "B"]),
    (
        "merge_map",
        MapType(INT, TEXT),
        {},
        [*adds([[1, "a"], [2, "b"]], None, [[2, "c"]]), *takes([[1, "z"]])],
        [[2, "c"]],
    ),
    ("merge_map", MapType(INT, TEXT), {}, [*adds([[1, "A"]], [[1, "B"]]), *takes([[1, "B"]])], []),
    ("nested_update", TABLE, {}, adds([[1, "x"]], [[1, "x"], None]), [[1, "x"], [1, "x"]]),
    ("nested_update", TABLE, {"nested_key": ("a",)}, adds([[1, "x"]], [[1, "y"], [2, "z"]]), [[1, "y"], [2, "z"]]),
    ("nested_update", TABLE, {"count_limit": 2}, adds([[1, "x"]], [[2, "y"], [3, "z"]]), [[1, "x"], [2, "y"]]),
    ("nested_update", TABLE, {}, [*adds([[1, "x"], [2, "y"], [1, "x"]]), *takes([[1, "x"]])], [[2, "y"]]),
    ("nested_update", TABLE, {"nested_key": ("a",)}, [*adds([[1, "x"], [2, "y"]]), *takes([[1, "q"]])], [[2, "y"]]),
    (
        "nested_update",
        TABLE,
        {"nested_key": ("a",), "nested_sequence": ("b",)},
        adds([[1, "5"]], [[1, "3"]], [[2, "1"]], [[2, "4"]]),
        [[1, "5"], [2, "4"]],
    ),
    (
        "nested_update",
        TABLE,
        {"nested_key": ("a",), "nested_key_null_strategy": "ignore"},
        adds([[1, "x"], [None, "y"]], [[None, "z"]]),
        [[1, "x"]],
    ),
    (
        "nested_partial_update",
        TABLE,
        {"nested_key": ("a",)},
        adds([[1, "x"]], [[1, None], [2, None]]),
        [[1, "x"], [2, None]],
    ),
]


@pytest.mark.parametrize(("function", "t", "options", "group", "result"), DOCUMENTED)
def test_a_documented_result(function, t, options, group, result):
    (found,) = folded(spec_of(function, t, **options), [group])
    if "nested_key" in options:
        # Rows of a nested table with a key have no order of their own.
        found = sorted(found, key=str)
    assert found == result


def hexadecimal(text: str) -> str:
    return text.replace(" ", "")


BYTES_OF_SETS = [
    (
        "rbm32",
        [
            "3a300000 01000000 00000100 10000000 0100 0200",
            "3a300000 02000000 00000000 01000000 18000000 1a000000 0300 7011",
        ],
        "3a300000 02000000 00000200 01000000 18000000 1e000000 0100 0200 0300 7011",
    ),
    (
        "theta_sketch",
        [
            "02030300001acc93 03000000 0000803f 15f97dcbbd86a105 c397fc1281709d1e ba40b3c1da06695d",
            "02030300001acc93 02000000 0000803f 40de2ee1c9db3d08 ba40b3c1da06695d",
        ],
        "02030300001acc93 04000000 0000803f 15f97dcbbd86a105 40de2ee1c9db3d08 c397fc1281709d1e ba40b3c1da06695d",
    ),
    ("theta_sketch", ["01030300001e0000", "01030300001e0000"], "01030300001e0000"),
    ("theta_sketch", ["01030300001e0000", "01030300003acc93 15f97dcbbd86a105"], "01030300003acc93 15f97dcbbd86a105"),
    (
        "hll_sketch",
        ["0201070c 03080300 2bf2fb06 862ff90d 75816607", "0201070c 03080200 75816607 81bc5d06"],
        "0201070c 03080400 75816607 81bc5d06 2bf2fb06 862ff90d",
    ),
]


@pytest.mark.parametrize(("function", "operands", "union"), BYTES_OF_SETS)
def test_the_bytes_of_a_union_are_those_of_java(function, operands, union):
    import_library_of(function)
    group = adds(*map(hexadecimal, operands))
    assert folded(spec_of(function, BYTES), [group]) == [hexadecimal(union)]


def test_a_single_set_is_never_read():
    for function in ("rbm32", "rbm64", "theta_sketch", "hll_sketch"):
        assert folded(spec_of(function, BYTES), [adds("00ff", None), adds(None, None)]) == ["00ff", None]


@pytest.mark.parametrize("function", ["rbm32", "rbm64", "theta_sketch", "hll_sketch"])
def test_bytes_that_are_not_a_set_are_refused_with_the_column(function):
    import_library_of(function)
    with pytest.raises(InvalidData, match=f"column 'f': '{function}'"):
        folded(spec_of(function, BYTES), [adds("00ff", "0123456789abcdef")])


def test_a_missing_package_is_named_and_is_not_taken_for_damaged_bytes(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasketches", None)
    with pytest.raises(PackageMissing, match="'theta_sketch' needs the package datasketches"):
        folded(spec_of("theta_sketch", BYTES), [adds("01030300001e0000", "01030300001e0000")])


def test_a_union_of_theta_sketches_counts_what_both_have_once():
    datasketches = import_library_of("theta_sketch")
    one, two = datasketches.update_theta_sketch(), datasketches.update_theta_sketch()
    for value in range(1000):
        one.update(value)
        two.update(value + 500)
    (union,) = folded(spec_of("theta_sketch", BYTES), [adds(*(s.compact().serialize().hex() for s in (one, two)))])
    estimate = datasketches.compact_theta_sketch.deserialize(bytes.fromhex(union)).get_estimate()
    assert estimate == pytest.approx(1500)


def test_a_union_of_bitmaps_holds_the_values_of_both():
    (union,) = folded(spec_of("rbm32", BYTES), [adds(*(BitMap(v).serialize().hex() for v in ([1, 2], [3])))])
    assert list(BitMap.deserialize(bytes.fromhex(union))) == [1, 2, 3]


@pytest.mark.parametrize("function", sorted(set(FUNCTIONS) - RETRACTABLE))
def test_a_function_that_cannot_retract_names_the_column_and_the_way_out(function):
    t, options = ACCEPTED[function]
    group = [("-", None)]
    with pytest.raises(RetractNotSupported, match=rf"column 'f'.*'{function}'.*fields\.f\.ignore-retract"):
        folded(spec_of(function, t, **options), [group])
    assert folded(spec_of(function, t, ignore_retract=True, **options), [group]) == [None]


@pytest.mark.parametrize("function", sorted(RETRACTABLE))
def test_the_functions_that_retract_are_exactly_those_of_the_format(function):
    t, options = ACCEPTED[function]
    folded(spec_of(function, t, **options), [[("-", None)]])


ACCEPTED = {
    **dict.fromkeys(FUNCTIONS, (INT, {})),
    "listagg": (TEXT, {}),
    "bool_and": (BooleanType(), {}),
    "bool_or": (BooleanType(), {}),
    "collect": (ArrayType(INT), {}),
    "merge_map": (MapType(INT, INT), {}),
    "merge_map_with_keytime": (MapType(INT, row_type(INT, TEXT)), {}),
    "nested_update": (TABLE, {}),
    "nested_partial_update": (TABLE, {"nested_key": ("a",)}),
    **dict.fromkeys(("rbm32", "rbm64", "theta_sketch", "hll_sketch"), (BYTES, {})),
}

NUMBERS = {
    DecimalType(precision=10, scale=2): ("300", "500", "800", "1500"),
    TinyIntType(): (3, 5, 8, 15),
    SmallIntType(): (3, 5, 8, 15),
    INT: (3, 5, 8, 15),
    BigIntType(): (3, 5, 8, 15),
    FloatType(): ("40400000", "40a00000", "41000000", "41700000"),
    DoubleType(): ("4008000000000000", "4014000000000000", "4020000000000000", "402e000000000000"),
}


@pytest.mark.parametrize("t", NUMBERS, ids=str)
def test_sum_and_product_of_each_numeric_type_and_back(t):
    three, five, eight, fifteen = NUMBERS[t]
    assert folded(spec_of("sum", t), [adds(three, five), [*adds(eight), *takes(five)]]) == [eight, three]
    assert folded(spec_of("product", t), [adds(three, five), [*adds(fifteen), *takes(five)]]) == [fifteen, three]


ORDERED = {
    CharType(1): ("a", "b"),
    TEXT: ("a", "aa"),
    **{t: values[:2] for t, values in NUMBERS.items()},
    DateType(): (-1, 2),
    TimeType(3): (1, 86_399_999),
    TimestampType(9): (-1, 1),
    TimestampType(3): (-(10**6), 10**6),
    LocalZonedTimestampType(6): (0, 1000),
    BYTES: ("7f", "80"),
    DecimalType(precision=38): (str(-(10**37)), str(10**37)),
}


@pytest.mark.parametrize("t", ORDERED, ids=str)
def test_max_and_min_of_each_comparable_type(t):
    low, high = ORDERED[t]
    groups = [adds(low, high), adds(high, None, low), adds(None, low), adds(None)]
    assert folded(spec_of("max", t), groups) == [high, high, low, None]
    assert folded(spec_of("min", t), groups) == [low, low, low, None]


@pytest.mark.parametrize(
    ("t", "infinity", "nan", "zero"),
    [
        (FloatType(), "7f800000", "7fc00000", "00000000"),
        (DoubleType(), "7ff0000000000000", "7ff8000000000000", "0000000000000000"),
    ],
)
def test_nan_is_above_everything_and_minus_zero_below_zero(t, infinity, nan, zero):
    minus_zero = "8" + zero[1:]
    groups = [adds(infinity, nan, zero), adds(zero, minus_zero), adds(minus_zero, zero)]
    assert folded(spec_of("max", t), groups) == [nan, zero, zero]
    assert folded(spec_of("min", t), groups) == [zero, minus_zero, minus_zero]


def test_a_quotient_without_a_finite_form_is_an_error_as_in_the_reference():
    for t, ten, three in ((DecimalType(precision=10, scale=2), "1000", "300"), (INT, 10, 0)):
        with pytest.raises(InvalidData, match="column 'f': 'product'"):
            folded(spec_of("product", t), [[*adds(ten), *takes(three)]])


def test_a_null_in_a_nested_key_is_an_error_where_the_column_says_so():
    spec = spec_of("nested_update", TABLE, nested_key=("a",), nested_key_null_strategy="error")
    with pytest.raises(InvalidData, match=r"fields\.f\.nested-key-null-strategy"):
        folded(spec, [adds([[None, "x"]])])


def test_counts_of_counts_add_up_whatever_was_merged_before():
    spec = spec_of("count", BigIntType(), partial_counts=True)
    stored = initial_values(spec, column_of([70, None, 50, 70], BigIntType())).to_pylist()
    assert stored == [1, 0, 1, 1]
    whole = folded(spec, [adds(*stored)])
    parts = folded(spec, [adds(*stored[:3]), adds(*stored[3:])])
    assert folded(spec, [adds(*parts)]) == whole == [3]
    for other in (spec_of("count", INT), spec_of("sum", INT)):
        assert initial_values(other, column_of([7], INT)).to_pylist() == [7]
