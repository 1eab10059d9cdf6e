"""Prepares sessions for this library, including new sessions of the same application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import SparkSession as ClassicSession

from table_format.spark.read.expired_files import install_expiry_errors
from table_format.spark.read.file_listing import list_in_few_tasks
from table_format.spark.read.task_groups import parallelism
from table_format.spark.redaction import mask_secrets
from table_format.spark.source.data_source import data_source
from table_format.spark.source.empty_entries import refuse_empty_entries
from table_format.spark.source.known_stores import known_stores
from table_format.spark.stream.marked_streams import mark_streams
from table_format.spark.tasks.code_shipping import is_connect, is_prepared, ship_code
from table_format.spark.tasks.worker_python import explain_missing_packages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FOLLOWED: Final = "prepares_new_sessions"


def prepare_session(spark: SparkSession) -> None:
    """Prepare a session, and the sessions that its ``newSession`` creates later, for this library. Idempotent.

    This sends the code to the tasks and registers ``format("paimon")``.
    """
    ship_code(spark)
    install_expiry_errors()
    explain_missing_packages()
    with _active(spark):
        spark.dataSource.register(data_source(parallelism(spark), known_stores()))
    refuse_empty_entries(type(spark))
    mark_streams(spark)
    list_in_few_tasks(spark)
    mask_secrets(spark)
    if not is_connect(spark):
        _prepare_new_sessions()


@contextmanager
def _active(spark: SparkSession) -> Iterator[None]:
    """Make a session active inside the block. Spark looks up registered data sources in the active session."""
    if is_connect(spark):
        yield
        return
    sessions: Any = spark._jvm.org.apache.spark.sql.classic.SparkSession  # type: ignore[union-attr]  # a classic session has one
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def _prepare_new_sessions() -> None:
    made: Callable[[ClassicSession], ClassicSession] = ClassicSession.newSession
    if getattr(made, _FOLLOWED, False):
        return

    @wraps(made)
    def new_session(self: ClassicSession) -> ClassicSession:
        found = made(self)
        if is_prepared(self):
            prepare_session(found)
        return found

    setattr(new_session, _FOLLOWED, True)
    ClassicSession.newSession = new_session  # type: ignore[method-assign]  # Spark has no hook for new sessions
