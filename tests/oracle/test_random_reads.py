"""A few histories of ``random_reads`` in each run; ``make histories`` runs more, with other seeds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.oracle.peer import PaimonPeer
from tests.oracle.random_reads import VERSION, run

HISTORIES = int(os.environ.get("RANDOM_READS", "3"))
FIRST = int(os.environ.get("HAND_OVERS_FIRST_SEED", "0"))


@pytest.mark.parametrize("number", range(FIRST, FIRST + HISTORIES))
def test_both_read_a_history_equally_in_every_way(
    peers: Callable[[str], PaimonPeer], tmp_path: Path, number: int
) -> None:
    assert run(f"1/{number}", peers(VERSION), tmp_path) > 20
