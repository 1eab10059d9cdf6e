"""The JVM behind a classic Spark session: whether it still lives, and what is done when it does not.

pyspark keeps the session, the context and the gateway of a process in class attributes, and returns them also after
their JVM has died. Everything that is asked of them fails then.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from subprocess import Popen

    from pyspark import SparkContext
    from pyspark.sql import SparkSession


def forget_dead_session() -> str | None:
    """Let go of a session whose JVM has died or whose context was stopped; what was wrong, or ``None`` if nothing.

    The next session is made from scratch, with a JVM of its own where that is needed.
    """
    from pyspark import SparkContext

    if not _is_running(SparkContext):
        _forget(SparkContext, with_gateway=True)
        return "the JVM of the Spark session has died"
    context = SparkContext._active_spark_context
    if context is not None and context._jsc.sc().isStopped():
        _forget(SparkContext, with_gateway=False)
        return "the Spark context was stopped"
    return None


def cancel_jobs(session: SparkSession) -> None:
    """Cancel all jobs of a session; one that cannot be reached has none."""
    try:
        if type(session).__module__.startswith("pyspark.sql.connect"):
            session.interruptAll()
        else:
            session.sparkContext.cancelAllJobs()
    except Exception:
        logging.getLogger(__name__).debug("the jobs of the session were not cancelled", exc_info=True)


def _is_running(context: type[SparkContext]) -> bool:
    """Whether the JVM that this process started lives; one that others started is not watched."""
    process = cast("Popen[bytes] | None", getattr(context._gateway, "proc", None))
    return process is None or process.poll() is None


def _forget(contexts: type[SparkContext], *, with_gateway: bool) -> None:
    from pyspark.sql import SparkSession

    context = contexts._active_spark_context
    if context is not None:
        # Without it, stop() does not call the JVM.
        context._jsc = None
        context.stop()
    if with_gateway:
        contexts._gateway = contexts._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
