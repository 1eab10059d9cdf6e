"""The sink of a streaming query: ``df.writeStream.format("paimon")``. Each micro-batch is committed exactly once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import datasource

from table_format.model.commit import CommitMessage
from table_format.options.bucket_mode import Fixed
from table_format.options.commit import DYNAMIC_PARTITION_OVERWRITE
from table_format.options.compaction import WRITE_ONLY
from table_format.spark.stream.planned_batches import committed_before, plan_properties
from table_format.spark.stream.targets import Target
from table_format.spark.tasks.table_work import numbers_of_this_task, write_rows
from table_format.spark.tasks.written import commit_results, results_of, written_by
from table_format.spark.write.merged_schema import batch_with_all_columns
from table_format.spark.write.spelling import batches_with_names_of_table
from table_format.table.table import Table
from table_format.table.write.batch_commit import BatchCommit
from table_format.table.write.table_write import TableWrite


class PaimonStreamWriter(datasource.DataSourceStreamArrowWriter):
    """Each task writes separate files for every bucket of its rows; no task compacts.

    With ``replacing``, each micro-batch replaces all rows.
    """

    def __init__(self, table: Table, commit_user: str, target: Target, *, replacing: bool) -> None:
        self._table = table.copy({DYNAMIC_PARTITION_OVERWRITE.key: "false"}) if replacing else table
        # Several tasks may write to the same bucket, so none of them may compact it.
        self._facts = table.copy({WRITE_ONLY.key: "true"}).facts
        self._user = commit_user
        self._target = target
        self._checkpoint = target.checkpoint
        self._replacing = replacing

    # As in DataSourceStreamArrowWriter. The base class of that class passes rows.
    def write(  # type: ignore[override]  # takes batches
        self, iterator: Iterator[pa.RecordBatch]
    ) -> datasource.WriterCommitMessage:
        """Write the rows of a task to files, which are visible after ``commit``."""
        return written_by(self._write, iterator)

    def _write(self, batches: Iterator[pa.RecordBatch]) -> tuple[CommitMessage, ...]:
        # If several tasks write rows of one key, the order of the tasks is the order of the rows.
        is_ordered = isinstance(self._facts.bucket_mode, Fixed) and self._facts.schema.is_primary_key_table
        numbers = numbers_of_this_task() if is_ordered else None
        batches = batches_with_names_of_table(batches, self._facts)
        if self._facts.options.write.merge_schema:
            batches = (batch_with_all_columns(batch, self._facts.schema) for batch in batches)
        write = TableWrite(self._facts, replacing=self._replacing, commit_user=self._user, sequence_numbers=numbers)
        return write_rows(write, batches)

    def commit(self, messages: Sequence[datasource.WriterCommitMessage | None], batchId: int) -> None:
        """Commit the files of all tasks, unless the micro-batch is already committed.

        Raises:
            TableFormatError: a task or the commit failed.
            InvalidInputError: the checkpoint of the query is an older copy.
        """
        results = results_of(messages)
        if results.failure is not None:
            raise results.failure
        commit = self._table.new_commit(self._user)
        if commit.is_committed(batchId):
            commit.abort(results.messages)
            committed = committed_before(self._facts, self._user, batchId, self._checkpoint)
        else:
            properties = plan_properties(self._checkpoint, batchId)
            made = commit_results(
                self._table, commit, results, identifier=batchId, overwrite=self._replacing, properties=properties
            )
            committed = made[0] if made else None
        if committed is not None and not self._replacing:
            self._target.note(committed)

    def abort(
        self,
        messages: Sequence[datasource.WriterCommitMessage | None],
        batchId: int,  # noqa: ARG002 - committed files stay in any case
    ) -> None:
        """Delete the files of all tasks that returned a result, unless they are committed."""
        commit = BatchCommit(self._table.facts, self._user)
        # Committed files stay: Spark also calls this if something fails after the commit.
        commit.abort(results_of(messages).messages)
