"""Runs as the daemon starts them: with the definitions of the code location, unlike ``execute_in_process``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg
from dagster._core.definitions.job_base import RepoBackedJob
from dagster._core.execution.api import execute_run


def run_in_code_location(
    defs: dg.Definitions,
    job: str,
    *,
    instance: dg.DagsterInstance,
    run_config: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
    raise_on_error: bool = True,
) -> Any:
    """Execute a job of a code location whose executor is ``in_process_executor``."""
    backed = RepoBackedJob(job, defs.get_repository_def())
    run = instance.create_run_for_job(backed.get_definition(), run_config=run_config or {}, tags=tags or {})
    return execute_run(backed, run, instance, raise_on_error=raise_on_error)
