"""Merging sorted runs, compared with a row-by-row model, with compiled and with numpy kernels."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format.errors import InvalidData
from table_format.kernels.compiled import Backend, compiled
from table_format.kernels.merge import MergeSpec, grouped, merge_batches, winners
from tests.kernels.merge_model import Row, as_run, merged_groups, merged_rows

BACKENDS = [Backend.NUMPY, Backend.COMPILED]
EPOCH = datetime(1970, 1, 1)

quick = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

short_text = st.text(alphabet="ab\x00é\ud7ff\uffff😀", max_size=4)
long_text = st.builds(lambda a, n, b: a + "m" * n + b, short_text, st.sampled_from([0, 7, 8, 9, 80]), short_text)

KEY_TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "tinyint": (pa.int8(), st.integers(-128, 127)),
    "smallint": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "int": (pa.int32(), st.integers(-5, 5) | st.integers(-(2**31), 2**31 - 1)),
    "bigint": (pa.int64(), st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1)),
    "boolean": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.dates(date(1900, 1, 1), date(2100, 1, 1))),
    "time": (pa.time32("ms"), st.integers(0, 86_399).map(lambda s: time(s // 3600, s // 60 % 60, s % 60))),
    "timestamp(3)": (pa.timestamp("ms"), st.integers(-9, 9).map(lambda n: EPOCH + timedelta(milliseconds=n))),
    "timestamp(6)": (pa.timestamp("us"), st.integers(-9, 9).map(lambda n: EPOCH + timedelta(microseconds=n))),
    "decimal(9,2)": (pa.decimal128(9, 2), st.integers(-300, 300).map(lambda n: Decimal(n).scaleb(-2))),
    "decimal(38,0)": (
        pa.decimal128(38, 0),
        st.sampled_from([-1, 0, 1, -(2**64), 2**64, 2**100, 1 - 2**100]).map(Decimal),
    ),
    "float": (pa.float32(), st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.0])),
    "double": (pa.float64(), st.floats() | st.sampled_from([0.0, -0.0, 1.0])),
    "string": (pa.string(), short_text | long_text),
    "binary": (pa.binary(), st.binary(max_size=3) | long_text.map(str.encode)),
}


@cache  # building a strategy takes longer than drawing from it
def runs_of(first: str, second: str) -> st.SearchStrategy[list[list[Row]]]:
    row = st.fixed_dictionaries(
        {
            "k": KEY_TYPES[first][1],
            "l": KEY_TYPES[second][1],
            "u": st.none() | st.integers(-2, 2),
            "t": st.none() | st.sampled_from(["", "a", "b"]),
            "_SEQUENCE_NUMBER": st.integers(0, 4),
            "_VALUE_KIND": st.integers(0, 3),
        },
    )
    return st.lists(st.lists(row, max_size=6), min_size=1, max_size=4)


def schema_of(key: pa.DataType, second: pa.DataType) -> pa.schema:
    return pa.schema(
        [
            ("k", key),
            ("l", second),
            ("u", pa.int32()),
            ("t", pa.string()),
            ("_SEQUENCE_NUMBER", pa.int64()),
            ("_VALUE_KIND", pa.int8()),
        ],
    )


specs = st.builds(
    MergeSpec,
    key_columns=st.sampled_from([("k",), ("k", "l"), ("l", "k")]),
    sequence_columns=st.sampled_from([(), ("u",), ("t", "u")]),
    sequence_descending=st.booleans(),
    by_sequence_number=st.booleans(),
    ignore_delete=st.booleans(),
)


def shown(rows: list[Row]) -> list[str]:
    # repr tells NaN from NaN no more than -0.0 from 0.0 is wanted; the versions are told apart by all columns.
    return [repr(row) for row in rows]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("first", KEY_TYPES)
@settings(quick, max_examples=20)
@given(data=st.data())
def test_the_newest_version_of_each_key_wins_for_every_key_type(first, backend, data):
    spec = data.draw(specs)
    second = data.draw(st.sampled_from(["int", "string"]))
    schema = schema_of(KEY_TYPES[first][0], KEY_TYPES[second][0])
    drawn = data.draw(runs_of(first, second))
    runs = [as_run(rows, schema, spec) for rows in drawn]
    as_rows = [run.to_pylist() for run in runs]
    whole = pa.Table.from_batches(runs).combine_chunks()

    chosen = winners(runs, spec, backend=backend)
    assert shown(whole.take(pa.array(chosen)).to_pylist()) == shown(merged_rows(as_rows, spec))

    order, starts = grouped(runs, spec, backend=backend)
    in_groups = [g.tolist() for g in np.split(order, starts[1:])] if order.size else []
    versions = whole.to_pylist()
    assert [shown([versions[i] for i in group]) for group in in_groups] == [
        shown(group) for group in merged_groups(as_rows, spec)
    ]


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("first", ["int", "double", "decimal(38,0)", "string"])
@settings(quick, max_examples=20)
@given(data=st.data())
def test_merging_batch_by_batch_gives_what_merging_at_once_gives(first, backend, ordered, data):
    spec = data.draw(specs)
    schema = schema_of(KEY_TYPES[first][0], pa.int32())
    runs = [as_run(rows, schema, spec) for rows in data.draw(runs_of(first, "int"))]
    whole = pa.Table.from_batches(runs).combine_chunks()
    expected = whole.take(pa.array(winners(runs, spec))).to_pylist()
    widths = [data.draw(st.integers(1, 4)) for _ in runs]
    batches = [
        iter([run.slice(at, width) for at in range(0, run.num_rows + 1, width)])  # ends with an empty batch at times
        for run, width in zip(runs, widths, strict=True)
    ]
    merged = list(merge_batches(batches, spec, ordered=ordered, backend=backend))
    assert all(batch.num_rows for batch in merged)
    rows = [row for batch in merged for row in batch.to_pylist()]
    if ordered:
        assert shown(rows) == shown(expected)
    else:
        assert sorted(shown(rows)) == sorted(shown(expected))


@pytest.mark.parametrize("backend", BACKENDS)
def test_large_composite_keys_are_merged_in_ranges_like_small_ones(backend):
    rng = np.random.default_rng(7)
    runs = []
    for age in range(3):
        ids = np.sort(rng.choice(400_000, 100_000 if age else 5, replace=False))
        names = [f"customer-{i // 100:09d}" + "\0" * (i // 100 % 2) for i in ids.tolist()]
        runs.append(
            pa.record_batch({"k": names, "l": (ids % 100).astype(np.int32), "id": ids, "age": [age] * len(ids)})
        )
    spec = MergeSpec(("k", "l"), by_sequence_number=False)
    merged = pa.Table.from_batches(runs).take(pa.array(winners(runs, spec, backend=backend)))
    newest = {i: age for age, run in enumerate(runs) for i in run["id"].to_pylist()}
    assert merged["id"].to_pylist() == sorted(newest)
    assert merged["age"].to_pylist() == [newest[i] for i in sorted(newest)]
    order, starts = grouped(runs, spec, backend=backend)
    assert sorted(order.tolist()) == list(range(200_005))
    assert len(starts) == len(newest)


@pytest.mark.parametrize("backend", BACKENDS)
def test_hundred_runs_of_very_different_size_merge_in_bounded_steps(backend):
    def run(age: int):
        step = 1 if age == 0 else 97 + age
        for first in range(0, 20_000, 500):
            keys = np.arange(first, first + 500, step if step == 1 else 500, dtype=np.int64) + (age % 7 if age else 0)
            yield pa.record_batch({"k": keys, "age": np.full(keys.size, age)})
            yield pa.record_batch({"k": keys[:0], "age": np.full(0, age)})

    merged = list(merge_batches([run(age) for age in range(100)], MergeSpec(("k",), by_sequence_number=False)))
    table = pa.Table.from_batches(merged)
    keys = table["k"].to_numpy()
    assert (np.diff(keys) == 1).all()
    assert keys.size == 20_000
    newest = {age % 7: age for age in range(1, 100)}
    assert table["age"].to_numpy()[:500].tolist() == [newest.get(i, 0) for i in range(500)]
    assert max(batch.num_rows for batch in merged) < 5_000


def test_rows_that_only_one_run_has_are_passed_on_without_a_copy():
    old = pa.record_batch({"k": pa.array([1, 2, 3]), "v": pa.array([10, 20, 30])})
    new = pa.record_batch({"k": pa.array([7, 8]), "v": pa.array([70, 80])})
    merged = list(merge_batches([iter([old]), iter([new])], MergeSpec(("k",), by_sequence_number=False)))
    assert [batch["v"].buffers()[1].address for batch in merged] == [
        old["v"].buffers()[1].address,
        new["v"].buffers()[1].address,
    ]


def test_a_run_is_read_no_further_than_the_step_needs():
    read: list[int] = []

    def run():
        for first in range(0, 100, 10):
            read.append(first)
            yield pa.record_batch({"k": list(range(first, first + 10))})

    other = iter([pa.record_batch({"k": [5, 25]})])
    merged = merge_batches([run(), other], MergeSpec(("k",), by_sequence_number=False))
    next(merged)
    assert read == [0, 10]


@pytest.mark.parametrize(
    ("kinds", "ignore_delete", "kept"),
    [
        ([[0], [3]], False, [3]),
        ([[0], [3]], True, [0]),
        ([[3]], True, [3]),
        ([[], [1]], True, [1]),
        ([[3], [1]], True, []),
        ([[1], [2], [3]], True, [2]),
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_ignored_retracts_give_way_to_adds_unless_they_are_alone(backend, kinds, ignore_delete, kept):
    runs = [
        pa.record_batch({"k": pa.array([1] * len(k), pa.int64()), "_VALUE_KIND": pa.array(k, pa.int8())}) for k in kinds
    ]
    spec = MergeSpec(("k",), by_sequence_number=False, ignore_delete=ignore_delete)
    table = pa.Table.from_batches(runs)
    assert table.take(pa.array(winners(runs, spec, backend=backend)))["_VALUE_KIND"].to_pylist() == kept
    streamed = merge_batches([iter([run]) for run in runs], spec, backend=backend)
    assert [kind for batch in streamed for kind in batch["_VALUE_KIND"].to_pylist()] == kept


def test_a_merge_of_nothing_is_empty():
    spec = MergeSpec(("k",), by_sequence_number=False)
    empty = pa.record_batch({"k": pa.array([], pa.int64())})
    assert winners([], spec).tolist() == []
    assert winners([empty, empty], spec).tolist() == []
    assert [part.tolist() for part in grouped([empty], spec)] == [[], []]
    assert list(merge_batches([], spec)) == []
    assert list(merge_batches([iter([]), iter([empty])], spec)) == []


@pytest.mark.parametrize(
    ("batch", "spec", "told"),
    [
        ({"x": [1]}, MergeSpec(("k",), by_sequence_number=False), "key column 'k' is missing"),
        ({"k": [None, 1]}, MergeSpec(("k",), by_sequence_number=False), "key column 'k' holds 1 null;"),
        ({"k": [[1]]}, MergeSpec(("k",), by_sequence_number=False), "cannot be a"),
        ({"k": [1]}, MergeSpec(("k",)), "column '_SEQUENCE_NUMBER' is needed"),
        ({"k": [1]}, MergeSpec(("k",), ("u",), by_sequence_number=False), "column 'u' is needed"),
    ],
)
def test_columns_that_do_not_fit_are_named(batch, spec, told):
    runs = [pa.record_batch(batch), pa.record_batch(batch)]
    with pytest.raises(InvalidData, match=told):
        winners(runs, spec)
    with pytest.raises(InvalidData, match=told):
        list(merge_batches([iter([run]) for run in runs], spec))


def test_numba_is_usable_here():
    assert compiled() is not None


def test_a_value_kind_column_that_was_left_out_means_adds_only():
    runs = [pa.record_batch({"k": [1, 2], "v": ["a", "b"]}), pa.record_batch({"k": [2], "v": ["c"]})]
    spec = MergeSpec(("k",), by_sequence_number=False, ignore_delete=True)
    assert winners(runs, spec).tolist() == [0, 2]
