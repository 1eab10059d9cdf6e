"""A terminated maintenance run, in a separate process: it is not retried and leaves nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.errors import DagsterExecutionInterruptedError

from dagster_paimon import RetryUnlessTerminated
from tests.support.dagster_project import Project
from tests.support.maintenance import a_keyed_table
from tests.support.reachable import check_files

pytestmark = pytest.mark.dagster

TABLE = "sales.items"
SCRIPT = """
import json, sys, threading
import dagster as dg
from dagster_paimon import LakehouseCatalog, SparkResource, maintenance_jobs
from dagster_paimon.maintenance.locks import pool_of
from table_format.io.local import LocalFileIO

warehouse, home = sys.argv[1:]
create = LocalFileIO.create

def stopping(self, path, data):
    if "/manifest/manifest-list-" in path:
        print("PREPARED", flush=True)
        threading.Event().wait()
    create(self, path, data)

LocalFileIO.create = stopping
(job,) = [job for job in maintenance_jobs() if job.name == "compact_table"]
with dg.DagsterInstance.local_temp(home) as instance:
    result = job.execute_in_process(
        run_config={"ops": {"compact": {"config": {"table": "sales.items", "full": True, "on_spark": False}}}},
        resources={"lakehouse": LakehouseCatalog(warehouse=warehouse), "spark": SparkResource()},
        instance=instance,
        raise_on_error=False,
    )
    kinds = [event.event_type_value for event in result.all_events]
    info = instance.event_log_storage.get_concurrency_info(pool_of("sales.items"))
    print(json.dumps({"kinds": kinds, "holders": len(info.claimed_slots), "pending": len(info.pending_steps)}))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_terminated_run_is_not_retried_and_leaves_nothing(
    project: Project, tmp_path: Path, number: signal.Signals
) -> None:
    a_keyed_table(project, TABLE, commits=4)
    table = project.table(TABLE)
    root = Path(table.store.paths.root)
    before = {path for path in root.rglob("*") if path.is_file()}
    home = tmp_path / "home"
    home.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, project.lakehouse.warehouse, str(home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "PREPARED\n"
        assert {path for path in root.rglob("*") if path.is_file()} > before
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    found = json.loads(out.splitlines()[-1])
    assert "STEP_UP_FOR_RETRY" not in found["kinds"], err[-3000:]
    assert "ASSET_OBSERVATION" not in found["kinds"]
    assert (found["holders"], found["pending"]) == (0, 0)
    assert {path for path in root.rglob("*") if path.is_file()} == before
    check_files(table)


def test_dagsters_own_policy_would_retry_an_interrupted_op() -> None:
    assert _attempts(dg.RetryPolicy(max_retries=1)) == 2


def test_a_failed_op_is_retried_but_an_interrupted_op_is_not() -> None:
    assert _attempts(RetryUnlessTerminated(max_retries=1)) == 1
    assert _attempts(RetryUnlessTerminated(max_retries=1), ValueError("failed")) == 2


def _attempts(policy: dg.RetryPolicy, error: BaseException | None = None) -> int:
    attempts: list[Any] = []

    @dg.op(retry_policy=policy)
    def interrupted() -> None:
        attempts.append(1)
        raise error or DagsterExecutionInterruptedError

    @dg.job
    def job() -> None:
        interrupted()

    job.execute_in_process(raise_on_error=False)
    return len(attempts)
