"""Which tables earlier attempts of a maintenance op have already reported, so that a retry leaves them out.

A retry because of one table would otherwise repeat the work on all tables of a run.
"""

from __future__ import annotations

from typing import Final

import dagster as dg

REPORTED: Final = "paimon/table"
"""The metadata of a report that names its table. A report of a problem has none, because a retry looks again."""


def reported_before(context: dg.OpExecutionContext) -> frozenset[str]:
    """Return the tables that earlier attempts of the op have reported in this run."""
    step = context.get_step_execution_context()
    if not step.previous_attempt_count:
        return frozenset()
    logged = context.instance.all_logs(context.run_id, of_type=dg.DagsterEventType.ASSET_OBSERVATION)
    events = [entry.dagster_event for entry in logged if entry.dagster_event is not None]
    reports = [e.asset_observation_data.asset_observation for e in events if e.step_key == step.step.key]
    return frozenset(str(report.metadata[REPORTED].value) for report in reports if REPORTED in report.metadata)
