"""Compactions are requested where the options of a table say that one is due, and again after a failure."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

from dagster_paimon import compaction_pressure_sensor
from dagster_paimon.sensors import pressure, requested_runs, watched_tables
from tests.support.dagster_project import Project
from tests.support.sensor_ticks import Ticks, a_table, rows


@dg.job
def compact_table() -> None: ...


class Pressure:
    """The sensor, and a clock that a test moves."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch, **arguments: Any) -> None:
        self.instance, self.now = project.instance, 1_800_000_000_000
        self.ticks = Ticks(
            compaction_pressure_sensor(**arguments), project.instance, project.lakehouse, jobs=[compact_table]
        )
        for module in (pressure, requested_runs, watched_tables):
            monkeypatch.setattr(module, "now_ms", lambda: self.now)

    def tick(self) -> list[dict[str, Any]]:
        """The configurations of the compactions that one tick requests."""
        self.requests = self.ticks.tick().run_requests
        return [request.run_config["ops"]["compact"]["config"] for request in self.requests]

    def ended(self, status: dg.DagsterRunStatus) -> None:
        """Let the runs of the last tick end with this status."""
        for request in self.requests:
            tags = {"dagster/run_key": request.run_key}
            self.instance.create_run_for_job(compact_table, tags=tags, status=status)


def written(project: Project, name: str, times: int, **arguments: Any) -> Any:
    table = a_table(project.lakehouse, name, **arguments)
    for number in range(times):
        table.append(rows((number, "mon", 1)))
    return table


def test_the_options_of_each_table_decide(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"write-only": "true"}
    written(project, "crm.patient", 6, keys=["id"], options={**own, "num-sorted-run.compaction-trigger": "8"})
    written(project, "crm.eager", 3, keys=["id"], options={**own, "num-sorted-run.compaction-trigger": "3"})
    written(project, "crm.log", 6, options=own)
    written(project, "crm.short_log", 2, options=own)
    sensor = Pressure(project, monkeypatch)
    assert sensor.tick() == [{"table": "crm.eager", "full": False}, {"table": "crm.log", "full": False}]
    assert [request.tags["lakehouse/maintains"] for request in sensor.requests] == ["crm.eager", "crm.log"]


def test_one_compaction_is_requested_at_a_time_and_again_after_a_failure(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = written(project, "crm.eager", 5, keys=["id"], options={"write-only": "true"})
    sensor = Pressure(project, monkeypatch)
    assert len(sensor.tick()) == 1
    first = sensor.requests[0].run_key
    sensor.ended(dg.DagsterRunStatus.FAILURE)
    assert sensor.tick() == []
    sensor.now += 61_000
    assert len(sensor.tick()) == 1
    assert sensor.requests[0].run_key == f"{first} attempt 2"
    table.append(rows((9, "mon", 1)))
    assert sensor.tick() == []


def test_a_compaction_that_changed_nothing_is_not_requested_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(project, "crm.eager", 5, keys=["id"], options={"write-only": "true"})
    sensor = Pressure(project, monkeypatch)
    assert len(sensor.tick()) == 1
    sensor.ended(dg.DagsterRunStatus.SUCCESS)
    assert sensor.tick() == []


def test_a_table_without_writes_is_due_when_its_level_0_gets_old(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = written(project, "crm.calm", 1, keys=["id"], partitions=(), options={"write-only": "true"})
    sensor = Pressure(project, monkeypatch, max_level0_age=timedelta(hours=1))
    assert sensor.tick() == []
    later = sensor.now + 7_200_000
    due = type(table).due_upkeep
    monkeypatch.setattr(
        type(table),
        "due_upkeep",
        lambda self, *, max_level0_age_ms: due(self, max_level0_age_ms=max_level0_age_ms - 7_200_000),
    )
    sensor.now += 60_000
    assert sensor.tick() == []
    sensor.now = later
    assert sensor.tick() == [{"table": "crm.calm", "full": True}]


def test_a_full_compaction_covers_the_partitions_that_are_due(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = a_table(
        project.lakehouse, "crm.days", keys=["id", "day"], partitions=["day"], options={"write-only": "true"}
    )
    table.append(rows((1, "a b", 1), (2, "a/b", 1)))
    sensor = Pressure(project, monkeypatch, max_level0_age=timedelta(seconds=-60))
    (config,) = sensor.tick()
    assert config == {"table": "crm.days", "full": True, "partitions": [{"day": "a b"}, {"day": "a/b"}]}
    assert table.run_compaction(full=True, partitions=config["partitions"]).buckets


def test_a_rollback_does_not_hide_that_a_compaction_is_due(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    table = written(project, "crm.eager", 5, keys=["id"], options={"write-only": "true"})
    sensor = Pressure(project, monkeypatch)
    sensor.tick()
    first = sensor.requests[0].run_key
    sensor.ended(dg.DagsterRunStatus.SUCCESS)
    assert sensor.tick() == []
    table.rollback_to(4)
    table.append(rows((77, "tue", 1)))
    assert len(sensor.tick()) == 1
    assert sensor.requests[0].run_key != first


def test_a_rollback_to_a_compacted_state_requests_a_separate_run(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = written(project, "crm.eager", 5, keys=["id"], options={"write-only": "true"})
    sensor = Pressure(project, monkeypatch)
    sensor.tick()
    first = sensor.requests[0].run_key
    table.compact(full=True)
    sensor.ended(dg.DagsterRunStatus.SUCCESS)
    assert sensor.tick() == []
    table.rollback_to(5)
    sensor.tick()
    # Dagster makes only one run of a run key.
    assert [request.run_key for request in sensor.requests] == [f"{first} after 1"]


def test_a_sensor_whose_cursor_was_reset_requests_a_run_although_earlier_ones_have_failed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(project, "crm.eager", 5, keys=["id"], options={"write-only": "true"})
    sensor = Pressure(project, monkeypatch)
    run_keys = set()
    for _ in range(3):
        assert len(sensor.tick()) == 1
        run_keys.add(sensor.requests[0].run_key)
        sensor.ended(dg.DagsterRunStatus.FAILURE)
        sensor.ticks.cursor = None
    assert len(run_keys) == 3  # Dagster would launch no second run of one of them
