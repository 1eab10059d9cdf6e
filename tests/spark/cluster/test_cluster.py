"""A master and two workers as processes, which share only the warehouse with the driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.spark.cluster.job import ROWS
from tests.support.canaries import canary, leaks, leaks_in
from tests.support.connect_process import needs_connect
from tests.support.shared_classes import java_options
from tests.support.standalone_cluster import StandaloneCluster, bare_python, cleaned, empty_python

ROOT = Path(__file__).resolve().parents[3]
HUSH = canary("cluster")

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Cluster:
    address: str
    logs: Path
    bare: Path
    """A Python without the library."""
    empty: Path
    """A Python without packages."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("cluster")
    bare, empty = bare_python(directory / "bare"), empty_python(directory / "empty")
    with StandaloneCluster(directory / "logs", workers=2, python=bare) as started:
        yield Cluster(started.address, directory / "logs", bare, empty)


def job(cluster: Cluster, module: str, directory: Path, **environment: str) -> tuple[dict[str, Any], str]:
    """Run a module as a driver on a cluster. Return its result and its output."""
    for name in ("events", "warehouse"):
        (directory / name).mkdir()
    own = {
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": "python3",
        "SHOP_SECRET_KEY": HUSH,
        "EMPTY_PYTHON": str(cluster.empty),
        "SPARK_LOCAL_DIRS": str(directory / "driver"),
        "SPARK_SUBMIT_OPTS": java_options(),
        **environment,
    }
    done = subprocess.run(
        [sys.executable, "-m", f"tests.spark.cluster.{module}", cluster.address, directory],
        cwd=ROOT,
        env=cleaned(dict(os.environ), cluster.bare) | own,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-6000:]
    [line] = [line for line in done.stdout.splitlines() if line.startswith("FACTS ")]
    return json.loads(line[len("FACTS ") :]), said


def check_places(facts: dict[str, Any]) -> None:
    # The library was sent to both executors: their Python does not have it.
    assert {code.rpartition("/table_format/")[0].rpartition("/")[2] for code, _ in facts["places"]} == {
        "table_format.zip"
    }
    assert len({executor for _, executor in facts["places"]}) == 2


def test_a_cluster_that_shares_only_the_warehouse_writes_reads_merges_and_compacts(
    cluster: Cluster, tmp_path: Path
) -> None:
    facts, said = job(cluster, "job", tmp_path)
    check_places(facts)
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
    assert not leaks(said + facts["plan"], HUSH)
    assert any(path.stat().st_size for path in (tmp_path / "events").rglob("*") if path.is_file())
    for place in (tmp_path / "events", tmp_path / "warehouse", cluster.logs):
        assert not leaks_in(place, HUSH)


@needs_connect
def test_a_connect_client_writes_reads_and_merges_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    # The server takes a free port instead of the one port, which another test may hold.
    facts, _ = job(cluster, "connect_job", tmp_path, SPARK_TESTING="1")
    assert facts["session"].startswith("pyspark.sql.connect")
    check_places(facts)
    assert facts["read"] == [ROWS - 10, sum(range(10, ROWS))]
    assert facts["merged"] == [5, 5]
    assert facts["source"] == 10
