"""Pieces of work as a Spark job: each is done in a task of its own, and only commit messages come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from table_format.model.commit import CommitMessage
from table_format.spark.answers import ANSWER_DDL, gather
from table_format.spark.tasks import performer

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
    numbers = spark.range(0, len(works), 1, len(works))
    answers = gather(numbers.mapInArrow(performer(works, perform), ANSWER_DDL).collect())
    # What succeeded beside a failure has to be known where it is deleted.
    yield from answers.messages
    if answers.failure is not None:
        raise answers.failure
