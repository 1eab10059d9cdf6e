"""Measures of a table that is compacted and expired at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dagster_paimon.checks.upkeep import broken_files
from dagster_paimon.tables.measure import live_entries, measure
from table_format import Table
from tests.table.read.test_reads_under_expiry import ACTS, assert_repeated


def assert_no_problems(problems: Sequence[str]) -> None:
    assert problems == []


MEASURES: dict[str, Callable[[Table], Any]] = {
    "measure": lambda table: measure(table.facts) and None,
    "live entries": lambda table: live_entries(table.facts) and None,
    "broken files": lambda table: assert_no_problems(broken_files(table.facts)[1]),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("kind", ["append with file indexes", "keyed with deletion vectors"])
def test_a_measure_of_a_snapshot_that_expires_is_repeated(kind: str, act: str) -> None:
    assert_repeated(MEASURES, kind, act)
