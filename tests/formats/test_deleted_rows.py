"""Leaving out deleted rows for any boundaries of batches, row groups and positions."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.codecs.deletion_vector import DeletionVector
from table_format.errors import BadEncoding
from table_format.formats.deleted_rows import without_deleted
from table_format.formats.nested import empty_columns


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    groups=st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=6),
    sizes=st.lists(st.integers(0, 9), max_size=12),
    marked=st.sets(st.integers(0, 80)),
    is_wide=st.booleans(),
)
def test_rows_keep_their_positions_for_any_batch_boundaries(
    groups: list[tuple[int, bool]], sizes: list[int], marked: set[int], is_wide: bool
) -> None:
    kept, start = [], 0
    for rows, is_kept in groups:
        if is_kept:
            kept.append(range(start, start + rows))
        start += rows
    positions = [p for group in kept for p in group]
    batches, begin = [], 0
    for size in [*sizes, len(positions)]:
        batches.append(pa.record_batch({"p": pa.array(positions[begin : begin + size], pa.int64())}))
        begin += size
    vector = DeletionVector.of(marked, is_wide=is_wide)
    found = list(without_deleted(batches, vector, kept))
    expected = [p for p in positions if p not in marked]
    assert [p for batch in found for p in batch.column("p").to_pylist()] == expected
    bare = [empty_columns(batch.num_rows) for batch in batches]
    assert sum(batch.num_rows for batch in without_deleted(bare, vector, kept)) == len(expected)


def test_more_rows_than_positions_are_damage() -> None:
    batches = [pa.record_batch({"p": [1, 2, 3]})]
    with pytest.raises(BadEncoding, match="data-0: 1 row more than the stated number of rows in its row groups"):
        list(without_deleted(batches, DeletionVector.of([0]), [range(2)], path="data-0"))
