"""Sets of rows are stored as the library of Roaring bitmaps stores them, one by one or many together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.errors import BadEncoding
from table_format.kernels.file_index.payload import Payload
from table_format.kernels.file_index.row_bitmaps import RowSets, stored_length, stored_mask, stored_rows


def shapes(rows: int = 300_000) -> list[np.ndarray]:
    """Sets of few rows, of runs, of dense and of sparse rows, and of all of these in one."""
    chance = np.random.default_rng(11)
    dense = np.flatnonzero(chance.random(rows) < 0.4)
    sparse = np.flatnonzero(chance.random(rows) < 0.01)
    run = np.arange(60_000, 140_000)
    every_second = np.arange(0, 8192, 2)
    beyond = np.arange(0, 8194, 2)
    mixed = np.unique(np.concatenate([dense[dense < 65_536], run[run >= 131_072], sparse[sparse > 200_000]]))
    # Runs are counted in the first quarter of 65,536 rows, and in all of them where that does not tell.
    late = np.concatenate([np.arange(0, 16_384), dense[(dense >= 16_384) & (dense < 65_536)]])
    early = np.concatenate([np.arange(0, 4096, 2), np.arange(20_000, 60_000)])
    many_short = np.flatnonzero(np.arange(65_536) % 32 < 24)
    others = [late, early, early[2:], many_short, np.delete(many_short, 40)]
    ends = np.array([0, 65_535, 65_536])
    return [np.array([70_000]), dense, sparse, run, every_second, beyond, mixed, *others, ends]


def test_sets_that_are_stored_together_have_the_bytes_of_each_alone() -> None:
    sets = shapes()
    together = RowSets(np.concatenate(sets), np.cumsum([len(rows) for rows in sets]))
    assert [together.stored(n) for n in range(len(sets))] == [stored_rows(rows) for rows in sets]


@given(st.lists(st.sets(st.integers(0, 200_000), min_size=1, max_size=30), max_size=8))
def test_any_sets_that_are_stored_together_have_the_bytes_of_each_alone(sets: list[set[int]]) -> None:
    arrays = [np.array(sorted(rows), np.int64) for rows in sets]
    rows = np.concatenate([np.empty(0, np.int64), *arrays])
    together = RowSets(rows, np.cumsum([len(array) for array in arrays], dtype=np.int64))
    assert [together.stored(n) for n in range(len(sets))] == [stored_rows(array) for array in arrays]


def test_a_mask_has_the_bytes_of_its_rows_and_any_number_but_0_counts() -> None:
    for rows in shapes():
        mask = np.zeros(300_000, np.uint8)
        mask[rows] = 64
        assert stored_mask(mask) == stored_mask(mask.astype(np.bool_)) == stored_rows(rows)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 4096, 4097, 65_535, 65_536, 65_537, 65_539, 65_540, 200_000])
def test_a_mask_of_all_rows_has_their_bytes(count: int) -> None:
    assert stored_mask(np.ones(count, np.bool_)) == stored_rows(np.arange(count))


def test_the_length_of_a_stored_set_is_read_from_its_head() -> None:
    for rows in [*shapes(), np.arange(0, 65_536 * 20, 65_536)]:
        data = stored_rows(rows)
        payload = Payload.of(b"ab" + data + b"more", path="f")
        assert stored_length(b"ab" + data + b"more", 2, payload) == len(data)
        with pytest.raises(BadEncoding):
            stored_length(data[:-1], 0, payload)
        with pytest.raises(BadEncoding):
            stored_length(data[:9], 0, payload)
