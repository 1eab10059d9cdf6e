"""Who commits: the commit user and identifier that let a repeated step find what its first attempt committed.

A step that crashes between its commit and its materialization event is run again, in the same run (retry policy) or in
a run that continues it (re-execution from failure, automatic retry). All of them commit under the user
``dagster:<first run>:<step>``, and the table is asked for that user's snapshot before anything is written. A run that a
person starts again, "re-execute all" included, is work of its own and writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

RUN_ID_PROPERTY: Final = "dagster.run_id"
"""The property of a snapshot that names the run which committed it."""

_CONTINUES: Final = ("dagster/is_resume_retry", "dagster/is_asset_resume_retry", "dagster/retry_number")
_BACKFILL: Final = "dagster/backfill"
_CLOCKS_DIFFER_MS: Final = 3_600_000
"""How far the clock of a machine that commits may be behind the one that makes runs."""


class Run(Protocol):
    """What is needed of a Dagster run."""

    @property
    def run_id(self) -> str:
        """The id of the run."""
        ...

    @property
    def parent_run_id(self) -> str | None:
        """The run that this one repeats, if it is a retry of one."""
        ...

    @property
    def job_name(self) -> str:
        """The job that the run is one of."""
        ...

    @property
    def tags(self) -> Mapping[str, str]:
        """The tags of the run."""
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
    """Where earlier runs are found: a Dagster instance."""

    def get_run_record_by_id(self, run_id: str) -> RunRecord | None:
        """The record of a run; ``None`` if there is none of that id."""
        ...


@dataclass(frozen=True, slots=True)
class Committer:
    """The user of all commits of one step, and what is written into the snapshots' properties.

    ``since_ms`` is a time before the user's first commit: there is no need to look for one further back.
    """

    user: str
    properties: Mapping[str, str]
    since_ms: int = 0

    def with_properties(self, more: Mapping[str, str]) -> Committer:
        """The same with further properties; what is there already stays."""
        return replace(self, properties={**more, **self.properties})


def first_run_id(run: Run, runs: Runs) -> str:
    """The run whose work this run carries on: itself, unless it continues a failed one."""
    current = run
    while current.parent_run_id and any(tag in current.tags for tag in _CONTINUES):
        parent = runs.get_run_record_by_id(current.parent_run_id)
        if parent is None:
            return current.parent_run_id
        current = parent.dagster_run
    return current.run_id


def committer(
    run: Run, runs: Runs, *, step: str, asset: str, partitions: tuple[str, ...], consumed: Mapping[str, int]
) -> Committer:
    """The committer of one step's output; ``consumed`` are the snapshots that were read, by table."""
    properties = {
        RUN_ID_PROPERTY: run.run_id,
        "dagster.job": run.job_name,
        "dagster.asset": asset,
        **({"dagster.partition": _span(partitions)} if partitions else {}),
        **({"dagster.backfill_id": run.tags[_BACKFILL]} if _BACKFILL in run.tags else {}),
        **{f"consumed.{table}": str(snapshot) for table, snapshot in consumed.items()},
    }
    first = first_run_id(run, runs)
    record = runs.get_run_record_by_id(first)
    since_ms = 0 if record is None else int(record.create_timestamp.timestamp() * 1000) - _CLOCKS_DIFFER_MS
    return Committer(user=f"dagster:{first}:{step}", properties=properties, since_ms=since_ms)


def _span(partitions: tuple[str, ...]) -> str:
    return partitions[0] if len(partitions) == 1 else f"{partitions[0]}...{partitions[-1]}"
