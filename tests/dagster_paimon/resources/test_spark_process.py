"""A JVM that dies under a run costs one retry, in a fresh session."""

from __future__ import annotations

import subprocess
import sys
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


def test_a_jvm_that_dies_costs_one_retry_and_a_stopped_context_none(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300, check=False)
    assert "OUTCOME True 1 5" in done.stdout, done.stderr[-3000:]
    assert "AGAIN 3" in done.stdout, done.stderr[-3000:]
    assert "the JVM of the Spark session has died; a fresh one is made" in done.stderr
