"""Uncommitted files of a failed or terminated run are deleted if that is safe, and the log of the run records it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dagster as dg
import pytest

from dagster_paimon import run_failure_cleanup
from dagster_paimon.sensors import failed_runs
from table_format import Table
from tests.support.dagster_project import Project
from tests.support.sensor_ticks import Ticks, a_table, rows


@dg.asset(key=["crm", "visits"], io_manager_key="paimon_io")
def visits() -> None: ...


STARTED = dg.DagsterRunStatus.STARTED


@dg.op
def compact() -> None: ...


@dg.job
def compact_table() -> None:
    compact()


@dg.job
def load() -> None:
    compact.alias("load_rows")()


VISITS = dg.define_asset_job("visits_job", selection=dg.AssetSelection.assets("crm/visits"))


class Failures:
    """The sensor and runs that a test starts, ends or kills."""

    def __init__(self, project: Project, **arguments: Any) -> None:
        self.instance = project.instance
        self.table = a_table(project.lakehouse, "crm.visits")
        sensor = run_failure_cleanup(**arguments)
        self.ticks = Ticks(sensor, project.instance, project.lakehouse, [visits], jobs=[VISITS, compact_table, load])
        assert self.tick() == "no run has failed"

    def run(self, status: dg.DagsterRunStatus = dg.DagsterRunStatus.STARTED) -> dg.DagsterRun:
        selected = frozenset({visits.key})
        job = dg.Definitions(
            assets=[visits],
            jobs=[VISITS],
            resources={"paimon_io": dg.mem_io_manager},
            executor=dg.in_process_executor,
        )
        return self.instance.create_run_for_job(
            job.resolve_job_def("visits_job"), asset_selection=selected, status=status
        )

    def tick(self) -> str:
        self.data = self.ticks.tick()
        return str(self.data.skip_message)


def prepared(table: Table) -> list[str]:
    """Write data files without committing them, and return their names."""
    messages = table.new_write().write(rows((9, "mon", 9)))
    facts = table.facts
    return [
        path
        for message in messages
        for file in message.new_files
        for path in facts.store.paths.files_of(facts.partitions.text(message.partition), message.bucket, file)
    ]


def exist(table: Table, paths: list[str]) -> bool:
    return all(table.store.io.status(path) is not None for path in paths)


@pytest.mark.parametrize("end", ["report_run_failed", "report_run_canceled"])
def test_the_files_of_a_failed_run_are_deleted_and_its_log_records_it(project: Project, end: str) -> None:
    failures = Failures(project, only_dagster_writes=True)
    failures.table.append(rows((1, "mon", 1)))
    run = failures.run()
    left = prepared(failures.table)
    getattr(failures.instance, end)(run)
    note = failures.tick()
    assert f"crm.visits, after run {run.run_id[:8]} ended: deleted 1 file of" in note
    assert not exist(failures.table, left)
    assert failures.table.scan().count() == 1
    (event,) = failures.data.asset_events
    assert (event.asset_key, event.metadata["files"].value) == (visits.key, 1)
    logged = [record.message for record in failures.instance.all_logs(run.run_id)]
    assert note in logged
    assert failures.tick() == "no run has failed"


def test_without_confirmation_files_are_only_reported(project: Project) -> None:
    failures = Failures(project)
    run = failures.run()
    left = prepared(failures.table)
    failures.instance.report_run_failed(run)
    assert "found 1 file of" in failures.tick()
    assert exist(failures.table, left)


def test_it_waits_while_another_run_works_on_the_table(project: Project) -> None:
    failures = Failures(project, only_dagster_writes=True)
    run, other = failures.run(), failures.run()
    left = prepared(failures.table)
    failures.instance.report_run_failed(run)
    assert failures.tick() == f"run {run.run_id[:8]} waits: other runs are working on crm.visits"
    assert exist(failures.table, left)
    failures.instance.report_run_canceled(other)
    failures.tick()
    assert not exist(failures.table, left)


def of_a_pattern(failures: Failures) -> str:
    config = {"ops": {"compact": {"config": {"pattern": "crm.*"}}}}
    return failures.instance.create_run_for_job(compact_table, run_config=config, status=STARTED).run_id


def of_another_code_location(failures: Failures) -> str:
    @dg.job
    def of_others() -> None: ...

    return failures.instance.create_run_for_job(of_others, status=STARTED).run_id


def of_assets_of_another_code_location(failures: Failures) -> str:
    run = failures.run(dg.DagsterRunStatus.NOT_STARTED)
    others = frozenset({dg.AssetKey(["other", "asset"])})
    return failures.instance.add_run(run._replace(run_id="others", asset_selection=others, status=STARTED)).run_id


def of_ops(failures: Failures) -> str:
    return failures.instance.create_run_for_job(load, status=STARTED).run_id


@pytest.mark.parametrize(
    "at_work", [of_a_pattern, of_another_code_location, of_assets_of_another_code_location, of_ops]
)
def test_files_of_a_run_that_may_work_on_the_table_are_kept(
    project: Project, at_work: Callable[[Failures], str]
) -> None:
    failures = Failures(project, only_dagster_writes=True)
    run, other = failures.run(), at_work(failures)
    left = prepared(failures.table)
    failures.instance.report_run_failed(run)
    note = failures.tick()
    assert f"run {run.run_id[:8]} waits:" in note
    assert other[:8] in note or "other runs are working on crm.visits" in note
    assert exist(failures.table, left)


@pytest.mark.parametrize(
    ("writes", "waits"),
    [("none", False), ("crm.calls, ods.*", False), ("ods.x, crm.*", True), ("crm.calls, visits", True), ("", True)],
)
def test_a_run_of_ops_that_names_its_tables_holds_up_no_others(project: Project, writes: str, *, waits: bool) -> None:
    failures = Failures(project, only_dagster_writes=True)
    run = failures.run()
    failures.instance.create_run_for_job(load, status=STARTED, tags={"paimon/writes": writes})
    left = prepared(failures.table)
    failures.instance.report_run_failed(run)
    assert ("waits:" in failures.tick(), exist(failures.table, left)) == (waits, waits)


def test_the_note_about_a_run_of_ops_names_the_tag(project: Project) -> None:
    failures = Failures(project, only_dagster_writes=True)
    run = failures.run()
    of_ops(failures)
    failures.instance.report_run_failed(run)
    assert "can name its tables, or none, with the tag paimon/writes" in failures.tick()


def test_a_run_with_many_tables_is_cleaned_up_in_several_ticks(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = Failures(project, only_dagster_writes=True)
    tables = [failures.table, *(a_table(project.lakehouse, f"crm.{name}") for name in ("calls", "mails"))]
    config = {"ops": {"compact": {"config": {"pattern": "crm.*"}}}}
    run = failures.instance.create_run_for_job(compact_table, run_config=config, status=STARTED)
    left = [prepared(table) for table in tables]
    failures.instance.report_run_failed(run)
    calls = iter([False, True, True] * 3)  # there is time for one table in each tick
    monkeypatch.setattr(failed_runs, "half_time", lambda: lambda: next(calls))
    for remaining in (2, 1, 0):
        failures.tick()
        assert sum(exist(table, paths) for table, paths in zip(tables, left, strict=True)) == remaining
    monkeypatch.undo()
    assert "waits" not in failures.tick()
    assert failures.tick() == "no run has failed"


def test_files_written_after_the_end_of_the_run_are_kept(project: Project) -> None:
    failures = Failures(project, only_dagster_writes=True)
    run = failures.run()
    failures.instance.report_run_failed(run)
    record = failures.instance.get_run_record_by_id(run.run_id)
    assert record is not None
    later = prepared(failures.table)
    io = failures.table.store.io
    assert all(
        (io.status(path) or pytest.fail("gone")).modified_ms >= int((record.end_time or 0) * 1000) for path in later
    )
    failures.tick()
    assert exist(failures.table, later)


def test_commits_of_the_run_are_kept_and_reported(project: Project) -> None:
    failures = Failures(project, only_dagster_writes=True)
    run = failures.run()
    failures.table.append(rows((1, "mon", 1)), properties={"dagster.run_id": run.run_id})
    failures.table.create_branch(f"run-{run.run_id[:8]}")
    failures.instance.report_run_failed(run)
    note = failures.tick()
    assert f"it had committed snapshot 1, which stays; branch run-{run.run_id[:8]} stays" in note
    assert failures.table.scan().count() == 1
