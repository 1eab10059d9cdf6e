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
    began = [time for run_id in work for time in _began(step.instance, run_id, user)]
    return Attempts(handled[0] if handled else None, int(min(began) * 1000) if began else None)


def announce_commit(context: dg.OutputContext, user: str) -> None:
    """Store that an attempt is about to commit as ``user``. An attempt without this event has committed nothing."""
    step = context.step_context
    step.instance.report_engine_event(_announcement(user), step.dagster_run, step_key=step.step.key)


def _announcement(user: str) -> str:
    return f"committing rows as {user}"


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


def _began(runs: Runs, run_id: str, user: str) -> list[float]:
    """Return when attempts in a run were about to commit, in epoch seconds."""
    logged = runs.all_logs(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT)
    return [entry.timestamp for entry in logged if entry.message == _announcement(user)]
