"""What earlier attempts of a step left in the event log."""

from __future__ import annotations

import dagster as dg

from dagster_paimon.io.commits import runs_of_work


def was_handled_before(context: dg.OutputContext) -> bool:
    """Return whether an earlier attempt of the step, in this run or in one that it continues, handled the output.

    Its event is stored then, so the attempt failed later. The outputs of a dynamic output count as one.
    """
    step = context.step_context
    runs = runs_of_work(step.dagster_run, step.instance)
    if step.previous_attempt_count == 0 and len(runs) == 1:
        return False
    return any(_is_handled(step.instance, run_id, step.step.key, context.name) for run_id in runs)


def _is_handled(instance: dg.DagsterInstance, run_id: str, step: str, output: str) -> bool:
    logged = instance.all_logs(run_id, of_type=dg.DagsterEventType.HANDLED_OUTPUT)
    events = [entry.dagster_event for entry in logged if entry.dagster_event is not None]
    return any(e.step_key == step and getattr(e.event_specific_data, "output_name", None) == output for e in events)
