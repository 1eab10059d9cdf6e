"""A JVM that dies during a run costs one retry in a new session. The JVM of a terminated run ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.spark_session import interpreting_java

pytestmark = [pytest.mark.dagster, pytest.mark.spark]

ROOT = Path(__file__).resolve().parents[3]
MODULE = "tests.dagster_paimon.resources.spark_process"
DIED = "the JVM of the Spark session has died; a new one is created"


@dataclass(frozen=True)
class Told:
    """What the process of the runs has told about each run, on its two outputs, and the JVM of the last run."""

    found: dict[str, str]
    errors: dict[str, str]
    jvm: int


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The last run is terminated when its job is at work."""
    directory = tmp_path_factory.mktemp("runs")
    found: dict[str, str] = {}
    with (directory / "errors").open("w") as errors:
        command = [sys.executable, "-m", MODULE, str(directory)]
        environment = {**os.environ, "SPARK_SUBMIT_OPTS": interpreting_java()}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
    watch = threading.Timer(400, process.kill)
    watch.start()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            name, _, said = line.rstrip().partition(" ")
            found[name] = said
            if name == "JVM":
                process.send_signal(signal.SIGTERM)
        process.wait()
    finally:
        watch.cancel()
        process.kill()
    said = (directory / "errors").read_text()
    assert "JVM" in found, said[-6000:]
    parts = (part.partition("\n") for part in said.split("RUN ")[1:])
    return Told(found, {name: text for name, _, text in parts}, int(found["JVM"]))


def test_a_dead_jvm_costs_one_retry_and_a_stopped_context_none(told: Told) -> None:
    assert told.found["dead_jvm"] == "True 1 5"
    assert told.errors["dead_jvm"].count(DIED) == 1
    assert told.found["stopped_context"] == "3"


def test_a_jvm_that_dies_during_a_write_costs_one_retry_and_no_row(told: Told) -> None:
    assert told.found["jvm_that_dies_while_writing"] == "True 1 1 [0, 1, 2, 3, 4]"
    assert told.errors["jvm_that_dies_while_writing"].count(DIED) == 1


def test_a_terminated_run_cancels_its_jobs_and_ends_its_jvm(told: Told) -> None:
    assert told.found["terminated_run"] == "0 1 []", told.errors["terminated_run"][-3000:]
    assert "work was interrupted: its Spark jobs are cancelled" in told.errors["terminated_run"]
    assert _is_gone(told.jvm)


def _is_gone(pid: int) -> bool:
    """Return whether a process ends soon without help. A zombie counts as ended."""
    pause = threading.Event()
    for _ in range(600):
        status = Path(f"/proc/{pid}/status")
        if not status.exists() or "State:\tZ" in status.read_text():
            return True
        pause.wait(0.05)
    return False
