"""What CREATE accepts here, the real Paimon opens and reads: a few tables of those that ``make options`` draws."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.options.accepted_tables import VERSION, search
from tests.oracle.peer import PaimonPeer
from tests.support.matrix import tries


def test_the_real_paimon_reads_what_is_accepted_here(peers: Callable[[str], PaimonPeer], tmp_path: Path) -> None:
    outcome = search(1, range(2_000, 2_000 + tries(20, many=40)), peers(VERSION), tmp_path)
    assert not outcome.failures
