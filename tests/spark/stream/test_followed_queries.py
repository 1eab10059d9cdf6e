"""A bounded search for queries that lose, double or invent changes; ``followed_queries`` searches for longer."""

from __future__ import annotations

import os
from collections import Counter

from tests.spark.stream.followed_queries import search

TABLES = int(os.environ.get("FOLLOWED_TABLES", "3"))


def test_queries_that_stop_and_continue_have_the_rows_of_the_table() -> None:
    seen: Counter[str] = Counter()
    for seed in range(1, TABLES + 1):
        seen += search(seed)
    assert seen["compared"] > 5 * TABLES
