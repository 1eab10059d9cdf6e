"""Rows sorted within bounded memory are the rows a plain sort gives."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.io.external_sort import MAX_FAN_IN, ExternalSort
from table_format.kernels.sort_keys import OrderStrategy, SortKey, SortKeySample, with_sort_key

SCHEMA = pa.schema(
    [("n", pa.int64()), ("s", pa.string()), ("x", pa.float64()), pa.field("i", pa.int32(), nullable=False)]
)
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.text(max_size=3),
        st.none() | st.floats(),
        st.integers(-5, 5),
    ),
    max_size=40,
)


def batches_of(rows: list[tuple[Any, ...]], size: int) -> list[pa.RecordBatch]:
    return [
        pa.RecordBatch.from_pylist(
            [dict(zip(SCHEMA.names, row, strict=True)) for row in rows[i : i + size]], schema=SCHEMA
        )
        for i in range(0, len(rows), size)
    ]


def looked_at(key: SortKey, batches: list[pa.RecordBatch]) -> SortKey:
    look = SortKeySample(key)
    for batch in batches if key.needs_spread else ():
        look.add(batch)
    return look.with_spread()


def sorted_rows(key: SortKey, batches: list[pa.RecordBatch], buffer_bytes: int) -> tuple[list[tuple[Any, ...]], int]:
    key = looked_at(key, batches)
    with ExternalSort(lambda batch: with_sort_key(batch, key), buffer_bytes=buffer_bytes) as rows:
        for batch in batches:
            rows.add(batch)
        found = list(rows.sorted())
        assert all(batch.schema.equals(SCHEMA) for batch in found)
        return [tuple(row.values()) for batch in found for row in batch.to_pylist()], rows.runs_written


def comparable(value: Any) -> Any:
    """Null first, NaN last, text by its bytes."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (2,) if math.isnan(value) else (1, value + 0.0)
    return (1, value.encode() if isinstance(value, str) else value)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(ROWS, st.permutations(SCHEMA.names), st.integers(1, 4), st.integers(1, 9), st.sampled_from([1, 500, 1 << 20]))
def test_order_is_that_of_a_plain_sort(
    rows: list[tuple[Any, ...]], names: list[str], count: int, size: int, buffer_bytes: int
) -> None:
    columns = tuple(names[:count])
    found, _ = sorted_rows(SortKey(OrderStrategy.ORDER, columns), batches_of(rows, size), buffer_bytes)
    assert sorted(map(repr, found)) == sorted(map(repr, rows))

    def key_of(row: tuple[Any, ...]) -> list[Any]:
        return [comparable(row[SCHEMA.names.index(name)]) for name in columns]

    assert [key_of(row) for row in found] == sorted(map(key_of, rows))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    ROWS,
    st.sampled_from([OrderStrategy.ZORDER, OrderStrategy.HILBERT]),
    st.permutations(SCHEMA.names),
    st.integers(1, 9),
    st.sampled_from([1, 500]),
)
def test_a_curve_gives_the_same_order_whatever_fits_in_memory(
    rows: list[tuple[Any, ...]], strategy: OrderStrategy, names: list[str], size: int, buffer_bytes: int
) -> None:
    key = SortKey(strategy, tuple(names[:2]), text_bytes=3)
    whole, runs = sorted_rows(key, batches_of(rows, 100), 1 << 20)
    assert runs == 0
    found, _ = sorted_rows(key, batches_of(rows, size), buffer_bytes)
    assert sorted(map(repr, found)) == sorted(map(repr, rows))
    assert [keys_of(key, whole)] == [keys_of(key, found)]


def keys_of(key: SortKey, rows: list[tuple[Any, ...]]) -> list[Any]:
    batches = batches_of(rows, 100)
    key = looked_at(key, batches)
    keyed = [with_sort_key(batch, key).to_pylist() for batch in batches]
    return [[v for n, v in row.items() if n.startswith("_SORT_")] for batch in keyed for row in batch]


def test_more_runs_than_are_merged_at_once_are_merged_in_groups(tmp_path: Path) -> None:
    key = SortKey(OrderStrategy.ORDER, ("n",))
    values = [(n * 79) % 280 for n in range(280)]
    with ExternalSort(lambda b: with_sort_key(b, key), buffer_bytes=1, directory=str(tmp_path)) as rows:
        for start in range(0, 280, 4):
            rows.add(pa.record_batch({"n": values[start : start + 4]}))
        assert rows.runs_written == 70
        assert len(list(tmp_path.iterdir())) == 1
        found = [n for batch in rows.sorted() for n in batch.column(0).to_pylist()]
        assert rows.runs_written == 70 + 70 // MAX_FAN_IN
    assert found == sorted(values)
    assert list(tmp_path.iterdir()) == []


def test_the_directory_goes_when_the_sort_is_not_finished(tmp_path: Path) -> None:
    key = SortKey(OrderStrategy.ORDER, ("n",))
    with ExternalSort(lambda b: with_sort_key(b, key), buffer_bytes=1, directory=str(tmp_path)) as rows:
        rows.add(pa.record_batch({"n": [2, 1]}))
        rows.add(pa.record_batch({"n": [3, 0]}))
        assert next(rows.sorted()).column(0).to_pylist()[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_sort_gives_nothing() -> None:
    assert sorted_rows(SortKey(OrderStrategy.ORDER, ("n",)), [], 10) == ([], 0)
