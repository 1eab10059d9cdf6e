"""A bounded search for streams that lose, double or invent changes; ``followed_tables`` searches for longer."""

from __future__ import annotations

import os
from collections import Counter

from tests.table.read.followed_tables import search

TABLES = int(os.environ.get("FOLLOWED_TABLES", "6"))


def test_streams_that_stop_and_continue_have_the_rows_of_the_table() -> None:
    seen: Counter[str] = Counter()
    for seed in range(1, TABLES + 1):
        seen += search(seed)
    assert seen["compared"] > 20 * TABLES
    assert seen["rolled back"]
    assert seen["expired"]
