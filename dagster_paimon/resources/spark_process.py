"""The JVM of a classic Spark session: checks whether it is alive, and recovers if it is not.

pyspark keeps the session, the context and the gateway of a process in class attributes, and returns them even after
their JVM has died. Then every call fails.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from subprocess import Popen

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_LONGEST_CANCEL_SECONDS: Final = 10.0


def forget_dead_session() -> str | None:
    """Forget a session whose JVM has died or whose context was stopped. Return the reason, or ``None`` if it works.

    The next session is created from scratch, with a new JVM if it is needed.
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


def cancel_jobs_when_interrupted(session: SparkSession) -> None:
    """Let SIGINT and SIGTERM cancel the jobs of a session before the installed handlers run.

    These handlers raise an error in the middle of a call to the JVM. While handling it, pyspark makes more calls, which
    wait until the job has ended.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        before = signal.getsignal(number)
        if callable(before) and not isinstance(before, _CancellingHandler):
            signal.signal(number, _CancellingHandler(session, before))


@dataclass(frozen=True, slots=True)
class _CancellingHandler:
    session: SparkSession
    before: Callable[[int, FrameType | None], object]

    def __call__(self, number: int, frame: FrameType | None) -> None:
        cancel_jobs(self.session)
        self.before(number, frame)


def cancel_jobs(session: SparkSession) -> None:
    """Cancel all jobs of a session while this thread waits for one of them.

    The job uses the connection of this thread to the JVM. Therefore another thread sends the request, and the
    connection is closed: a later call would wait for the job and get its answer.
    """
    asking = threading.Thread(target=_cancel, args=(session,), name="cancel-spark-jobs", daemon=True)
    asking.start()
    asking.join(_LONGEST_CANCEL_SECONDS)
    _close_connection()


def _cancel(session: SparkSession) -> None:
    try:
        if type(session).__module__.startswith("pyspark.sql.connect"):
            session.interruptAll()
        else:
            session.sparkContext.cancelAllJobs()
    except Exception:
        logging.getLogger(__name__).debug("the jobs of the session were not cancelled", exc_info=True)


def _close_connection() -> None:
    from pyspark import SparkContext

    client: Any = getattr(SparkContext._gateway, "_gateway_client", None)
    connection = client.get_thread_connection() if hasattr(client, "get_thread_connection") else None
    if connection is not None:
        connection.close(reset=True)


def _is_running(context: type[SparkContext]) -> bool:
    """Return whether the JVM that this process started is alive. A JVM that another process started is not checked."""
    process = cast("Popen[bytes] | None", getattr(context._gateway, "proc", None))
    return process is None or process.poll() is None


def _forget(contexts: type[SparkContext], *, with_gateway: bool) -> None:
    from pyspark.sql import SparkSession

    context = contexts._active_spark_context
    if context is not None:
        # Without the gateway, stop() does not call the JVM.
        context._jsc = None
        context.stop()
    if with_gateway:
        contexts._gateway = contexts._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
