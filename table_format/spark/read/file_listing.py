"""Makes Spark list the files of a frame in the driver, instead of in a job with one task for each file.

``spark.read.parquet`` looks at each path that it is given. Beyond 32 of them
(``spark.sql.sources.parallelPartitionDiscovery.threshold``) it does so in a job of as many tasks as paths: 5 ms each.
What it learns of a file, its length and where it lies, takes the driver a fifth of a millisecond.

A classic session lists when the frame is made, so that the setting holds for that moment alone. A Connect session lists
on the server, whenever a plan is analysed. There the job gets few tasks, for the whole session.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from table_format.spark.tasks.code_shipping import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_THRESHOLD: Final = "spark.sql.sources.parallelPartitionDiscovery.threshold"
_TASKS: Final = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_NO_LIMIT: Final = str(2**31 - 1)
_TASKS_ON_CONNECT: Final = "16"
_UNSET: Final = str(2**31 - 2)
"""Stands for a setting that nobody made. Spark takes only what the setting could be."""


@dataclass(slots=True)
class _Before:
    """The user's own setting, and the number of threads that have it changed now."""

    setting: str
    threads: int = 0


_changed: WeakKeyDictionary[SparkSession, _Before] = WeakKeyDictionary()
_lock: Final = Lock()


@contextmanager
def listing_in_driver(spark: SparkSession) -> Iterator[None]:
    """Frames that are made meanwhile have their files listed by the driver; threads may overlap.

    Nothing happens on Connect.
    """
    if is_connect(spark):
        yield
        return
    with _lock:
        before = _changed.get(spark)
        if before is None:
            before = _changed[spark] = _Before(str(spark.conf.get(_THRESHOLD, _UNSET)))
            spark.conf.set(_THRESHOLD, _NO_LIMIT)
        before.threads += 1
    try:
        yield
    finally:
        with _lock:
            before.threads -= 1
            if not before.threads:
                del _changed[spark]
                _restore(spark, before.setting)


def _restore(spark: SparkSession, setting: str) -> None:
    if setting == _UNSET:
        spark.conf.unset(_THRESHOLD)
    else:
        spark.conf.set(_THRESHOLD, setting)


def list_in_few_tasks(spark: SparkSession) -> None:
    """Let the server of a Connect session list files in few tasks, unless the session says how many."""
    if is_connect(spark) and spark.conf.get(_TASKS, _UNSET) == _UNSET:
        spark.conf.set(_TASKS, _TASKS_ON_CONNECT)
