"""Indexes evaluate conditions to the rows of a full scan, for each type of index and column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.conditions import SoughtValues, condition_of
from table_format.kernels.file_index.empty import EmptyIndex
from table_format.kernels.file_index.keys import keys_of, value_of_key
from table_format.kernels.file_index.payload import Payload
from table_format.kernels.file_index.results import SKIP, UNKNOWN, Rows, Skip, Unknown
from table_format.kernels.values import array_of
from table_format.model.arrow_types import arrow_schema
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Like, Literal, Not, Or
from table_format.model.types import (
    BigIntType,
    DataField,
    DataType,
    DoubleType,
    IntType,
    LocalZonedTimestampType,
    TimestampType,
    VarCharType,
)
from table_format.options.index_types import DECLARED_INDEXES
from tests.kernels.file_index.columns import (
    MORE_TYPES,
    ROW_INDEXES,
    Indexed,
    built,
    indexed_column,
    indexed_columns,
    leaves,
    reader_of,
)
from tests.support.matrix import tries

LONG = settings(max_examples=tries(30, many=100), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("index", ROW_INDEXES)
@LONG
@given(data=st.data())
def test_each_condition_selects_the_rows_of_a_full_scan(index: str, data: st.DataObject) -> None:
    data_type, column, payload = data.draw(indexed_column(index))
    field = DataField(0, "a", data_type)
    batch = pa.RecordBatch.from_arrays([column], schema=arrow_schema([field]))
    indexed = Indexed((field,), batch, {"a": (reader_of(index, data_type, payload, len(column)),)})
    for predicate in data.draw(st.lists(leaves("a", data_type, column), min_size=1, max_size=6)):
        expected = indexed.matching_rows(predicate)
        match indexed.evaluate(predicate):
            case Skip():
                assert expected == set()
            case Rows(positions, is_exact):
                assert positions
                assert set(positions) >= expected
                assert set(positions) == expected or not is_exact
                assert is_exact or data_type.with_nullable(True) in MORE_TYPES
            case Unknown():
                assert data_type.with_nullable(True) in MORE_TYPES


@LONG
@given(indexed_columns())
def test_conditions_on_two_columns_with_several_indexes_are_combined(case: tuple[Indexed, And]) -> None:
    indexed, predicate = case
    expected = indexed.matching_rows(predicate)
    match indexed.evaluate(predicate):
        case Skip():
            assert expected == set()
        case Rows(positions, is_exact):
            assert set(positions) >= expected
            assert set(positions) == expected or not is_exact


@pytest.mark.parametrize("index", ROW_INDEXES)
@LONG
@given(data=st.data())
def test_no_value_of_a_column_is_reported_as_absent(index: str, data: st.DataObject) -> None:
    data_type, column, payload = data.draw(indexed_column(index))
    reader = reader_of(index, data_type, payload, len(column))
    present = column.drop_null()
    assert reader.may_equal(SoughtValues(data_type, present)).all()


@pytest.mark.parametrize("index", ROW_INDEXES)
def test_of_a_million_values_none_is_missed(index: str) -> None:
    count = 1_000_000
    numbers = np.random.default_rng(4).integers(-(10**12), 10**12, count)
    numbers[::3] = numbers[0:30:3].repeat(count)[: len(numbers[::3])] if index == "bitmap" else numbers[::3]
    column = pa.array(numbers)
    reader = reader_of(index, BigIntType(), built(index, BigIntType(), column), count)
    assert reader.may_equal(SoughtValues(BigIntType(), column.slice(0, 3000))).all()
    for value in numbers[:: count // 12].tolist():
        for op, expected in (
            (CompareOp.EQ, numbers == value),
            (CompareOp.LT, numbers < value),
            (CompareOp.GE, numbers >= value),
        ):
            condition = condition_of(Compare("a", op, value), BigIntType())
            assert condition is not None
            answer = reader.evaluate(condition)
            if isinstance(answer, Unknown):
                assert index == "bitmap"
                continue
            found = BitMap() if isinstance(answer, Skip) else answer.positions
            assert np.array_equal(np.array(found.to_array()), np.flatnonzero(expected))


def test_timestamps_finer_than_their_keys_are_found_in_a_superset() -> None:
    column = pa.array([1_000_001, 1_000_002, 5_000_000, None], pa.timestamp("ns"))
    reader = reader_of("bitmap", TimestampType(9), built("bitmap", TimestampType(9), column), 4)

    def answer(op: CompareOp, nanos: int) -> object:
        condition = condition_of(Compare("t", op, nanos), TimestampType(9))
        return UNKNOWN if condition is None else reader.evaluate(condition)

    assert answer(CompareOp.EQ, 1_000_002) == Rows(BitMap([0, 1]), is_exact=False)
    assert answer(CompareOp.GT, 1_000_001) == Rows(BitMap([0, 1, 2]), is_exact=False)
    assert answer(CompareOp.LT, 1_000_000) == Rows(BitMap([0, 1]), is_exact=False)
    assert answer(CompareOp.EQ, 2_000_000) == SKIP
    assert answer(CompareOp.NE, 1_000_002) == UNKNOWN


def test_conditions_that_no_index_can_evaluate() -> None:
    for leaf in (
        Like("a", "x%"),
        Not(Like("a", "x%")),
        Compare("a", CompareOp.STARTS_WITH, "x"),
        In("a", tuple(map(str, range(1001)))),
        Compare("a", CompareOp.EQ, 5),
    ):
        assert condition_of(leaf, VarCharType()) is None
    assert condition_of(Compare("a", CompareOp.EQ, "5"), IntType()) is None
    assert condition_of(Compare("a", CompareOp.EQ, 2.5), IntType()) is None


def test_constants_select_all_rows_or_none() -> None:
    indexed = Indexed((), pa.record_batch([], schema=pa.schema([])), {})
    assert indexed.evaluate(Literal(True)) == UNKNOWN
    assert indexed.evaluate(Literal(False)) == SKIP
    assert indexed.evaluate(Literal(None)) == SKIP
    assert indexed.evaluate(Or(())) == SKIP
    assert indexed.evaluate(And(())) == UNKNOWN


def test_an_empty_index_means_that_all_values_are_null() -> None:
    for leaf, expected in (
        (Compare("a", CompareOp.EQ, 1), SKIP),
        (Compare("a", CompareOp.NE, 1), SKIP),
        (Not(In("a", (1,))), SKIP),
        (Not(IsNull("a")), SKIP),
        (IsNull("a"), UNKNOWN),
    ):
        condition = condition_of(leaf, IntType())
        assert condition is not None
        assert EmptyIndex().evaluate(condition) == expected
    assert not EmptyIndex().may_equal(SoughtValues(IntType(), pa.array([1], pa.int32()))).any()


def test_dates_that_orc_files_shift_are_not_used_as_bounds() -> None:
    old, new = -13 * 10**18, 10**18
    for data_type in (TimestampType(3), LocalZonedTimestampType(6)):
        for leaf, is_kept in (
            (Compare("a", CompareOp.GT, new), True),
            (Compare("a", CompareOp.GT, old), False),
            (In("a", (new, old)), False),
            (IsNull("a"), True),
        ):
            condition = condition_of(leaf, data_type)
            assert condition is not None
            assert condition.is_kept_by_orc == is_kept


def test_every_index_type_is_declared_and_every_declared_one_exists() -> None:
    assert {name: each.declaration for name, each in INDEX_TYPES.items()} == dict(DECLARED_INDEXES)


@pytest.mark.parametrize("index", ROW_INDEXES)
def test_an_index_of_a_later_version_is_ignored(index: str) -> None:
    payload = bytearray(built(index, DoubleType() if index != "bsi" else IntType(), _numbers(index)))
    at = 4 if index == "range-bitmap" else 0
    assert payload[at] in (1, 2)
    payload[at] = 3
    data_type = DoubleType() if index != "bsi" else IntType()
    assert INDEX_TYPES[index].reader(Payload.of(bytes(payload), path="f"), data_type, 2) is None


def _numbers(index: str) -> pa.Array:
    return pa.array([1, 2], pa.int32() if index == "bsi" else pa.float64())


@LONG
@given(indexed_column("range-bitmap"))
def test_keys_stand_for_the_values_they_are_made_of(case: tuple[DataType, pa.Array, bytes]) -> None:
    data_type, column, _ = case
    keys = keys_of(column, data_type).to_pylist()
    made = array_of([None if key is None else value_of_key(key, data_type) for key in keys], data_type)
    assert repr(made.to_pylist()) == repr(column.to_pylist())
