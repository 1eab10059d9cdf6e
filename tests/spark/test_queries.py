"""A few random queries and writes on Spark; ``make queries`` runs many."""

from __future__ import annotations

from typing import Any

import pytest

from table_format.table.read.scan import Scan
from tests.queries.run import Outcome, search_table
from tests.queries.tables import DATABASE
from tests.queries.writes import search_writes
from tests.spark.lakes import TestLake

pytestmark = pytest.mark.spark


@pytest.fixture
def random_lake(lake: TestLake) -> Any:
    lake.lake.catalog.create_database(DATABASE)
    return lake.lake


def test_random_queries_return_the_rows_of_a_single_process(random_lake: Any) -> None:
    outcome = Outcome()
    for number in range(3):
        search_table(random_lake, 0, number, 20, outcome)
    assert outcome.differences == []
    assert outcome.queries >= 60


def test_random_writes_store_the_rows_of_a_single_process(random_lake: Any) -> None:
    outcome = Outcome()
    search_writes(random_lake, 0, range(4), outcome)
    assert outcome.differences == []


def test_an_extra_row_is_detected_and_printed_as_a_script(random_lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Scan.to_arrow
    monkeypatch.setattr(Scan, "to_arrow", lambda scan: read(scan).slice(1))
    outcome = Outcome()
    search_table(random_lake, 0, 0, 10, outcome)
    assert outcome.differences
    assert "too many: [(" in outcome.differences[0]
    assert "python -m tests.queries --seed 0 --table 0 --query" in outcome.differences[0]
