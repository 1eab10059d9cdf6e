"""A limited part of the search in ``restarts.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.stream.restarts import search


@pytest.mark.parametrize("seed", range(1, 7))
def test_a_query_that_died_and_was_restarted_writes_every_row_once(seed: int, tmp_path: Path) -> None:
    assert search(seed, 4, tmp_path).deaths.total() >= 4
