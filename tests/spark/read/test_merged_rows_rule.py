"""The rule that decides which reader reads files whose rows are merged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from table_format.options.spark_read import MergedRead
from table_format.spark.read.merged_rows_rule import Choice, MergedFiles, choose, reconsidered

AUTO, POSITIONS, MERGE = MergedRead.AUTO, MergedRead.POSITIONS, MergedRead.MERGE
MANY = MergedFiles(
    rows=1_000_000,
    rows_to_compare=1_000_000,
    rows_of_small_files=0,
    columns=11,
    has_key_value=False,
    is_limited=False,
    is_costly_to_compare=False,
)


@pytest.mark.parametrize(
    ("changed", "way", "reason"),
    [
        ({}, POSITIONS, "the live rows are found by their keys"),
        ({"columns": 3}, MERGE, "few columns are read"),
        ({"columns": 1, "rows_to_compare": 0}, POSITIONS, "the positions are known"),
        ({"has_key_value": True, "rows_to_compare": 0}, MERGE, "a condition on the key selects few rows"),
        ({"rows_of_small_files": 600_000}, MERGE, "most rows are in small files"),
        ({"rows_of_small_files": 400_000}, POSITIONS, "the live rows are found by their keys"),
        ({"is_limited": True}, MERGE, "a limit needs few of the rows"),
        ({"is_costly_to_compare": True}, MERGE, "a client would have to compare too many keys"),
    ],
)
def test_the_rule_selects_the_cheaper_reader(changed: dict[str, int], way: MergedRead, reason: str) -> None:
    assert choose(AUTO, replace(MANY, **changed)) == Choice(way, reason)


@pytest.mark.parametrize("way", [POSITIONS, MERGE])
def test_the_option_decides_if_it_is_possible(way: MergedRead) -> None:
    option = Choice(way, "the option spark.read.merged-rows selects it")
    for files in (MANY, replace(MANY, columns=1), replace(MANY, has_key_value=True)):
        assert choose(way, files) == option
        assert reconsidered(way, option, live=1, stored=100) == option
    assert choose(way, replace(MANY, computes_values=True)).way is MERGE
    assert choose(way, replace(MANY, is_readable_by_spark=False)).way is MERGE


def test_files_with_few_live_rows_are_merged() -> None:
    found = choose(AUTO, MANY)
    assert reconsidered(AUTO, found, live=500_000, stored=1_000_000) == found
    assert reconsidered(AUTO, found, live=100, stored=1_000) == Choice(MERGE, "only 100 of 1000 stored rows are live")
