"""Runs of one process whose JVM dies, whose context is stopped, and whose last run is terminated by a test.

``python -m tests.dagster_paimon.resources.spark_process DIRECTORY``
"""

# No postponed annotations here: Dagster inspects the types.

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import dagster as dg
from pyspark import SparkContext

from dagster_paimon import LakehouseCatalog, PaimonIOManager, RetryUnlessTerminated, SparkFrame, SparkResource

ROOT = Path(sys.argv[1])
AT_WORK = ROOT / "at_work"
SPARK = SparkResource(master="local[1]", driver_memory="512m")


def gateway_process() -> Any:
    """Return the process of the JVM."""
    return SparkContext._gateway.proc


# --- a JVM that is dead when it is used ------------------------------------------------------------------------------


@dg.op(retry_policy=RetryUnlessTerminated(max_retries=1))
def counts(context: dg.OpExecutionContext, spark: SparkResource) -> int:
    session = spark.session(context.log.info)
    if context.retry_number == 0:
        process = gateway_process()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    return int(session.range(5).count())


@dg.job(resource_defs={"spark": SPARK})
def counting() -> None:
    counts()


def dead_jvm() -> str:
    result = counting.execute_in_process(raise_on_error=False)
    return f"{result.success} {retries_of(result)} {result.output_for_node('counts')}"


def stopped_context() -> str:
    SPARK.session().sparkContext._jsc.sc().stop()
    return str(SPARK.session().range(3).count())


# --- a JVM that dies during a write ----------------------------------------------------------------------------------


def slow_at_first(number: int) -> int:
    if not AT_WORK.exists():
        AT_WORK.touch()
        threading.Event().wait(120)
    return number


def kill_when_at_work(process: Any) -> None:
    while not AT_WORK.exists():
        threading.Event().wait(0.05)
    os.kill(process.pid, signal.SIGKILL)


@dg.asset(
    key=["lab", "readings"],
    io_manager_key="paimon_io",
    metadata={"paimon/write_mode": "append"},
    retry_policy=RetryUnlessTerminated(max_retries=1),
)
def readings(context: dg.AssetExecutionContext) -> SparkFrame:
    from pyspark.sql.functions import udf

    session = SPARK.session(context.log.info)
    if context.retry_number == 0:
        threading.Thread(target=kill_when_at_work, args=(gateway_process(),), daemon=True).start()
    return session.range(5, numPartitions=1).select(udf(slow_at_first, "long")("id").alias("n"))


def jvm_that_dies_while_writing() -> str:
    lakehouse = LakehouseCatalog(warehouse=str(ROOT / "warehouse"))
    with dg.DagsterInstance.ephemeral() as instance:
        resources = {"paimon_io": PaimonIOManager(lakehouse=lakehouse, spark=SPARK)}
        result = dg.materialize([readings], resources=resources, instance=instance, raise_on_error=False)
    table = lakehouse.table("lab.readings")
    rows = sorted(table.scan().to_arrow()["n"].to_pylist())
    return f"{result.success} {retries_of(result)} {len(table.snapshots())} {rows}"


# --- a run that is terminated ----------------------------------------------------------------------------------------


@dg.op(retry_policy=RetryUnlessTerminated(max_retries=1))
def works(context: dg.OpExecutionContext, spark: SparkResource) -> None:
    with spark.following(context.log.info, "work") as session:
        tracker, pause = session.sparkContext.statusTracker(), threading.Event()

        def tell() -> None:
            while not tracker.getActiveStageIds():
                pause.wait(0.05)
            print("JVM", gateway_process().pid, flush=True)

        threading.Thread(target=tell, daemon=True).start()
        session.range(10**14).selectExpr("sum(id)").collect()


@dg.job(resource_defs={"spark": SPARK})
def working() -> None:
    works()


def terminated_run() -> str:
    result = working.execute_in_process(raise_on_error=False)
    context = SparkContext._active_spark_context
    assert context is not None
    tracker, pause = context.statusTracker(), threading.Event()
    for _ in range(600):
        if not tracker.getActiveJobsIds():
            break
        pause.wait(0.05)
    starts = [event.event_type_value for event in result.all_events].count("STEP_START")
    return f"{retries_of(result)} {starts} {list(tracker.getActiveJobsIds())}"


def retries_of(result: dg.ExecuteInProcessResult) -> int:
    return [event.event_type_value for event in result.all_events].count("STEP_UP_FOR_RETRY")


if __name__ == "__main__":
    for scene in (dead_jvm, stopped_context, jvm_that_dies_while_writing, terminated_run):
        print(f"RUN {scene.__name__}", file=sys.stderr, flush=True)
        print(scene.__name__, scene(), flush=True)
