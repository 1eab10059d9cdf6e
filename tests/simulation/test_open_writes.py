"""Some seeds of the search for histories that break open writes; see ``open_writes``."""

from __future__ import annotations

import pytest

from tests.simulation.open_writes import run
from tests.support.matrix import tries


@pytest.mark.parametrize("seed", range(tries(4, many=60)))
def test_open_writes_and_commits_neither_lose_nor_double_rows_while_their_table_changes(seed: int) -> None:
    run(seed)
