"""The committer: a repeated step has the same committer, a new run has another one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import dagster as dg
import pytest

from dagster_paimon.io.commits import committer, runs_of_work
from table_format.engine.support import Consumed


@dataclass(frozen=True)
class ARun:
    run_id: str
    parent_run_id: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    job_name: str = "main_pipeline"
    step_keys_to_execute: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ARecord:
    dagster_run: ARun
    create_timestamp: datetime = datetime(2026, 1, 2, tzinfo=UTC)


class History:
    def __init__(self, *runs: ARun) -> None:
        self._runs = {run.run_id: run for run in runs}

    def get_run_record_by_id(self, run_id: str) -> ARecord | None:
        run = self._runs.get(run_id)
        return None if run is None else ARecord(run)

    def all_logs(self, run_id: str, of_type: dg.DagsterEventType) -> list[dg.EventLogEntry]:
        """The step ``made`` of each run has succeeded."""
        assert of_type is dg.DagsterEventType.STEP_SUCCESS
        event = {"level": 20, "user_message": "", "timestamp": 0.0, "error_info": None}
        return [dg.EventLogEntry(run_id=run_id, step_key="made", **event)]


FROM_FAILURE = {"dagster/is_resume_retry": "true"}
AUTOMATIC = {"dagster/retry_number": "1"}
FIRST = ARun("first")


@pytest.mark.parametrize(
    ("run", "answer"),
    [
        (FIRST, ("first",)),
        (ARun("second", "first", FROM_FAILURE), ("second", "first")),
        (ARun("second", "first", AUTOMATIC), ("second", "first")),
        (ARun("new", "first"), ("new",)),
        (ARun("third", "new", FROM_FAILURE), ("third", "new")),
        (ARun("orphan", "forgotten", FROM_FAILURE), ("orphan", "forgotten")),
        (ARun("second", "first", step_keys_to_execute=("failed",)), ("second", "first")),
        (ARun("second", "first", step_keys_to_execute=("other",)), ("second",)),
    ],
)
def test_a_run_continues_only_the_work_of_the_run_that_it_retries(run: ARun, answer: tuple[str, ...]) -> None:
    assert runs_of_work(run, History(FIRST, ARun("new", "first")), "failed") == answer


def test_a_run_that_selects_a_step_that_has_succeeded_is_new_work() -> None:
    run = ARun("second", "first", step_keys_to_execute=("made",))
    assert runs_of_work(run, History(FIRST), "made") == ("second",)


def test_the_snapshot_records_its_run_and_inputs() -> None:
    run = ARun("second", "first", {**FROM_FAILURE, "dagster/backfill": "b1"})
    who = committer(
        run,
        History(FIRST),
        ("second", "first"),
        output="dwd__orders",
        asset="dwd/orders",
        partitions=("2026-01-01", "2026-01-02"),
        consumed={"ods.orders_cdc": Consumed(7, "uuid")},
    )
    assert who.user == "dagster:first:dwd__orders"
    assert who.since_ms == datetime(2026, 1, 1, 23, tzinfo=UTC).timestamp() * 1000
    assert dict(who.properties) == {
        "dagster.run_id": "second",
        "dagster.job": "main_pipeline",
        "dagster.asset": "dwd/orders",
        "dagster.partition": "2026-01-01...2026-01-02",
        "dagster.backfill_id": "b1",
        "consumed.ods.orders_cdc": "7",
        "consumed-state.ods.orders_cdc": "uuid",
    }
