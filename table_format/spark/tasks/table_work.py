"""The work of Spark tasks that change a table: writing buckets, compacting buckets.

A task gets picklable facts, works with Arrow batches, and answers with encoded commit messages; only those travel back
to the driver. Nothing here needs a session.
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
"""Spark hands over batches of 10,000 rows; writing is cheaper in larger ones."""

_NUMBERS_OF_A_TASK = 1 << 32
"""Sequence numbers of a task beside which others write to the same buckets."""


def bucket_writer(
    facts: TableFacts,
    names: Sequence[str],
    *,
    replacing: bool,
    assignment: WritingAssigner | None = None,
    commit_user: str | None = None,
    is_disjoint: bool = False,
) -> Callable[[Batches], Batches]:
    """Write the rows that come in, whose columns have those names; the answer is one row for the task.

    With ``is_disjoint`` other tasks write to the same buckets, and each has sequence numbers of its own.
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
    """Sequence numbers of a task beside others that write to the same buckets; those of later tasks are higher."""
    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    return range(number * _NUMBERS_OF_A_TASK, (number + 1) * _NUMBERS_OF_A_TASK)


def write_rows(write: TableWrite, batches: Batches) -> tuple[CommitMessage, ...]:
    """Write all batches of a task; none of its files stays when that fails."""
    first = next(batches, None)
    if first is None:
        return ()
    larger = in_larger_batches(chain((first,), batches))
    return write.write(pa.RecordBatchReader.from_batches(first.schema, larger))


def performer(works: TaskInputs[T], perform: Callable[[T], Sequence[CommitMessage]]) -> Callable[[Batches], Batches]:
    """Do the work whose numbers come in; the answer is one row for each."""

    def results(numbers: Batches) -> Batches:
        for number in numbers_in(numbers):
            yield result_of(partial(perform, works[number]))

    return results


def in_larger_batches(batches: Batches) -> Batches:
    """The same rows in larger batches."""
    return gathered(batches, _joined)


def gathered(pieces: Iterator[Rows], join: Callable[[Sequence[Rows]], Rows]) -> Iterator[Rows]:
    """The same rows in larger pieces: batches or arrays."""
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
