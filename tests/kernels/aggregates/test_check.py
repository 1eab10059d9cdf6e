"""Refusals when a table is created: unknown functions, unsupported types, contradicting options."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.kernels.aggregates import NestedKeyNullStrategy, check_aggregate
from table_format.kernels.aggregates.functions import FUNCTIONS
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from tests.kernels.aggregates.columns import folded, row_type, spec_of

NUMERIC = {TinyIntType(), SmallIntType(), IntType(), BigIntType(), FloatType(), DoubleType(), DecimalType()}
SCALAR = NUMERIC | {
    BooleanType(),
    CharType(3),
    VarCharType(10),
    VarCharType(),
    BinaryType(3),
    VarBinaryType(),
    DateType(),
    TimeType(),
    TimestampType(),
    LocalZonedTimestampType(),
}
TABLE = ArrayType(row_type(IntType(), VarCharType()))
TIMED = MapType(IntType(), row_type(IntType(), VarCharType()))
ARRAYS = {ArrayType(IntType()), TABLE}
MAPS = {MapType(IntType(), IntType()), TIMED}
TYPES = SCALAR | ARRAYS | MAPS | {MultisetType(IntType()), row_type(IntType())}
SETS = {VarBinaryType()}

TAKES = {
    "sum": NUMERIC,
    "product": NUMERIC,
    "count": {IntType(), BigIntType()},
    # Releases of the reference create such tables of BOOLEAN, and cannot merge their rows.
    "max": SCALAR - {BooleanType()},
    "min": SCALAR - {BooleanType()},
    "last_value": TYPES,
    "last_non_null_value": TYPES,
    "first_value": TYPES,
    "first_non_null_value": TYPES,
    "first_not_null_value": TYPES,
    "listagg": {VarCharType()},
    "bool_and": {BooleanType()},
    "bool_or": {BooleanType()},
    "collect": ARRAYS,
    "merge_map": MAPS,
    "merge_map_with_keytime": {TIMED},
    "nested_update": {TABLE},
    "nested_partial_update": {TABLE},
    "rbm32": SETS,
    "rbm64": SETS,
    "theta_sketch": SETS,
    "hll_sketch": SETS,
}


@pytest.mark.parametrize("function", TAKES)
def test_a_function_accepts_only_its_types(function):
    options = {"nested_key": ("a",)} if function == "nested_partial_update" else {}
    for t in TYPES:
        spec = spec_of(function, t, **options)
        if t in TAKES[function]:
            check_aggregate(spec)
        else:
            with pytest.raises(InvalidOption, match=rf"'fields\.f\.aggregate-function': '{function}' takes"):
                check_aggregate(spec)


def test_the_table_of_types_has_every_function():
    assert set(TAKES) == set(FUNCTIONS)


def test_the_error_for_an_unknown_function_lists_the_known_ones():
    with pytest.raises(InvalidOption, match=r"'avg'; known are sum, product, count, max, .* hll_sketch") as error:
        check_aggregate(spec_of("avg", IntType()))
    assert error.value.key == "fields.f.aggregate-function"


@pytest.mark.parametrize(
    ("function", "t", "options", "key"),
    [
        ("nested_partial_update", TABLE, {}, "fields.f.aggregate-function"),
        ("nested_update", TABLE, {"nested_sequence": ("b",)}, "fields.f.nested-sequence-field"),
        (
            "nested_update",
            TABLE,
            {"nested_key_null_strategy": NestedKeyNullStrategy.IGNORE},
            "fields.f.nested-key-null-strategy",
        ),
        ("nested_update", TABLE, {"nested_key": ("z",)}, "fields.f.nested-key"),
        ("nested_update", TABLE, {"nested_key": ("a",), "nested_sequence": ("z",)}, "fields.f.nested-sequence-field"),
        ("merge_map_with_keytime", TIMED, {"timestamp_field": "z"}, "fields.f.ts-field"),
        ("merge_map_with_keytime", TIMED, {"timestamp_field": "a"}, "fields.f.ts-field"),
        ("merge_map_with_keytime", MapType(IntType(), row_type(VarCharType(), IntType())), {}, "fields.f.ts-field"),
    ],
)
def test_an_option_that_does_not_fit_is_named(function, t, options, key):
    with pytest.raises(InvalidOption) as error:
        check_aggregate(spec_of(function, t, **options))
    assert error.value.key == key


def test_times_of_another_type_in_an_old_table_are_named_when_two_are_compared():
    t = MapType(IntType(), row_type(VarCharType(), IntType()))
    spec = spec_of("merge_map_with_keytime", t)
    alone = [[1, ["x", 7]]]
    assert folded(spec, [[("A", alone)]]) == [alone]
    with pytest.raises(UnsupportedFeature, match="merge_map_with_keytime with times that are not texts"):
        folded(spec, [[("A", alone), ("A", alone)]])


def test_a_listagg_of_an_old_table_may_have_a_length():
    spec = spec_of("listagg", VarCharType(50))
    assert folded(spec, [[("A", "a"), ("A", "b")]]) == ["a,b"]
    with pytest.raises(InvalidOption, match="STRING"):
        check_aggregate(spec)
