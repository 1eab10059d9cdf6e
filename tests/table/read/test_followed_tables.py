"""A bounded search for streams that lose, double or invent changes; ``followed_tables`` searches for longer."""

from __future__ import annotations

from tests.support.searches import bounded_search
from tests.table.read.followed_tables import search


def test_streams_that_stop_and_continue_have_the_rows_of_the_table() -> None:
    tables, seen = bounded_search(search, 6)
    assert seen["compared"] > 20 * tables
    assert seen["rolled back"]
    assert seen["expired"]
