"""Makes Spark list the files of a DataFrame in the driver, instead of in a job with one task for each file.

``spark.read.parquet`` checks each given path. With more than 32 paths
(``spark.sql.sources.parallelPartitionDiscovery.threshold``), it starts a job with a task for each path, which takes 5
ms. The driver finds the length and location of a file in a fifth of a millisecond.

A classic session lists files when the DataFrame is created, so the setting is changed only for that moment. A Connect
session lists files on the server whenever it analyzes a plan. There, the job gets few tasks for the whole session.
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
"""Represents a setting without a value. Spark accepts only valid values of the setting."""


@dataclass(slots=True)
class _Before:
    """The setting of the user, and the number of threads that currently override it."""

    setting: str
    threads: int = 0


_changed: WeakKeyDictionary[SparkSession, _Before] = WeakKeyDictionary()
_lock: Final = Lock()


@contextmanager
def listing_in_driver(spark: SparkSession) -> Iterator[None]:
    """Let the driver list the files of DataFrames that are created in the block. Threads may overlap.

    Has no effect on Connect.
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
    """Let the server of a Connect session list files in few tasks, unless the session sets their number."""
    if is_connect(spark) and spark.conf.get(_TASKS, _UNSET) == _UNSET:
        spark.conf.set(_TASKS, _TASKS_ON_CONNECT)
