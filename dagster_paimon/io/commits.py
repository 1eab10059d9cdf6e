"""The commit user and identifier of a step, with which a repeated step finds the commit of its first attempt.

A step that crashes between its commit and its materialization event runs again, in the same run (retry policy) or in
a run that continues it (re-execution from failure, automatic retry). All of them commit under the user
``dagster:<first run>:<step>`` and look for a snapshot of this user before they write. An output with another name than
``result`` adds this name, and a dynamic output its mapping key, because two outputs of a step may have one table. A run
that a user starts again, including "re-execute all", is new work and writes. So is an output that replaces rows, if an
earlier attempt stored its event: the step failed later, such as by a check, and may have other rows now.

The snapshot may have expired when a step runs again, such as the next day. The events of the earlier attempts tell
whether they committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

import dagster as dg

from table_format import Snapshot
from table_format.engine.support import Consumed

RUN_ID_PROPERTY: Final = "dagster.run_id"
"""The snapshot property with the run that committed it."""

_CONTINUES: Final = ("dagster/is_resume_retry", "dagster/is_asset_resume_retry", "dagster/retry_number")
_BACKFILL: Final = "dagster/backfill"
_ONLY_OUTPUT: Final = "result"
"""Dagster's name for the output of an op or an asset that has only one."""
_CLOCKS_DIFFER_MS: Final = 3_600_000
"""The allowed clock difference between the machine that commits and the one that creates runs."""


class Run(Protocol):
    """The used part of a Dagster run."""

    @property
    def run_id(self) -> str:
        """The id of the run."""
        ...

    @property
    def parent_run_id(self) -> str | None:
        """The run that this one retries, if any."""
        ...

    @property
    def job_name(self) -> str:
        """The job of the run."""
        ...

    @property
    def tags(self) -> Mapping[str, str]:
        """The tags of the run."""
        ...

    @property
    def step_keys_to_execute(self) -> Sequence[str] | None:
        """The selected steps; ``None`` for all."""
        ...


class RunRecord(Protocol):
    """A run and when it was created."""

    @property
    def dagster_run(self) -> Run:
        """The run."""
        ...

    @property
    def create_timestamp(self) -> datetime:
        """When the run was created, in UTC."""
        ...


class Runs(Protocol):
    """The storage of earlier runs: a Dagster instance."""

    def get_run_record_by_id(self, run_id: str) -> RunRecord | None:
        """Return the record of a run; ``None`` if it does not exist."""
        ...

    def all_logs(self, run_id: str, of_type: dg.DagsterEventType) -> Sequence[dg.EventLogEntry]:
        """Return the events of one type of a run, oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class Attempts:
    """What the event log has about earlier attempts of an output.

    ``handled_id`` is the snapshot that one of them reported, before it failed for another reason. ``began_ms`` is when
    the first of them was about to commit; ``None`` if none was. Some of them may have been killed after their commit.
    """

    handled_id: int | None = None
    began_ms: int | None = None


FIRST_ATTEMPT: Final = Attempts()


@dataclass(frozen=True, slots=True)
class Committer:
    """The commit user of one step, and the properties of its snapshots.

    ``since_ms`` is a time before the first commit of the user, at which a search can stop. ``identifier`` is that of
    the next commit: an attempt that replaces the rows of an earlier one takes the number after it.
    """

    user: str
    properties: Mapping[str, str]
    since_ms: int = 0
    identifier: int = 1
    attempts: Attempts = FIRST_ATTEMPT

    def with_properties(self, more: Mapping[str, str]) -> Committer:
        """Return the same with more properties; existing ones stay."""
        return replace(self, properties={**more, **self.properties})

    def after(self, earlier: Iterable[Snapshot]) -> Committer:
        """Return the same for the commit after these snapshots of the user."""
        return replace(self, identifier=max([0, *(snapshot.commit_identifier for snapshot in earlier)]) + 1)


def runs_of_work(run: Run, runs: Runs, step: str | None = None) -> tuple[str, ...]:
    """Return the run, and those that it continues because they failed: the first run of this work is the last one.

    A run of selected steps continues another one in a ``step`` that did not succeed there. ``dg.execute_job`` marks a
    re-execution from failure in no other way.
    """
    found, current = [run.run_id], run
    while current.parent_run_id and (_continues(current) or _repeats(current, runs, step)):
        found.append(current.parent_run_id)
        parent = runs.get_run_record_by_id(current.parent_run_id)
        if parent is None:
            break
        current = parent.dagster_run
    return tuple(found)


def _continues(run: Run) -> bool:
    return any(tag in run.tags for tag in _CONTINUES)


def _repeats(run: Run, runs: Runs, step: str | None) -> bool:
    """Return whether a run was started for a step that did not succeed in its parent, among other selected steps."""
    if step is None or step not in (run.step_keys_to_execute or ()) or run.parent_run_id is None:
        return False
    succeeded = runs.all_logs(run.parent_run_id, of_type=dg.DagsterEventType.STEP_SUCCESS)
    return all(entry.step_key != step for entry in succeeded)


def output_name(step: str, name: str, mapping_key: str | None) -> str:
    """Return the name of one output of a step, which no other output of the run has.

    >>> output_name("shop__orders", "result", None), output_name("split", "days", "monday")
    ('shop__orders', 'split:days[monday]')
    """
    named = step if name == _ONLY_OUTPUT else f"{step}:{name}"
    return named if mapping_key is None else f"{named}[{mapping_key}]"


def committer(
    run: Run,
    runs: Runs,
    work: Sequence[str],
    *,
    output: str,
    asset: str,
    partitions: tuple[str, ...],
    consumed: Mapping[str, Consumed],
) -> Committer:
    """Return the committer of one output (``output_name``). ``work`` has the runs of its step (``runs_of_work``), and
    ``consumed`` the snapshots that were read, by table.
    """
    properties = {
        RUN_ID_PROPERTY: run.run_id,
        "dagster.job": run.job_name,
        "dagster.asset": asset,
        **({"dagster.partition": _span(partitions)} if partitions else {}),
        **({"dagster.backfill_id": run.tags[_BACKFILL]} if _BACKFILL in run.tags else {}),
    }
    for table, snapshot in consumed.items():
        properties |= snapshot.properties(table)
    first = work[-1]
    record = runs.get_run_record_by_id(first)
    since_ms = 0 if record is None else int(record.create_timestamp.timestamp() * 1000) - _CLOCKS_DIFFER_MS
    return Committer(user=f"dagster:{first}:{output}", properties=properties, since_ms=since_ms)


def _span(partitions: tuple[str, ...]) -> str:
    return partitions[0] if len(partitions) == 1 else f"{partitions[0]}...{partitions[-1]}"
