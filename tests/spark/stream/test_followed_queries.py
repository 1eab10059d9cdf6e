"""A bounded search for queries that lose, double or invent changes; ``followed_queries`` searches for longer."""

from __future__ import annotations

from tests.spark.stream.followed_queries import search
from tests.support.searches import bounded_search


def test_queries_that_stop_and_continue_have_the_rows_of_the_table() -> None:
    tables, seen = bounded_search(search, 3)
    assert seen["compared"] > 5 * tables
