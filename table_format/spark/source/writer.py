"""The writer of a batch by ``df.write.format("paimon")``.

As in Spark, an overwrite replaces all rows, unless the write itself asks to replace only the partitions of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import datasource

from table_format.model.commit import CommitMessage
from table_format.options.commit import DYNAMIC_PARTITION_OVERWRITE
from table_format.options.compaction import WRITE_ONLY
from table_format.spark.source.places import Place
from table_format.spark.tasks.table_work import write_rows
from table_format.spark.tasks.written import commit_results, results_of, written_by
from table_format.spark.write.merged_schema import batch_with_all_columns
from table_format.spark.write.spelling import batches_with_names_of_table
from table_format.table.table import Table
from table_format.table.write.batch_commit import BatchCommit, fresh_user
from table_format.table.write.table_write import TableWrite

_ONLY: Final = 1
"""The commit identifier of a writer, which commits once."""


class PaimonWriter(datasource.DataSourceArrowWriter):
    """Each task writes separate files for every bucket of its rows; no task compacts."""

    def __init__(self, table: Table, *, overwrite: bool, made_at: Place | None = None) -> None:
        self._made_at = made_at
        if overwrite and DYNAMIC_PARTITION_OVERWRITE.key not in table.dynamic_options:
            table = table.copy({DYNAMIC_PARTITION_OVERWRITE.key: "false"})
        # Several tasks may write to the same bucket, so none of them may compact it.
        self._facts = table.copy({WRITE_ONLY.key: "true"}).facts
        self._table = table
        self._overwrite = overwrite
        self._user = fresh_user(table.facts)

    # As in DataSourceArrowWriter. The base class of that class passes rows.
    def write(  # type: ignore[override]  # takes batches
        self, iterator: Iterator[pa.RecordBatch]
    ) -> datasource.WriterCommitMessage:
        """Write the rows of a task to files, which are visible after ``commit``."""
        return written_by(self._write, iterator)

    def _write(self, batches: Iterator[pa.RecordBatch]) -> tuple[CommitMessage, ...]:
        batches = batches_with_names_of_table(batches, self._facts)
        if self._facts.options.write.merge_schema:
            batches = (batch_with_all_columns(batch, self._facts.schema) for batch in batches)
        return write_rows(TableWrite(self._facts, replacing=self._overwrite), batches)

    def commit(self, messages: Sequence[datasource.WriterCommitMessage | None]) -> None:
        """Commit the files of all tasks. If a task failed, raise its error."""
        results = results_of(messages)
        if results.failure is not None:
            raise results.failure
        commit = self._table.new_commit(self._user)
        commit_results(self._table, commit, results, identifier=_ONLY, overwrite=self._overwrite)

    def abort(self, messages: Sequence[datasource.WriterCommitMessage | None]) -> None:
        """Delete the files of all tasks that returned a result, unless the commit succeeded."""
        results = results_of(messages)
        # The table as it was opened: only files of this job are deleted, even if the table was replaced.
        commit = BatchCommit(self._table.facts, self._user)
        # Spark also calls this if something fails after a successful commit.
        if not commit.is_committed(_ONLY):
            commit.abort(results.messages)
            if self._made_at is not None:
                self._made_at.drop()
