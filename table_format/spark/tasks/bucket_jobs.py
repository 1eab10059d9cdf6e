"""Pieces of work as a Spark job: each is done in a task of its own, and only commit messages come back."""

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
    spark: SparkSession, works: Sequence[T], perform: Callable[[T], Sequence[CommitMessage]]
) -> Iterator[CommitMessage]:
    """Do the work; its messages. What succeeded comes out before the first failure is raised.

    Raises:
        TableFormatError: what stopped one of the tasks.
    """
    results = _results(spark, works, perform)
    # What succeeded beside a failure has to be known where it is deleted.
    yield from results.messages
    if results.failure is not None:
        raise results.failure


def buckets_in_tasks(
    spark: SparkSession, works: Sequence[T], perform: Callable[[T], Sequence[CommitMessage]]
) -> Iterator[CommitMessage | BucketLost]:
    """Do the work of buckets that do not need each other, as ``in_tasks``; those that were lost come out as such."""
    results = _results(spark, works, perform, drop_lost_buckets=True)
    yield from results.messages
    yield from results.lost
    if results.failure is not None:
        raise results.failure


def _results(
    spark: SparkSession,
    works: Sequence[T],
    perform: Callable[[T], Sequence[CommitMessage]],
    *,
    drop_lost_buckets: bool = False,
) -> TaskResults:
    numbers = spark.range(0, len(works), 1, len(works))
    return gather(
        map_in_workers(numbers, performer(TaskInputs.of(works), perform), RESULT_DDL).collect(),
        drop_lost_buckets=drop_lost_buckets,
    )
