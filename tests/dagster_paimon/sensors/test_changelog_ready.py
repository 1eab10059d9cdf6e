"""A consumer that is behind on the changes of a table gets a run, one at a time, until it has caught up."""

from __future__ import annotations

import dagster as dg
import pytest

from dagster_paimon import changelog_ready_sensor
from dagster_paimon.sensors import changelog_ready, requested_runs
from table_format import Table
from tests.support.dagster_project import Project
from tests.support.sensor_ticks import Ticks, a_table, rows


@dg.job
def read_changes() -> None: ...


class Reader:
    """The sensor, and a clock that a test moves."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch, **bounds: int) -> None:
        self.instance, self.now, self.requests = project.instance, 1_800_000_000_000, []
        sensor = changelog_ready_sensor("crm.tickets", "report", job=read_changes, **bounds)
        self.ticks = Ticks(sensor, project.instance, project.lakehouse, jobs=[read_changes])
        for module in (changelog_ready, requested_runs):
            monkeypatch.setattr(module, "now_ms", lambda: self.now)

    def tick(self) -> int:
        data = self.ticks.tick()
        self.note, self.requests = data.skip_message, data.run_requests or self.requests
        return len(data.run_requests)

    def ended(self, status: dg.DagsterRunStatus) -> None:
        tags = {"dagster/run_key": self.requests[0].run_key}
        self.instance.create_run_for_job(read_changes, tags=tags, status=status)


@pytest.fixture
def tickets(project: Project) -> Table:
    options = {"changelog-producer": "lookup"}
    return a_table(project.lakehouse, "crm.tickets", keys=["id"], options=options)


def test_a_run_is_requested_when_enough_changed_rows_are_unread(
    project: Project, tickets: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader(project, monkeypatch, min_rows=3)
    tickets.append(rows((1, "mon", 1), (2, "mon", 1)))
    assert reader.tick() == 0
    assert reader.note == "'report' is 1 snapshot and 2 rows behind crm.tickets"
    tickets.append(rows((3, "mon", 1)))
    assert reader.tick() == 1
    assert reader.requests[0].tags["lakehouse/consumer"] == "report"
    assert reader.tick() == 0
    tickets.reset_consumer("report", tickets.latest_snapshot().id + 1)  # type: ignore[union-attr]
    reader.ended(dg.DagsterRunStatus.SUCCESS)
    assert reader.tick() == 0
    tickets.append(rows((1, "tue", 9)))
    assert reader.tick() == 0
    tickets.append(rows((2, "tue", 9)))
    assert reader.tick() == 1


def test_a_failed_run_is_requested_again_but_not_a_run_that_did_not_move_the_consumer(
    project: Project, tickets: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader(project, monkeypatch)
    tickets.append(rows((1, "mon", 1)))
    assert reader.tick() == 1
    reader.ended(dg.DagsterRunStatus.CANCELED)
    assert reader.tick() == 0
    reader.now += 61_000
    assert reader.tick() == 1
    reader.ended(dg.DagsterRunStatus.SUCCESS)
    assert [reader.tick(), reader.tick()] == [0, 0]
    tickets.append(rows((2, "mon", 1)))
    assert reader.tick() == 1


def test_a_consumer_ahead_of_a_table_that_was_rolled_back_is_reported(
    project: Project, tickets: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader(project, monkeypatch)
    for number in range(3):
        tickets.append(rows((number, "mon", 1)))
    tickets.reset_consumer("report", 100)
    assert reader.tick() == 0
    assert "was rolled back or created again; reset the consumer" in reader.note


def test_a_consumer_of_snapshots_that_were_replaced_is_reported(
    project: Project, tickets: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader(project, monkeypatch)
    for number in range(3):
        tickets.append(rows((number, "mon", 1)))
    tickets.reset_consumer("report", 3)
    tickets.rollback_to(1)
    tickets.append(rows((7, "mon", 1)))
    tickets.append(rows((8, "mon", 1)))
    assert reader.tick() == 0
    assert "was rolled back or created again; reset the consumer" in reader.note


def test_a_table_that_does_not_exist_yet_is_not_an_error(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(project, monkeypatch)
    assert reader.tick() == 0
    assert reader.note == "crm.tickets does not exist"


def test_a_table_without_changelog_counts_the_rows_that_commits_added(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = a_table(project.lakehouse, "crm.tickets")
    log.append(rows((1, "mon", 1), (2, "mon", 1)))
    log.compact(full=True)
    reader = Reader(project, monkeypatch)
    assert reader.tick() == 1
    lag = changelog_ready.consumer_lag(log, "report", min_snapshots=100, min_rows=100)
    assert (lag.snapshots, lag.rows) == (1, 2)


def test_snapshots_are_counted_only_until_a_run_is_due(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    log = a_table(project.lakehouse, "crm.tickets")
    for number in range(5):
        log.append(rows((number, "mon", 1)))
    reader = Reader(project, monkeypatch, min_snapshots=2)
    read: list[int] = []
    count = changelog_ready._changed_rows
    monkeypatch.setattr(changelog_ready, "_changed_rows", lambda t, s: read.append(s.id) or count(t, s))
    assert reader.tick() == 1
    assert read == [1, 2]
    lag = changelog_ready.consumer_lag(log, "report", min_snapshots=2, min_rows=None)
    assert str(lag) == "at least 2 snapshots and 2 rows"
