"""Words are ordered by counting their digits as by comparing them, and equal ones keep their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.kernels.file_index.word_order import word_order


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=40))
def test_any_words_are_ordered(words: list[int]) -> None:
    assert word_order(np.array(words, np.uint64)).tolist() == sorted(range(len(words)), key=lambda at: (words[at], at))


@pytest.mark.parametrize(("largest", "dtype"), [(100, np.uint16), (2**20, np.uint32), (2**40, np.uint64)])
@pytest.mark.parametrize("shift", [0, 15])
def test_many_words_of_any_width_are_ordered(largest: int, dtype: type[np.unsignedinteger], shift: int) -> None:
    words = np.random.default_rng(3).integers(0, largest, 5000).astype(dtype)
    words[:100] >>= dtype(shift)
    assert word_order(words).tolist() == np.argsort(words, kind="stable").tolist()
