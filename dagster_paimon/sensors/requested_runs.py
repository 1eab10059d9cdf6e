"""Determines the outcome of a run that a sensor requested, and when to request it again after a failure."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Final

import dagster as dg

_RUN_KEY_TAG: Final = "dagster/run_key"
_WILL_RETRY_TAG: Final = "dagster/will_retry"
_FIRST_PAUSE_MS: Final = 60_000
_LONGEST_PAUSE_MS: Final = 3_600_000
_NEVER_STARTED_MS: Final = 600_000
"""The time after which a run that does not exist counts as failed: since its request, or since the end of the run that
it retries."""

_FAILED: Final = (dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)


class Outcome(StrEnum):
    """The outcome of a requested run."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


def now_ms() -> int:
    """Return the current time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def position_of(context: dg.SensorEvaluationContext) -> str:
    """Return a text that differs from tick to tick, but that a tick has in common with one that repeats it.

    The daemon stores the time of a tick together with its cursor. If it is killed before that, the next tick has the
    same cursor, and Dagster launches no run of a run key twice.
    """
    time_ms = now_ms() if context.last_tick_completion_time is None else int(context.last_tick_completion_time * 1000)
    return str(time_ms)


def outcome(instance: dg.DagsterInstance, run_key: str, *, requested_ms: int, now: int) -> Outcome:
    """Return the outcome of the run with a run key. A terminated run has failed.

    A failed run that Dagster will retry counts as running, and so does a run that the daemon has not created yet.
    """
    records = instance.get_run_records(filters=dg.RunsFilter(tags={_RUN_KEY_TAG: run_key}))
    runs = [record.dagster_run for record in records]
    if any(run.status is dg.DagsterRunStatus.SUCCESS for run in runs):
        return Outcome.SUCCEEDED
    if any(run.status not in _FAILED for run in runs):
        return Outcome.RUNNING
    if runs and runs[0].tags.get(_WILL_RETRY_TAG) != "true":
        return Outcome.FAILED
    # The daemon creates the retry after the run has ended, which may be long after it was requested.
    since = requested_ms if not records else int(records[0].update_timestamp.timestamp() * 1000)
    return Outcome.RUNNING if now - since < _NEVER_STARTED_MS else Outcome.FAILED


def pause_ms(failures: int) -> int:
    """Return how long to wait before requesting a run again after a number of consecutive failures.

    >>> [pause_ms(failures) // 60_000 for failures in (1, 2, 3, 10)]
    [1, 2, 4, 60]
    """
    return int(min(_FIRST_PAUSE_MS * 2 ** (max(failures, 1) - 1), _LONGEST_PAUSE_MS))
