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
"""The time after which a requested run that does not exist counts as failed."""

_FAILED: Final = (dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)


class Outcome(StrEnum):
    """The outcome of a requested run."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


def now_ms() -> int:
    """Return the current time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def outcome(instance: dg.DagsterInstance, run_key: str, *, requested_ms: int, now: int) -> Outcome:
    """Return the outcome of the run with a run key. A terminated run has failed.

    A failed run that Dagster will retry counts as running, and so does a run that the daemon has not created yet.
    """
    runs = instance.get_runs(filters=dg.RunsFilter(tags={_RUN_KEY_TAG: run_key}))
    if any(run.status is dg.DagsterRunStatus.SUCCESS for run in runs):
        return Outcome.SUCCEEDED
    if any(run.status not in _FAILED for run in runs):
        return Outcome.RUNNING
    waits = not runs or runs[0].tags.get(_WILL_RETRY_TAG) == "true"
    if waits and now - requested_ms < _NEVER_STARTED_MS:
        return Outcome.RUNNING
    return Outcome.FAILED


def pause_ms(failures: int) -> int:
    """Return how long to wait before requesting a run again after a number of consecutive failures.

    >>> [pause_ms(failures) // 60_000 for failures in (1, 2, 3, 10)]
    [1, 2, 4, 60]
    """
    return int(min(_FIRST_PAUSE_MS * 2 ** (max(failures, 1) - 1), _LONGEST_PAUSE_MS))
