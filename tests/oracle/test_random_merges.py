"""A few cases of ``random_merges`` in each run; ``make histories`` runs more, with other seeds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.oracle.peer import PaimonPeer
from tests.oracle.random_merges import VERSION, run

CASES = int(os.environ.get("RANDOM_MERGES", "6"))
FIRST = int(os.environ.get("HAND_OVERS_FIRST_SEED", "0"))


@pytest.mark.parametrize("number", range(FIRST, FIRST + CASES))
def test_merged_rows_and_their_changes_are_those_of_the_real_paimon(
    peers: Callable[[str], PaimonPeer], tmp_path: Path, number: int
) -> None:
    assert run(f"1/{number}", peers(VERSION), tmp_path)
