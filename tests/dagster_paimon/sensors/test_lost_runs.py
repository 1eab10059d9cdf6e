"""A started run whose process and code server are both gone is marked as failed; any other run is left alone."""

from __future__ import annotations

import inspect
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.tags import GRPC_INFO_TAG
from dagster._grpc import impl

from dagster_paimon import run_failure_cleanup
from dagster_paimon.sensors import lost_runs
from tests.support.dagster_project import Project
from tests.support.sensor_ticks import Ticks

STARTED = dg.DagsterRunStatus.STARTED
FAILED = dg.DagsterRunStatus.FAILURE


@dg.job
def any_job() -> None: ...


class Machine:
    """A machine on which a code server starts runs, and on which both die."""

    def __init__(self, project: Project, directory: Path) -> None:
        self.instance = project.instance
        self.address = directory / "server"
        self.ticks = Ticks(run_failure_cleanup(), project.instance, project.lakehouse, jobs=[any_job])

    def server(self) -> socket.socket:
        """Start a code server. Closed, it leaves its address behind, as one that was killed."""
        started = socket.socket(socket.AF_UNIX)
        started.bind(str(self.address))
        started.listen()
        return started

    def run(self, process: int | None, status: dg.DagsterRunStatus = STARTED) -> str:
        tags = {GRPC_INFO_TAG: json.dumps({"host": "localhost", "socket": str(self.address)})}
        run = self.instance.create_run_for_job(any_job, tags=tags, status=status)
        if process is not None:
            self.instance.report_engine_event(f"Started process for run (pid: {process}).", run)
        return run.run_id

    def tick(self) -> str:
        return str(self.ticks.tick().skip_message)

    def status(self, run_id: str) -> dg.DagsterRunStatus:
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        return run.status


@pytest.fixture
def machine(project: Project) -> Iterator[Machine]:
    # The address of a socket is short.
    with tempfile.TemporaryDirectory(prefix="lost-") as directory:
        yield Machine(project, Path(directory))


def of_a_dead_process() -> int:
    """Return the number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_run_that_died_with_its_server_is_marked_as_failed_and_its_log_says_why(machine: Machine) -> None:
    machine.server().close()
    run = machine.run(of_a_dead_process())
    told = f"run {run[:8]} has failed: its process ended together with the code server that watched it"
    assert told in machine.tick()
    assert machine.status(run) is FAILED
    assert any(told[1:] in record.message for record in machine.instance.all_logs(run))
    assert machine.tick() == "no run has failed"


def test_a_run_is_lost_even_if_the_address_of_its_server_has_gone_with_the_machine(machine: Machine) -> None:
    server, run = machine.server(), machine.run(of_a_dead_process())
    machine.tick()
    assert machine.status(run) is STARTED
    server.close()
    machine.address.unlink()
    machine.tick()
    assert machine.status(run) is FAILED


def test_a_process_that_began_later_is_not_that_of_the_run(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.server().close()
    run = machine.run(os.getpid())
    monkeypatch.setattr(lost_runs, "_began", lambda _: 32_503_680_000.0)
    machine.tick()
    assert machine.status(run) is FAILED


def with_a_living_process(machine: Machine) -> str:
    machine.server().close()
    return machine.run(os.getpid())


def whose_process_is_unknown(machine: Machine) -> str:
    machine.server().close()
    return machine.run(None)


def that_has_not_started(machine: Machine) -> str:
    machine.server().close()
    return machine.run(of_a_dead_process(), dg.DagsterRunStatus.STARTING)


def of_another_machine(machine: Machine) -> str:
    return machine.run(of_a_dead_process())


def of_another_launcher(machine: Machine) -> str:
    return str(machine.instance.create_run_for_job(any_job, status=STARTED).run_id)


@pytest.mark.parametrize(
    "a_run",
    [with_a_living_process, whose_process_is_unknown, that_has_not_started, of_another_machine, of_another_launcher],
)
def test_a_run_that_may_be_at_work_is_left_alone(machine: Machine, a_run: Callable[[Machine], str]) -> None:
    run = a_run(machine)
    before = machine.status(run)
    for _ in range(2):
        assert machine.tick() == "no run has failed"
    assert machine.status(run) is before


def test_the_files_of_a_run_that_was_ended_by_force_wait_for_the_end_of_its_process(machine: Machine) -> None:
    with machine.server():
        machine.tick()
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
            run = machine.run(process.pid)
            found = machine.instance.get_run_by_id(run)
            assert found is not None
            machine.instance.report_run_canceled(found)
            for _ in range(2):
                assert machine.tick() == f"run {run[:8]} waits: its process {process.pid} has not ended"
            process.communicate()
        assert machine.tick() == "no run has failed"


def test_a_run_that_a_living_server_watches_is_left_to_it(machine: Machine) -> None:
    with machine.server():
        run = machine.run(of_a_dead_process())
        for _ in range(2):
            assert machine.tick() == "no run has failed"
        assert machine.status(run) is STARTED


def test_dagster_names_the_server_and_the_process_of_a_run_as_this_expects() -> None:
    assert lost_runs._SERVER_TAG == GRPC_INFO_TAG
    assert "Started process for run (pid: {pid})." in inspect.getsource(impl)
