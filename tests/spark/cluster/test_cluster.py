"""A master and two workers as processes, which share only the warehouse with the driver."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.spark.cluster.connect_job import ROWS
from tests.spark.cluster.job import CONF
from tests.support.canaries import canary, leaks, leaks_in
from tests.support.connect_process import has_connect, needs_connect
from tests.support.shared_classes import java_options
from tests.support.standalone_cluster import StandaloneCluster, bare_python, cleaned, empty_python

ROOT = Path(__file__).resolve().parents[3]
HUSH = canary("cluster")

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Outcome:
    """What a driver on the cluster has printed, and where its processes have written."""

    facts: dict[str, dict[str, Any]]
    """What the driver found, below ``FACTS``, and what a client of its server found, below ``CONNECT``."""
    said: str
    directory: Path
    logs: Path


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    directory = tmp_path_factory.mktemp("cluster")
    bare, empty = bare_python(directory / "bare"), empty_python(directory / "empty")
    logs, place = directory / "logs", directory / "job"
    for name in ("events", "warehouse", "temporary"):
        (place / name).mkdir(parents=True)
    environment = environment_of(place, bare, empty)
    said = ""
    with StandaloneCluster(logs, workers=2, python=bare) as cluster:
        if has_connect():
            with cluster.connect_server({**CONF, "spark.cores.max": "1"}) as address:
                said += printed("connect_job", address, place / "connect", environment)
        said += printed("job", cluster.address, place, environment)
    lines = [line.partition(" ") for line in said.splitlines() if line.startswith(("FACTS ", "CONNECT "))]
    return Outcome({name: json.loads(facts) for name, _, facts in lines}, said, place, logs)


def environment_of(directory: Path, bare: Path, empty: Path) -> dict[str, str]:
    """The environment of a driver or a client, whose workers use a Python that lacks the library."""
    own = {
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": "python3",
        "SHOP_SECRET_KEY": HUSH,
        # A Python without packages.
        "EMPTY_PYTHON": str(empty),
        "SPARK_LOCAL_DIRS": str(directory / "driver"),
        "SPARK_SUBMIT_OPTS": java_options(),
        "TMPDIR": str(directory / "temporary"),
    }
    return cleaned(dict(os.environ), bare) | own


def printed(module: str, address: str, directory: Path, environment: dict[str, str]) -> str:
    """Run a driver or a client of a server on the cluster; its output."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.spark.cluster.{module}", address, directory],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-40_000:]
    return said


def check_places(facts: dict[str, Any], *, executors: int) -> None:
    # The library was sent to the executors: their Python does not have it.
    [archive] = {code.rpartition("/table_format/")[0].rpartition("/")[2] for code, _ in facts["places"]}
    assert re.fullmatch(r"table_format-\w+\.zip", archive)
    assert len({executor for _, executor in facts["places"]}) == executors


def test_a_cluster_that_shares_only_the_warehouse_writes_reads_merges_and_compacts(
    outcome: Outcome,
) -> None:
    facts = outcome.facts["FACTS"]
    check_places(facts, executors=2)
    assert facts["merged"] == [ROWS, sum(range(ROWS)) - 2 * sum(range(100))]
    # The row of id 0 is deleted, 19 are changed, one is new.
    changed = [ROWS, 19, ROWS]
    assert facts["after merge"] == facts["at the end"] == changed
    assert facts["compacted"] == ["COMPACT"]
    assert 0 not in facts["levels"]
    assert facts["marked"] == 900
    assert facts["dynamic"] == [1500, 1000]
    assert facts["source"] == 1500
    assert facts["streamed"] == [ROWS, 1]
    assert "PYSPARK_PYTHON" in facts["without packages"]
    assert "\n" not in facts["without packages"]
    # Neither plans, nor the logs of master, workers and executors, nor the history of events show a credential.
    assert not leaks(outcome.said + facts["plan"], HUSH)
    assert any(path.stat().st_size for path in (outcome.directory / "events").rglob("*") if path.is_file())
    for place in (outcome.directory / "events", outcome.directory / "warehouse", outcome.logs):
        assert not leaks_in(place, HUSH)


def test_drivers_and_connect_clients_leave_no_archive_of_the_code_behind(outcome: Outcome) -> None:
    assert not list((outcome.directory / "temporary").rglob("*.zip"))


@needs_connect
def test_a_connect_client_writes_reads_and_merges_on_a_cluster(outcome: Outcome) -> None:
    facts = outcome.facts["CONNECT"]
    assert facts["session"].startswith("pyspark.sql.connect")
    check_places(facts, executors=1)
    assert facts["read"] == [ROWS - 10, sum(range(10, ROWS))]
    assert facts["merged"] == [5, 5]
    assert facts["source"] == 10
