"""Pieces of work as a Spark job: each is done in a task of its own, and only commit messages come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from table_format.errors import BucketLost
from table_format.model.commit import CommitMessage
from table_format.spark.tasks.table_work import performer
from table_format.spark.tasks.task_inputs import TaskInputs
from table_format.spark.tasks.task_results import ANSWER_DDL, TaskResults, gather
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
    answers = _answers(spark, works, perform)
    # What succeeded beside a failure has to be known where it is deleted.
    yield from answers.messages
    if answers.failure is not None:
        raise answers.failure


def buckets_in_tasks(
    spark: SparkSession, works: Sequence[T], perform: Callable[[T], Sequence[CommitMessage]]
) -> Iterator[CommitMessage | BucketLost]:
    """Do the work of buckets that do not need each other, as ``in_tasks``; those that were lost come out as such."""
    answers = _answers(spark, works, perform, dropping_lost=True)
    yield from answers.messages
    yield from answers.lost
    if answers.failure is not None:
        raise answers.failure


def _answers(
    spark: SparkSession,
    works: Sequence[T],
    perform: Callable[[T], Sequence[CommitMessage]],
    *,
    dropping_lost: bool = False,
) -> TaskResults:
    numbers = spark.range(0, len(works), 1, len(works))
    return gather(
        map_in_workers(numbers, performer(TaskInputs.of(works), perform), ANSWER_DDL).collect(),
        dropping_lost=dropping_lost,
    )
