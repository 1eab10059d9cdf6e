"""A rewrite of indexes is requested once for each change of a table, and again after a run that failed."""

from __future__ import annotations

from typing import Any, Final

import dagster as dg
import pytest

from dagster_paimon import missing_indexes_sensor
from dagster_paimon.sensors import missing_indexes, watched_tables
from table_format.model.schema_change import SetOption
from tests.support.dagster_project import Project
from tests.support.sensor_ticks import Ticks, a_table, rows

INDEXED: Final = SetOption("file-index.bloom-filter.columns", "amount")


@dg.job
def rewrite_index_table() -> None: ...


class Sensor:
    """The sensor on one table, and a clock that a test moves."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project, self.now = project, 1_800_000_000_000
        self.ticks = Ticks(
            missing_indexes_sensor("crm.*"), project.instance, project.lakehouse, jobs=[rewrite_index_table]
        )
        for module in (missing_indexes, watched_tables):
            monkeypatch.setattr(module, "now_ms", lambda: self.now)
        project.lakehouse.catalog().create_database("archive")
        a_table(project.lakehouse, "crm.visits").append(rows((1, "mon", 1)))
        assert self.tick() == []
        project.lakehouse.catalog().alter_table("crm.visits", INDEXED)

    def tick(self) -> list[str]:
        """The run keys of one tick."""
        return [str(request.run_key) for request in self.ticks.tick().run_requests]

    def ended(self, run_key: str, status: dg.DagsterRunStatus) -> None:
        self.project.instance.create_run_for_job(rewrite_index_table, tags={"dagster/run_key": run_key}, status=status)


@pytest.mark.parametrize("status", [dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED])
def test_a_rewrite_that_failed_or_was_terminated_is_requested_again_after_a_pause(
    project: Project, monkeypatch: pytest.MonkeyPatch, status: dg.DagsterRunStatus
) -> None:
    sensor = Sensor(project, monkeypatch)
    (first,) = sensor.tick()
    assert sensor.tick() == []
    sensor.ended(first, status)
    assert sensor.tick() == []
    sensor.now += 61_000
    assert sensor.tick() == [f"{first} attempt 2"]


def test_after_a_successful_rewrite_nothing_is_requested_until_files_lack_indexes_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    sensor = Sensor(project, monkeypatch)
    (first,) = sensor.tick()
    table = project.table("crm.visits")
    table.rewrite_file_index()
    sensor.ended(first, dg.DagsterRunStatus.SUCCESS)
    assert sensor.tick() == []
    table.rollback_to(1)
    (again,) = sensor.tick()
    # The state is the one before the rewrite, and Dagster makes only one run of a run key.
    assert again == f"{first} after 1"


def test_a_table_that_is_renamed_away_and_back_gets_a_run_key_of_its_own(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    sensor = Sensor(project, monkeypatch)
    (first,) = sensor.tick()
    catalog = project.lakehouse.catalog()
    project.table("crm.visits").rewrite_file_index()
    sensor.ended(first, dg.DagsterRunStatus.SUCCESS)
    assert sensor.tick() == []
    catalog.rename_table("crm.visits", "archive.visits")
    assert sensor.tick() == []
    catalog.rename_table("archive.visits", "crm.visits")
    project.table("crm.visits").rollback_to(1)
    assert sensor.tick() == [f"{first} after 1"]


def test_a_cursor_leaves_out_defaults_and_is_read_back() -> None:
    known = {"crm.visits": watched_tables.Watched(state="1-ab", successes=2), "crm.calls": watched_tables.Watched()}
    text = watched_tables.encode_watched(known)
    assert text == '{"crm.visits":{"state":"1-ab","successes":2},"crm.calls":{}}'
    assert watched_tables.decode_watched(text) == known


def test_a_cursor_of_an_earlier_release_is_understood() -> None:
    known: dict[str, Any] = watched_tables.decode_watched('{"crm.visits": "1-ab-schema-0"}')
    assert known["crm.visits"].state == "1-ab-schema-0"
