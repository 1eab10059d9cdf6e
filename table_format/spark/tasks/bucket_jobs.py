"""Runs pieces of work as a Spark job: each piece in a separate task, which returns only commit messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from table_format.errors import BucketLost
from table_format.model.commit import CommitMessage
from table_format.spark.tasks.table_work import performer
from table_format.spark.tasks.task_inputs import TaskInputs
from table_format.spark.tasks.task_results import RESULT_DDL, TaskResults, gather
from table_format.spark.tasks.worker import map_in_workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


def in_tasks(
    spark: SparkSession, pieces: Sequence[T], perform: Callable[[T], Sequence[CommitMessage]]
) -> Iterator[CommitMessage]:
    """Run the work and yield its messages. All successful results are yielded before the first failure is raised.

    Raises:
        TableFormatError: a task failed.
    """
    results = _results(spark, pieces, perform)
    # The caller must get the successful results in order to delete them after a failure.
    yield from results.messages
    if results.failure is not None:
        raise results.failure


def buckets_in_tasks(
    spark: SparkSession, pieces: Sequence[T], perform: Callable[[T], Sequence[CommitMessage]]
) -> Iterator[CommitMessage | BucketLost]:
    """Run independent work of buckets like ``in_tasks``. Lost buckets are yielded as ``BucketLost``."""
    results = _results(spark, pieces, perform, drop_lost_buckets=True)
    yield from results.messages
    yield from results.lost
    if results.failure is not None:
        raise results.failure


def _results(
    spark: SparkSession,
    pieces: Sequence[T],
    perform: Callable[[T], Sequence[CommitMessage]],
    *,
    drop_lost_buckets: bool = False,
) -> TaskResults:
    numbers = spark.range(0, len(pieces), 1, len(pieces))
    return gather(
        map_in_workers(numbers, performer(TaskInputs.of(pieces), perform), RESULT_DDL).collect(),
        drop_lost_buckets=drop_lost_buckets,
    )
