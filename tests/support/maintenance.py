"""Maintenance jobs as tests run them: on a project of their own, in this process, without Spark."""

from __future__ import annotations

from typing import Any, Final

import dagster as dg
import pyarrow as pa

from dagster_paimon import maintenance_jobs
from table_format.model.schema import Schema
from tests.support.dagster_project import Project

JOBS: Final = {job.name: job for job in maintenance_jobs()}
COLUMNS: Final = pa.schema([("id", pa.int64()), ("value", pa.int64())])


def a_keyed_table(project: Project, name: str, *, commits: int, **options: str) -> None:
    """A table whose sorted runs pile up until a compaction of its own."""
    catalog = project.lakehouse.catalog()
    catalog.create_database(name.split(".")[0], ignore_if_exists=True)
    options = {"bucket": "1", "write-only": "true", **{key.replace("_", "-"): value for key, value in options.items()}}
    table = catalog.create_table(name, Schema.from_arrow(COLUMNS, primary_keys=["id"], options=options))
    for commit in range(commits):
        table.append(pa.table({"id": [1, 2 + commit], "value": [commit, commit]}, schema=COLUMNS))


def run(project: Project, job: dg.JobDefinition | str, **config: Any) -> dg.ExecuteInProcessResult:
    """Run a maintenance job, successfully or not."""
    definition = JOBS[job] if isinstance(job, str) else job
    (op,) = (node.name for node in definition.nodes)
    return definition.execute_in_process(
        run_config={"ops": {op: {"config": config}}},
        resources=project.resources,
        instance=project.instance,
        raise_on_error=False,
    )


def observations(result: dg.ExecuteInProcessResult) -> list[dg.AssetObservation]:
    """The reports of a run, in order."""
    assert result.success, [event.message for event in result.all_events if event.is_failure]
    events = [event for event in result.all_events if event.event_type_value == "ASSET_OBSERVATION"]
    return [event.asset_observation_data.asset_observation for event in events]


def execute(project: Project, job: dg.JobDefinition | str, **config: Any) -> dict[str, Any]:
    """Run a maintenance job for one table and return the metadata of its observation, with its description."""
    (observation,) = observations(run(project, job, **config))
    metadata = {key: value.value for key, value in observation.metadata.items()}
    return {"description": observation.description, **metadata}


def refusal(project: Project, job: str, **config: Any) -> str:
    """The message of a run that fails without a retry: at its first attempt, without a report."""
    result = run(project, job, **config)
    kinds = [event.event_type_value for event in result.all_events]
    assert not result.success
    assert "STEP_UP_FOR_RETRY" not in kinds
    assert "ASSET_OBSERVATION" not in kinds
    (failed,) = [event for event in result.all_events if event.event_type_value == "STEP_FAILURE"]
    data = failed.step_failure_data
    assert data.user_failure_data is not None
    return str(data.user_failure_data.description)
