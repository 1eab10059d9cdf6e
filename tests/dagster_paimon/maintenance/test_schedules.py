"""Schedules: one run for all existing tables, and each run does its work. No JVM."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import dagster as dg
import pytest

from dagster_paimon import maintenance_schedules
from tests.support.dagster_project import Project
from tests.support.maintenance import JOBS, a_keyed_table, observations

pytestmark = pytest.mark.dagster

SCHEDULES = {schedule.name: schedule for schedule in maintenance_schedules(["sales.*", "raw.later"], on_spark=False)}


def requested(project: Project, name: str) -> list[Any]:
    context = dg.build_schedule_context(
        scheduled_execution_time=datetime(2026, 2, 1, 3, tzinfo=UTC), resources={"lakehouse": project.lakehouse}
    )
    return list(SCHEDULES[name](context))


def run_requested(project: Project, name: str) -> list[dg.AssetObservation]:
    (request,) = requested(project, name)
    job = JOBS[SCHEDULES[name].job_name]
    return observations(
        job.execute_in_process(
            run_config=request.run_config, resources=project.resources, instance=project.instance, raise_on_error=False
        )
    )


def test_the_schedules_are_these_and_stopped() -> None:
    assert list(SCHEDULES) == [
        "nightly_maintenance",
        "hourly_health",
        "daily_tag",
        "weekly_orphans",
        "weekly_index_rewrite",
    ]
    assert {schedule.default_status for schedule in SCHEDULES.values()} == {dg.DefaultScheduleStatus.STOPPED}


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_one_run_maintains_every_existing_table(project: Project, name: str) -> None:
    (nothing,) = requested(project, name)
    assert isinstance(nothing, dg.SkipReason)
    for table in ("sales.items", "sales.users", "other.items"):
        a_keyed_table(project, table, commits=1)
    (request,) = requested(project, name)
    assert request.run_key == f"{name} 2026-02-01T03:00:00+00:00"
    reports = run_requested(project, name)
    assert [report.asset_key.to_user_string() for report in reports] == ["sales/items", "sales/users"]


def test_nightly_maintenance_skips_tables_without_due_work(project: Project) -> None:
    a_keyed_table(project, "sales.busy", commits=7)
    a_keyed_table(project, "sales.calm", commits=1)
    found = {r.asset_key.path[-1]: r.description for r in run_requested(project, "nightly_maintenance")}
    assert found["busy"] == "1 task was due: compact"
    assert found["calm"] == "nothing is due"


def test_each_day_has_a_tag_and_a_table_without_rows_has_none(project: Project) -> None:
    a_keyed_table(project, "sales.items", commits=1)
    a_keyed_table(project, "sales.empty", commits=0)
    run_requested(project, "daily_tag")
    (tag,) = project.table("sales.items").tags().items()
    assert (tag[0], tag[1].time_retained_ms) == ("daily-2026-02-01", 30 * 86_400_000)
    assert not project.table("sales.empty").tags()


def test_the_tag_of_a_day_is_kept_when_its_run_is_repeated_and_other_tables_get_theirs(project: Project) -> None:
    a_keyed_table(project, "sales.items", commits=1)
    run_requested(project, "daily_tag")
    a_keyed_table(project, "sales.later", commits=1)
    tagged = project.table("sales.items")
    tagged.append(tagged.scan().to_arrow())
    found = {r.asset_key.path[-1]: r.description for r in run_requested(project, "daily_tag")}
    assert found == {
        "items": "tag 'daily-2026-02-01' already keeps snapshot 1",
        "later": "tag 'daily-2026-02-01' keeps snapshot 1",
    }


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_a_table_that_is_dropped_before_the_run_does_not_keep_it_from_the_others(project: Project, name: str) -> None:
    for table in ("sales.items", "sales.old"):
        a_keyed_table(project, table, commits=1)
    (request,) = requested(project, name)
    project.lakehouse.catalog().drop_table("sales.old")
    job = JOBS[SCHEDULES[name].job_name]
    result = job.execute_in_process(
        run_config=request.run_config, resources=project.resources, instance=project.instance
    )
    assert [report.asset_key.path[-1] for report in observations(result)] == ["items"]


def test_orphans_are_reported_and_stay(project: Project) -> None:
    a_keyed_table(project, "sales.items", commits=1)
    (report,) = run_requested(project, "weekly_orphans")
    assert report.metadata["maintenance"].value == "orphans (dry run)"
