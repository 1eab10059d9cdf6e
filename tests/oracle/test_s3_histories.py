"""Random histories of one table in S3, written by us and the real Paimon in turn.

On a disk they run in every mode of a table; here in those that read and write each kind of file.
"""

from __future__ import annotations

import pytest

from tests.oracle.conftest import SharedLake
from tests.oracle.test_hand_over_histories import run_history


@pytest.mark.parametrize("name", ["merged when copied", "marked, lookup", "dynamic, marked", "sum, full compaction"])
def test_both_read_every_step_of_a_history_in_s3_equally(lake: SharedLake, name: str) -> None:
    assert run_history(name, 0, lake.theirs, lake.uri).compared >= 1
