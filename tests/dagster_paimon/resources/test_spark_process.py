"""A JVM that dies during a run costs one retry in a new session. The JVM of a terminated run ends with it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytestmark = [pytest.mark.dagster, pytest.mark.spark]

SCRIPT = """
import os, signal
import dagster as dg
from dagster_paimon import RetryUnlessTerminated, SparkResource

@dg.op(retry_policy=RetryUnlessTerminated(max_retries=1))
def counts(context: dg.OpExecutionContext, spark: SparkResource) -> int:
    from pyspark import SparkContext
    session = spark.session(context.log.info)
    if context.retry_number == 0:
        process = SparkContext._gateway.proc
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    return session.range(5).count()

@dg.job(resource_defs={"spark": SparkResource(master="local[1]", driver_memory="512m")})
def counting():
    counts()

result = counting.execute_in_process(raise_on_error=False)
kinds = [event.event_type_value for event in result.all_events]
print("OUTCOME", result.success, kinds.count("STEP_UP_FOR_RETRY"), result.output_for_node("counts"))
session = SparkResource(master="local[1]").session()
session.sparkContext._jsc.sc().stop()
print("AGAIN", SparkResource(master="local[1]", driver_memory="512m").session().range(3).count())
"""


def test_a_dead_jvm_costs_one_retry_and_a_stopped_context_none() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300, check=False)
    assert "OUTCOME True 1 5" in done.stdout, done.stderr[-3000:]
    assert "AGAIN 3" in done.stdout, done.stderr[-3000:]
    assert "the JVM of the Spark session has died; a new one is created" in done.stderr


DIES_WHILE_WRITING = """
import os, signal, sys, threading
from pathlib import Path
import dagster as dg
from dagster_paimon import LakehouseCatalog, PaimonIOManager, RetryUnlessTerminated, SparkFrame, SparkResource

root = Path(sys.argv[1])
at_work = root / "at_work"
lakehouse = LakehouseCatalog(warehouse=str(root / "warehouse"))
spark = SparkResource(master="local[1]", driver_memory="512m")

def slow_at_first(n):
    if not at_work.exists():
        at_work.touch()
        threading.Event().wait(120)
    return n

def kill_when_at_work(process):
    while not at_work.exists():
        threading.Event().wait(0.05)
    os.kill(process.pid, signal.SIGKILL)

@dg.asset(
    key=["lab", "readings"],
    io_manager_key="paimon_io",
    metadata={"paimon/write_mode": "append"},
    retry_policy=RetryUnlessTerminated(max_retries=1),
)
def readings(context: dg.AssetExecutionContext) -> SparkFrame:
    from pyspark import SparkContext
    from pyspark.sql.functions import udf
    session = spark.session(context.log.info)
    if context.retry_number == 0:
        threading.Thread(target=kill_when_at_work, args=(SparkContext._gateway.proc,), daemon=True).start()
    return session.range(5, numPartitions=1).select(udf(slow_at_first, "long")("id").alias("n"))

with dg.DagsterInstance.ephemeral() as instance:
    resources = {"paimon_io": PaimonIOManager(lakehouse=lakehouse, spark=spark)}
    result = dg.materialize([readings], resources=resources, instance=instance, raise_on_error=False)
kinds = [event.event_type_value for event in result.all_events]
table = lakehouse.table("lab.readings")
rows = sorted(table.scan().to_arrow()["n"].to_pylist())
print("OUTCOME", result.success, kinds.count("STEP_UP_FOR_RETRY"), len(table.snapshots()), rows)
"""


def test_a_jvm_that_dies_during_a_write_costs_one_retry_and_no_row(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DIES_WHILE_WRITING, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert "OUTCOME True 1 1 [0, 1, 2, 3, 4]" in done.stdout, done.stderr[-3000:]
    assert "the JVM of the Spark session has died; a new one is created" in done.stderr


TERMINATED = """
import threading
import dagster as dg
from dagster_paimon import RetryUnlessTerminated, SparkResource

@dg.op(retry_policy=RetryUnlessTerminated(max_retries=1))
def works(context: dg.OpExecutionContext, spark: SparkResource) -> None:
    with spark.following(context.log.info, "work") as session:
        from pyspark import SparkContext
        tracker, pause = session.sparkContext.statusTracker(), threading.Event()

        def tell() -> None:
            while not tracker.getActiveStageIds():
                pause.wait(0.05)
            print(SparkContext._gateway.proc.pid, flush=True)

        threading.Thread(target=tell, daemon=True).start()
        session.range(10**14).selectExpr("sum(id)").collect()

@dg.job(resource_defs={"spark": SparkResource(master="local[1]", driver_memory="512m")})
def working():
    works()

result = working.execute_in_process(raise_on_error=False)
kinds = [event.event_type_value for event in result.all_events]
from pyspark import SparkContext
tracker, pause = SparkContext._active_spark_context.statusTracker(), threading.Event()
for _ in range(600):
    if not tracker.getActiveJobsIds():
        break
    pause.wait(0.05)
print("OUTCOME", kinds.count("STEP_UP_FOR_RETRY"), kinds.count("STEP_START"), tracker.getActiveJobsIds())
"""


def test_a_terminated_run_cancels_its_jobs_and_ends_its_jvm() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", TERMINATED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        jvm = int(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=200)
    finally:
        process.kill()
    assert "OUTCOME 0 1 []" in out, err[-3000:]
    assert "work was interrupted: its Spark jobs are cancelled" in err
    assert _is_gone(jvm)


def _is_gone(pid: int) -> bool:
    """Return whether a process ends soon without help. A zombie counts as ended."""
    pause = threading.Event()
    for _ in range(600):
        status = Path(f"/proc/{pid}/status")
        if not status.exists() or "State:\tZ" in status.read_text():
            return True
        pause.wait(0.05)
    return False
