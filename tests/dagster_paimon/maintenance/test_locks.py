"""Only one maintenance run for each table at a time, however it was launched: runs of one instance take turns."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from dagster_paimon.maintenance.compaction import COMPACT
from dagster_paimon.maintenance.config import TablesConfig
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.maintenance.locks import TableLocks, pool_of
from dagster_paimon.maintenance.runner import maintenance_job
from tests.support.dagster_project import Project, a_project
from tests.support.maintenance import a_keyed_table, observations

pytestmark = pytest.mark.dagster

LOG = logging.getLogger(__name__)
TABLE = "sales.items"


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """Return an instance with a storage on disk, which has pools."""
    home = tmp_path / "dagster_home"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        yield instance


def a_run(instance: dg.DagsterInstance, status: dg.DagsterRunStatus = dg.DagsterRunStatus.STARTED) -> str:
    @dg.job
    def any_job() -> None: ...

    return instance.create_run_for_job(any_job, status=status).run_id


def locks(instance: dg.DagsterInstance, run_id: str, sleep: Callable[[float], None]) -> TableLocks:
    return TableLocks(instance, run_id, "step", LOG, sleep)


def never(seconds: float) -> None:
    message = f"nobody has the lock, and this waits for {seconds} s"
    raise AssertionError(message)


class Waits(list[float]):
    """How long a run waited, which is not for ever."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)
        assert len(self) < 10, "this run waits for nothing"


def holders(instance: dg.DagsterInstance, table: str = TABLE) -> set[str]:
    return {slot.run_id for slot in instance.event_log_storage.get_concurrency_info(pool_of(table)).claimed_slots}


def test_a_run_does_not_wait_forever_if_its_pool_is_deleted_meanwhile(stored: dg.DagsterInstance) -> None:
    waits = Waits()

    def somebody_deletes_the_pool(seconds: float) -> None:
        waits(seconds)
        if len(waits) == 1:
            stored.event_log_storage.delete_concurrency_limit(pool_of(TABLE))

    first, second = a_run(stored), a_run(stored)
    locks(stored, first, never).alone(TABLE).__enter__()
    with locks(stored, second, somebody_deletes_the_pool).alone(TABLE):
        assert holders(stored) == {second}


def test_a_run_that_waits_because_its_pool_has_no_slot_says_so(
    stored: dg.DagsterInstance, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    stored.event_log_storage.set_concurrency_slots(pool_of(TABLE), 0)

    def somebody_sets_the_limit(_: float) -> None:
        stored.event_log_storage.set_concurrency_slots(pool_of(TABLE), 1)

    with locks(stored, a_run(stored), somebody_sets_the_limit).alone(TABLE):
        assert "the limit of pool maintain/sales.items is 0; set it to 1" in caplog.text


def test_a_second_run_waits_until_the_first_is_done(stored: dg.DagsterInstance) -> None:
    first, second = a_run(stored), a_run(stored)
    free = locks(stored, first, never).alone(TABLE)
    free.__enter__()
    waits: list[float] = []

    def first_ends(seconds: float) -> None:
        waits.append(seconds)
        assert holders(stored) == {first}
        if len(waits) == 3:
            free.__exit__(None, None, None)

    with locks(stored, second, first_ends).alone(TABLE):
        assert len(waits) == 3
        assert waits[0] < waits[1] < waits[2]
        assert holders(stored) == {second}
    assert holders(stored) == set()


def test_each_look_of_a_waiting_run_asks_the_storage_once_who_is_ahead(
    stored: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = a_run(stored), a_run(stored)
    storage = type(stored.event_log_storage)
    ask, asked = storage.get_concurrency_info, []

    def counted_ask(self: Any, pool: str) -> Any:
        asked.append(pool)
        return ask(self, pool)

    monkeypatch.setattr(storage, "get_concurrency_info", counted_ask)
    free = locks(stored, first, never).alone(TABLE)
    free.__enter__()

    looks: list[float] = []

    def after_three_looks(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            free.__exit__(None, None, None)

    with locks(stored, second, after_three_looks).alone(TABLE):
        assert asked == [pool_of(TABLE)] * 3


def test_runs_of_different_tables_do_not_wait_for_each_other(stored: dg.DagsterInstance) -> None:
    first, second = a_run(stored), a_run(stored)
    with locks(stored, first, never).alone(TABLE), locks(stored, second, never).alone("sales.users"):
        assert (holders(stored), holders(stored, "sales.users")) == ({first}, {second})


def test_the_slot_of_a_run_whose_worker_was_killed_is_taken_over(stored: dg.DagsterInstance) -> None:
    dead, living = a_run(stored), a_run(stored)
    locks(stored, dead, never).alone(TABLE).__enter__()

    def noticed(seconds: float) -> None:
        pass

    record = stored.get_run_by_id(dead)
    assert record is not None
    stored.report_run_failed(record)
    with locks(stored, living, noticed).alone(TABLE):
        assert holders(stored) == {living}


def test_the_turn_of_a_run_that_was_killed_in_the_queue_is_taken_over(stored: dg.DagsterInstance) -> None:
    first, dead, living = a_run(stored), a_run(stored), a_run(stored)
    with locks(stored, first, never).alone(TABLE):
        stored.event_log_storage.claim_concurrency_slot(pool_of(TABLE), dead, "step")
    record = stored.get_run_by_id(dead)
    assert record is not None
    stored.report_run_failed(record)
    waits = Waits()
    with locks(stored, living, waits).alone(TABLE):
        assert (holders(stored), len(waits)) == ({living}, 1)


def test_a_run_that_joins_the_queue_while_the_slot_is_freed_takes_it(
    stored: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = a_run(stored), a_run(stored), a_run(stored)
    storage = type(stored.event_log_storage)
    add, free = storage.add_pending_step, locks(stored, first, never).alone(TABLE)

    def after_the_first_has_ended(self: Any, *claim: Any, **named: Any) -> None:
        free.__exit__(None, None, None)
        add(self, *claim, **named)
        # A run that is as late takes its turn as well.
        add(self, pool_of(TABLE), third, "step")
        monkeypatch.setattr(storage, "add_pending_step", add)

    free.__enter__()
    monkeypatch.setattr(storage, "add_pending_step", after_the_first_has_ended)
    waits = Waits()
    with locks(stored, second, waits).alone(TABLE):
        assert (holders(stored), len(waits)) == ({second}, 1)
    with locks(stored, third, waits).alone(TABLE):
        assert (holders(stored), len(waits)) == ({third}, 1)


@pytest.mark.parametrize("error", [ValueError("the work failed"), KeyboardInterrupt()])
def test_a_lock_is_freed_when_the_work_fails_or_is_interrupted(
    stored: dg.DagsterInstance, error: BaseException
) -> None:
    with pytest.raises(type(error)), locks(stored, a_run(stored), never).alone(TABLE):
        raise error
    assert holders(stored) == set()


def test_an_interrupted_waiting_run_leaves_the_queue(stored: dg.DagsterInstance) -> None:
    first, second = a_run(stored), a_run(stored)

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    with locks(stored, first, never).alone(TABLE):
        with pytest.raises(KeyboardInterrupt), locks(stored, second, interrupted).alone(TABLE):
            pass
        info = stored.event_log_storage.get_concurrency_info(pool_of(TABLE))
        assert (holders(stored), {step.run_id for step in info.pending_steps}) == ({first}, {first})


def test_two_runs_of_jobs_take_turns_on_a_table(tmp_path: Path, stored: dg.DagsterInstance) -> None:
    project = a_project(tmp_path, stored)
    a_keyed_table(project, TABLE, commits=2)
    entered, go_on, inside = threading.Event(), threading.Event(), []

    def work(visit: Visit, config: TablesConfig) -> Outcome:
        inside.append("in")
        assert inside.count("in") - inside.count("out") == 1
        entered.set()
        assert go_on.wait(60)
        inside.append("out")
        return Outcome("test", "done")

    kind = Maintenance(job="slow", op="slowly", description="", config=TablesConfig, work=work, measured=False)
    results: list[Any] = []

    def launch(name: str, op: str, job: dg.JobDefinition, **config: Any) -> None:
        results.append(
            job.execute_in_process(
                run_config={"ops": {op: {"config": {"table": TABLE, **config}}}},
                resources=project.resources,
                instance=stored,
            )
        )

    slow = threading.Thread(target=launch, args=("slow", "slowly", maintenance_job(kind, TablesConfig)))
    slow.start()
    assert entered.wait(60)
    compact = maintenance_job(COMPACT, COMPACT.config)
    other = threading.Thread(
        target=launch, args=("compact", "compact", compact), kwargs={"full": True, "on_spark": False}
    )
    other.start()
    assert _waits(stored)
    assert project.table(TABLE).snapshots()[-1].id == 2
    go_on.set()
    slow.join(60)
    other.join(60)
    assert [len(observations(result)) for result in results] == [1, 1]
    assert project.table(TABLE).snapshots()[-1].id == 3
    assert holders(stored) == set()


def _waits(instance: dg.DagsterInstance) -> bool:
    """Return whether a run waits for the table. This polls, because the run waits in a separate thread."""
    paused = threading.Event()
    for _ in range(1200):
        if instance.event_log_storage.get_concurrency_info(pool_of(TABLE)).pending_step_count:
            return True
        paused.wait(0.05)
    return False


def test_a_claim_begins_after_a_running_claim_has_ended(
    stored: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = a_run(stored), a_run(stored)
    storage = type(stored.event_log_storage)
    claim, claims = storage.claim_concurrency_slot, list[str]()
    inside, given_up = threading.Event(), threading.Event()

    def slow(self: Any, pool: str, run_id: str, *rest: Any) -> Any:
        claims.append(f"{run_id} begins")
        inside.set()
        # Without the lock, the other run would begin its claim in this time.
        given_up.wait(0.5)
        claimed = claim(self, pool, run_id, *rest)
        claims.append(f"{run_id} ends")
        return claimed

    def takes_its_turn() -> None:
        assert inside.wait(60)
        with locks(stored, second, lambda _: None).alone(TABLE):
            pass

    monkeypatch.setattr(storage, "claim_concurrency_slot", slow)
    other = threading.Thread(target=takes_its_turn)
    other.start()
    with locks(stored, first, never).alone(TABLE):
        pass
    other.join(60)
    expected = [run for run in (first, second) for _ in range(2)]
    assert [line.split()[0] for line in claims[:2]] == [first, first]
    assert [line.split()[0] for line in claims] == [*expected, *[second] * (len(claims) - 4)]
    assert holders(stored) == set()


TAKES_TURNS = """
import logging, os, sys, time
import dagster as dg
from dagster_paimon.maintenance.locks import TableLocks

home, run_id, log = sys.argv[1:]
with dg.DagsterInstance.local_temp(home) as instance:
    with open(log, "a", buffering=1) as lines:
        for turn in range(5):
            locks = TableLocks(instance, run_id, f"step {turn}", logging.getLogger(), lambda _: time.sleep(0.02))
            with locks.alone("sales.items"):
                lines.write(f"{os.getpid()} in\\n")
                time.sleep(0.02)
                lines.write(f"{os.getpid()} out\\n")
"""


def test_processes_take_turns_on_a_table(tmp_path: Path, stored: dg.DagsterInstance) -> None:
    log = tmp_path / "log"
    home = str(tmp_path / "dagster_home")
    processes = [subprocess.Popen([sys.executable, "-c", TAKES_TURNS, home, a_run(stored), str(log)]) for _ in range(2)]
    assert [process.wait(300) for process in processes] == [0, 0]
    lines = log.read_text().splitlines()
    assert len(lines) == 2 * 5 * len(processes)
    # Each process leaves before another one enters.
    assert all(entry.split() == [leave.split()[0], "in"] for entry, leave in zip(lines[::2], lines[1::2], strict=True))
    assert holders(stored) == set()


def test_an_instance_in_memory_has_no_locks_and_works(project: Project) -> None:
    a_keyed_table(project, TABLE, commits=1)
    with TableLocks(project.instance, "run", "step", LOG, never).alone(TABLE):
        pass
