"""Sorting a write buffer, compared with the row-by-row model, and sorting by any columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.errors import InvalidData
from table_format.kernels.merge import MergeSpec
from table_format.kernels.sort import sort_and_merge, sort_order
from tests.kernels.merge_model import merged_rows
from tests.kernels.test_merge import KEY_TYPES, runs_of, schema_of, shown, specs


@pytest.mark.parametrize("first", KEY_TYPES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_buffer_keeps_one_row_for_each_key_in_key_order(first, data):
    spec = data.draw(specs)
    schema = schema_of(KEY_TYPES[first][0], KEY_TYPES["string"][0])
    drawn = [row for run in data.draw(runs_of(first, "string")) for row in run]
    batch = pa.RecordBatch.from_pylist(drawn, schema=schema)
    # Arrival is the age: each row is a run of its own.
    expected = merged_rows([[row] for row in batch.to_pylist()], spec)
    assert shown(sort_and_merge(batch, spec).to_pylist()) == shown(expected)
    pieces = pa.Table.from_batches([batch.slice(0, 2), batch.slice(2)], schema=schema)
    assert shown(sort_and_merge(pieces, spec).to_pylist()) == shown(expected)


@pytest.mark.parametrize("low", [0, -(2**62)])
def test_keys_that_leave_no_room_for_row_ids_sort_alike(low):
    rng = np.random.default_rng(3)
    keys = rng.integers(low, low + 100 if low == 0 else 2**62, 5000)
    keys[2500:] = keys[:2500]
    batch = pa.record_batch({"k": keys, "arrival": np.arange(5000)})
    merged = sort_and_merge(batch, MergeSpec(("k",), by_sequence_number=False))
    newest = {key: arrival for arrival, key in enumerate(keys.tolist())}
    assert merged["k"].to_pylist() == sorted(newest)
    assert merged["arrival"].to_pylist() == [newest[key] for key in sorted(newest)]


@pytest.mark.parametrize(("descending", "expected"), [(False, [1, 3, 2, 4, 0]), (True, [1, 3, 0, 2, 4])])
def test_nulls_come_first_in_both_directions_and_equal_rows_keep_their_order(descending, expected):
    batch = pa.record_batch({"a": pa.array(["b", None, "a", None, "a"])})
    assert sort_order(batch, ["a"], descending=descending).tolist() == expected


def test_sorting_by_several_columns_compares_them_in_turn():
    batch = pa.record_batch({"a": [2, 1, 2, 1], "b": ["x", "y" * 100, "w", "x"]})
    assert sort_order(batch, ["a", "b"]).tolist() == [3, 1, 2, 0]


def test_an_empty_buffer_stays_empty():
    empty = pa.table({"k": pa.array([], pa.int64())})
    assert sort_and_merge(empty, MergeSpec(("k",), by_sequence_number=False)).num_rows == 0
    assert sort_order(empty, ["k"]).tolist() == []


def test_a_null_key_is_refused():
    with pytest.raises(InvalidData, match="holds 1 null;"):
        sort_and_merge(pa.record_batch({"k": [None, 1]}), MergeSpec(("k",), by_sequence_number=False))
