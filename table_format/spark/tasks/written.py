"""The result of a writing task of the data source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import datasource

from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.spark.tasks.task_results import TaskResults, gather, outcome_of
from table_format.table.table import Table
from table_format.table.write.batch_commit import BatchCommit
from table_format.table.write.commit_retries import write_and_commit


@dataclass
class Written(datasource.WriterCommitMessage):
    """The messages of a task, or the error that stopped it.

    The error is raised by the commit: then no task is running, and all written files are known and can be deleted.
    """

    messages: bytes | None
    failure: str | None


def written_by(
    work: Callable[[Iterator[pa.RecordBatch]], Sequence[CommitMessage]], rows: Iterator[pa.RecordBatch]
) -> Written:
    """Return the result of the work on the rows of a task."""
    written = Written(*outcome_of(lambda: work(rows)))
    # After a failure, the rest of the input must be consumed, or the worker cannot run another task.
    for _ in rows:
        pass
    return written


def results_of(messages: Sequence[datasource.WriterCommitMessage | None]) -> TaskResults:
    """Return the results of all tasks. A task that died has none."""
    return gather(message for message in messages if message)


def commit_results(
    table: Table,
    commit: BatchCommit,
    results: TaskResults,
    *,
    identifier: int,
    overwrite: bool,
    properties: Mapping[str, str] | None = None,
) -> tuple[Snapshot, ...]:
    """Commit the files of all tasks, or delete them if the commit fails. Return the new snapshots.

    Raises:
        TableFormatError: the commit failed.
    """
    publish = commit.overwrite if overwrite else commit.commit
    return write_and_commit(
        table.store,
        commit,
        write=lambda: results.messages,
        publish=lambda written: publish(written, identifier=identifier, properties=properties),
        # Spark passes the rows to a data source only once: it does not run the tasks again if another commit wins.
        is_repeatable=False,
    )
