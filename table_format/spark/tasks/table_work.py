"""The work of Spark tasks that change a table: writing buckets, compacting buckets.

A task gets picklable facts, processes Arrow batches, and returns encoded commit messages to the driver. Nothing here
needs a session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from functools import partial
from itertools import chain
from typing import TypeVar

import pyarrow as pa
from pyspark import TaskContext

from table_format.model.arrow_calls import concat_batches
from table_format.model.commit import CommitMessage
from table_format.spark.tasks.task_inputs import TaskInputs, numbers_in
from table_format.spark.tasks.task_results import result_of
from table_format.spark.tasks.worker import Batches
from table_format.table.facts import TableFacts
from table_format.table.placement.assigners import WritingAssigner
from table_format.table.write.table_write import TableWrite

T = TypeVar("T")
Rows = TypeVar("Rows", bound=Sized)

_ROWS_AT_ONCE = 131_072
"""Spark passes batches of 10,000 rows; writing is cheaper in larger batches."""

_NUMBERS_OF_A_TASK = 1 << 32
"""The number of sequence numbers of a task if several tasks write to the same buckets."""


def bucket_writer(
    facts: TableFacts,
    names: Sequence[str],
    *,
    replacing: bool,
    assignment: WritingAssigner | None = None,
    commit_user: str | None = None,
    is_disjoint: bool = False,
) -> Callable[[Batches], Batches]:
    """Write rows whose columns have these names. Return one row for the task.

    With ``is_disjoint``, other tasks write to the same buckets, and each task has its own sequence numbers.
    """

    def write(batches: Batches) -> Batches:
        named = (batch.rename_columns(list(names)) for batch in batches)
        numbers = numbers_of_this_task() if is_disjoint else None
        write_to = partial(
            TableWrite,
            facts,
            replacing=replacing,
            assignment=assignment,
            commit_user=commit_user,
            sequence_numbers=numbers,
        )
        yield result_of(lambda: write_rows(write_to(), named))

    return write


def numbers_of_this_task() -> range:
    """Return the sequence numbers of a task if several tasks write to the same buckets. Later tasks have higher
    numbers.
    """
    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    return range(number * _NUMBERS_OF_A_TASK, (number + 1) * _NUMBERS_OF_A_TASK)


def write_rows(write: TableWrite, batches: Batches) -> tuple[CommitMessage, ...]:
    """Write all batches of a task. If this fails, its files are deleted."""
    first = next(batches, None)
    if first is None:
        return ()
    larger = in_larger_batches(chain((first,), batches))
    return write.write(pa.RecordBatchReader.from_batches(first.schema, larger))


def performer(pieces: TaskInputs[T], perform: Callable[[T], Sequence[CommitMessage]]) -> Callable[[Batches], Batches]:
    """Do the work with the given numbers. Return one row for each piece."""

    def results(numbers: Batches) -> Batches:
        for number in numbers_in(numbers):
            yield result_of(partial(perform, pieces[number]))

    return results


def in_larger_batches(batches: Batches) -> Batches:
    """Combine rows to larger batches."""
    return gathered(batches, _joined)


def gathered(pieces: Iterator[Rows], join: Callable[[Sequence[Rows]], Rows]) -> Iterator[Rows]:
    """Combine rows to larger batches or arrays."""
    waiting: list[Rows] = []
    count = 0
    for piece in pieces:
        waiting.append(piece)
        count += len(piece)
        if count >= _ROWS_AT_ONCE:
            yield join(waiting)
            waiting, count = [], 0
    if count:
        yield join(waiting)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else concat_batches(batches)
