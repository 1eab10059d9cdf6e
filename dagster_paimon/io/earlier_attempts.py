"""What earlier attempts of a step left in the event log."""

from __future__ import annotations

from typing import Final

import dagster as dg

from dagster_paimon.io.commits import FIRST_ATTEMPT, Attempts, Runs

_COMMIT_USER: Final = "paimon/commit_user"
_SNAPSHOT_ID: Final = "paimon/snapshot_id"


def earlier_attempts(context: dg.OutputContext, work: tuple[str, ...], user: str) -> Attempts:
    """Return what the runs of the work of a step tell about earlier attempts of an output, which commits as ``user``.

    The event of an output is stored after its commit, so an attempt with this event failed later.
    """
    step = context.step_context
    if step.previous_attempt_count == 0 and len(work) == 1:
        return FIRST_ATTEMPT
    handled = [number for run_id in work for number in _handled(step.instance, run_id, user)]
    began = [time for run_id in reversed(work) for time in _began(context, run_id)]
    # The last one is that of this attempt.
    return Attempts(handled[0] if handled else None, int(began[0] * 1000) if len(began) > 1 else None)


def _handled(runs: Runs, run_id: str, user: str) -> list[int]:
    """Return the snapshots that attempts in a run have reported, latest first."""
    logged = runs.all_logs(run_id, of_type=dg.DagsterEventType.HANDLED_OUTPUT)
    events = [entry.dagster_event for entry in reversed(logged) if entry.dagster_event is not None]
    reported = [getattr(event.event_specific_data, "metadata", {}) for event in events]
    return [
        number
        for metadata in reported
        if _COMMIT_USER in metadata and metadata[_COMMIT_USER].value == user
        if isinstance(number := metadata[_SNAPSHOT_ID].value, int)
    ]


def _began(context: dg.OutputContext, run_id: str) -> list[float]:
    """Return when attempts in a run passed the output to its I/O manager, in epoch seconds."""
    step = context.step_context
    logged = step.instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_OUTPUT)
    events = [(entry.timestamp, entry.dagster_event) for entry in logged if entry.dagster_event is not None]
    handles = [(time, event.step_output_data.step_output_handle) for time, event in events]
    wanted = (step.step.key, context.name, context.mapping_key)
    return [time for time, of in handles if (of.step_key, of.output_name, of.mapping_key) == wanted]
