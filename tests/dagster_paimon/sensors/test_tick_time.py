"""A tick ends before Dagster gives it up, and the next one goes on with the tables that it did not look at."""

from __future__ import annotations

import json
from itertools import count

import pytest

from dagster_paimon.sensors import tick_time
from tests.dagster_paimon.sensors.test_tick_errors import OF_TABLES, a_due_table, ticks
from tests.support.dagster_project import Project

NAMES = [f"crm.{letter}" for letter in "abcde"]


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds pass with each table."""
    times = count(step=10)
    monkeypatch.setattr(tick_time, "monotonic", lambda: float(next(times)))


@pytest.mark.usefixtures("slow_clock")
def test_all_tables_are_looked_at_in_turn_however_long_each_takes() -> None:
    seen: dict[str, int] = {}
    looked: list[list[str]] = []
    for tick in range(4):
        now = dict.fromkeys(tick_time.in_turn(NAMES, seen), tick)
        looked.append(list(now))
        seen = tick_time.looked_at_last(seen, now)
    assert looked == [NAMES[:3], [*NAMES[3:], NAMES[0]], NAMES[1:4], [NAMES[4], *NAMES[:2]]]


@pytest.mark.parametrize(("limit", "tables"), [("20", 1), ("40", 2), ("4", 1), ("1000", 5)])
def test_a_tick_takes_half_of_the_time_limit_of_dagster_and_looks_at_one_table_at_least(
    slow_clock: None, monkeypatch: pytest.MonkeyPatch, limit: str, tables: int
) -> None:
    monkeypatch.setenv("DAGSTER_SENSOR_GRPC_TIMEOUT_SECONDS", limit)
    assert len(list(tick_time.in_turn(NAMES, {}))) == tables


@pytest.mark.parametrize("sensor", OF_TABLES)
def test_a_sensor_of_many_tables_reaches_all_of_them_in_several_ticks(
    project: Project, monkeypatch: pytest.MonkeyPatch, sensor: str
) -> None:
    for name in NAMES[:3]:
        a_due_table(project, name)
    monkeypatch.setenv("DAGSTER_SENSOR_GRPC_TIMEOUT_SECONDS", "0.000001")
    ticked = ticks(project, OF_TABLES[sensor]())
    looked: list[set[str]] = []
    for _ in range(3):
        ticked.tick()
        looked.append(set(json.loads(ticked.cursor or "{}")))
    assert looked == [{"crm.a"}, {"crm.a", "crm.b"}, {"crm.a", "crm.b", "crm.c"}]
