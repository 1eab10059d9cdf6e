"""Runs jobs in this process so that the UI shows them as runs of the code location, on its timeline and in job history.

``JobDefinition.execute_in_process`` records a run without the code location of its job, so pages that are ordered by
code location leave it out. Dagster has no public API to set it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import dagster as dg
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run
from dagster._core.remote_origin import ManagedGrpcPythonEnvCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

from assets.links import LOCATION

MODULE: Final = "definitions"
_REPOSITORY: Final = "__repository__"


def run_job(
    job: dg.JobDefinition,
    instance: dg.DagsterInstance,
    *,
    run_config: Mapping[str, Any],
    tags: Mapping[str, str],
    project: Path,
) -> dg.JobExecutionResult:
    """Run a job of the project in a directory in this process. The result shows whether it failed."""
    target = LoadableTargetOrigin(module_name=MODULE, working_directory=str(project))
    location = ManagedGrpcPythonEnvCodeLocationOrigin(target, LOCATION)
    origin = RemoteJobOrigin(RemoteRepositoryOrigin(location, _REPOSITORY), job.name)
    run = instance.create_run_for_job(
        job,
        run_config=run_config,
        tags={**tags, ".dagster/repository": f"{_REPOSITORY}@{LOCATION}"},
        remote_job_origin=origin,
    )
    return execute_run(InMemoryJob(job), run, instance, raise_on_error=False)
