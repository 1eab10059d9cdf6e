"""The columns that a query may need."""

from __future__ import annotations

import pytest

from table_format.sql.needs import named_columns


def test_columns_are_needed_only_if_they_are_named() -> None:
    found = named_columns("SELECT a * 2, count(*), t.`B` FROM t JOIN u USING (k) WHERE x['y'] = \"z\" ORDER BY o * -1")
    assert found is not None
    assert {"a", "b", "k", "x", "z", "o"} <= found
    assert "c" not in found


EVERYTHING = (
    "SELECT * FROM t",
    "SELECT t.* FROM t",
    "SELECT a, * EXCEPT (b) FROM t",
    "SELECT count(*), * FROM t",
    "SELECT struct(*) FROM t",
    "SELECT count(DISTINCT *) FROM t",
    "SELECT a FROM t NATURAL JOIN u",
    "SELECT a FROM t PIVOT (sum(b) FOR c IN (1))",
    "SELECT IDENTIFIER('a' || 'b') FROM t",
    "TABLE t",
)


@pytest.mark.parametrize("text", EVERYTHING)
def test_a_query_that_reads_columns_without_naming_them_needs_all_columns(text: str) -> None:
    assert named_columns(text) is None
