"""Measures of a table that is compacted and expired at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dagster_paimon.checks.upkeep import broken_files
from dagster_paimon.tables.measure import count_rows, live_entries, measure
from table_format import Table
from tests.support.dagster_project import Project
from tests.support.sensor_ticks import a_table, rows
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


def test_rows_that_a_deletion_vector_marks_are_not_counted(project: Project) -> None:
    table = a_table(project.lakehouse, "crm.calls", options={"deletion-vectors.enabled": "true"})
    assert count_rows(table.facts, measure(table.facts), read_up_to=0) == 0
    table.append(rows((1, "mon", 1), (2, "mon", 1), (3, "mon", 1)))
    table.delete("id = 2")
    health = measure(table.facts)
    assert (health.physical_rows, health.marked_rows, count_rows(table.facts, health, read_up_to=0)) == (3, 1, 2)
