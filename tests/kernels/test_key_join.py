"""Keys found in an index of rows, compared with a plain dictionary."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.kernels.key_join import NOT_FOUND, JoinIndex
from table_format.model.types import BigIntType, VarCharType

TYPES = (BigIntType(), VarCharType())
ROWS = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 3)), st.one_of(st.none(), st.sampled_from(["", "a", "a" * 20]))),
    max_size=30,
)


def columns(rows: list[tuple[Any, ...]]) -> list[pa.Array]:
    return [pa.array([row[0] for row in rows], pa.int64()), pa.array([row[1] for row in rows], pa.string())]


@settings(max_examples=60, deadline=None)
@given(ROWS, ROWS)
def test_a_row_finds_the_key_it_has(source: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> None:
    index = JoinIndex.of(TYPES, columns(source))
    whole = [row for row in source if None not in row]
    assert len(index.first_rows) == len(set(whole))
    for row, key in zip(others, index.find(columns(others)).tolist(), strict=True):
        if row not in whole:
            assert key == NOT_FOUND
        else:
            assert index.first_rows[key] == source.index(row)
            assert index.counts[key] == source.count(row)


def test_keys_with_equal_hashes_are_distinguished() -> None:
    texts = [f"key {number}" for number in range(200_000)]
    index = JoinIndex.of([VarCharType()], [pa.array(texts[:150_000])])
    assert len(set(index.hashes.tolist())) < 150_000
    found = index.find([pa.array(texts[50_000:])])
    assert index.first_rows[found[:100_000]].tolist() == list(range(50_000, 150_000))
    assert (found[100_000:] == NOT_FOUND).all()
