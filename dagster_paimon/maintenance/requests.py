"""Run requests of maintenance jobs for schedules and sensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import dagster as dg

MAINTAINS_TAG: Final = "lakehouse/maintains"
"""Run tag with the table of a maintenance run. The queue can limit runs by this tag."""


def maintenance_run(job_op: str, table: str, *, run_key: str | None = None, **config: object) -> dg.RunRequest:
    """Return a run of a maintenance job for one table, with the tag by which the queue can limit runs of one table."""
    return dg.RunRequest(
        run_key=run_key,
        run_config={"ops": {job_op: {"config": {"table": table, **config}}}},
        tags={MAINTAINS_TAG: table},
    )


def maintenance_run_of_all(
    job_op: str, tables: Sequence[str], *, run_key: str | None = None, **config: object
) -> dg.RunRequest:
    """Return one run of a maintenance job for several tables, one after the other."""
    return dg.RunRequest(run_key=run_key, run_config={"ops": {job_op: {"config": {"tables": [*tables], **config}}}})
