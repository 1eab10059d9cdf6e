"""Random histories of one table in S3, written by us and the real Paimon in turn, in every mode of a table."""

from __future__ import annotations

import pytest

from tests.oracle.peer import PaimonPeer
from tests.oracle.test_hand_over_histories import MODES, run_history


@pytest.mark.parametrize("name", MODES)
def test_both_read_every_step_of_a_history_in_s3_equally(paimon_in_s3: PaimonPeer, place_in_s3: str, name: str) -> None:
    assert run_history(name, 0, paimon_in_s3, place_in_s3).compared >= 1
