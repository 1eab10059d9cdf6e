"""Random tables with file indexes: each reads by the indexes of the other, and leaves out the same files."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

from tests.oracle.index_hand_overs import HandOver
from tests.oracle.peer import PaimonPeer

TABLES = int(os.environ.get("INDEX_HAND_OVERS", "8"))
"""With each version."""


def test_both_find_the_rows_of_a_scan_without_indexes_and_leave_out_the_same_files(
    paimon: PaimonPeer, tmp_path: Path
) -> None:
    counts: Counter[str] = Counter()
    for seed in range(TABLES):
        hand_over = HandOver(paimon, tmp_path / str(seed), random.Random(f"indexes {seed}"))
        try:
            hand_over.run()
        except Exception as error:
            told = "\n  ".join(hand_over.steps)
            message = f"seed {seed}, Paimon {paimon.version}:\n  {told}\n{error}"
            raise AssertionError(message) from error
        counts += hand_over.counts
    print(f"Paimon {paimon.version}, {TABLES} tables: {dict(counts)}")
    assert counts["conditions"] == 6 * TABLES
    assert counts["files left out by both"] > 4 * TABLES
