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
from table_format.table.table import Table
from table_format.table.write.batch_commit import BatchCommit, fresh_user
from table_format.table.write.table_write import TableWrite

_ONLY: Final = 1
"""The identifier of the one commit of a writer."""


class PaimonWriter(datasource.DataSourceArrowWriter):
    """Each task writes separate files for every bucket of its rows; no task compacts."""

    def __init__(self, table: Table, *, overwrite: bool, made_at: Place | None = None) -> None:
        self._made_at = made_at
        if overwrite and DYNAMIC_PARTITION_OVERWRITE.key not in table.dynamic_options:
            table = table.copy({DYNAMIC_PARTITION_OVERWRITE.key: "false"})
        # Several tasks write to one bucket here, and none of them may compact it.
        self._facts = table.copy({WRITE_ONLY.key: "true"}).facts
        self._table = table
        self._overwrite = overwrite
        self._user = fresh_user(table.facts)

    # As in DataSourceArrowWriter; its own base hands over rows.
    def write(  # type: ignore[override]  # takes batches
        self, iterator: Iterator[pa.RecordBatch]
    ) -> datasource.WriterCommitMessage:
        """Write the rows of a task to files; nothing is visible before ``commit``."""
        return written_by(self._write, iterator)

    def _write(self, batches: Iterator[pa.RecordBatch]) -> tuple[CommitMessage, ...]:
        if self._facts.options.write.merge_schema:
            batches = (batch_with_all_columns(batch, self._facts.schema) for batch in batches)
        return write_rows(TableWrite(self._facts, replacing=self._overwrite), batches)

    def commit(self, messages: Sequence[datasource.WriterCommitMessage | None]) -> None:
        """Make the files of all tasks visible in one commit; raises what stopped one of them."""
        results = results_of(messages)
        if results.failure is not None:
            raise results.failure
        commit = self._table.new_commit(self._user)
        commit_results(self._table, commit, results, identifier=_ONLY, overwrite=self._overwrite)

    def abort(self, messages: Sequence[datasource.WriterCommitMessage | None]) -> None:
        """Delete the files of all tasks that answered, unless the commit has taken effect."""
        results = results_of(messages)
        # As it was opened: what is deleted are files of this job, whatever became of the table.
        commit = BatchCommit(self._table.facts, self._user)
        # Spark also asks for it when the commit has taken effect and something failed after it.
        if not commit.is_committed(_ONLY):
            commit.abort(results.messages)
            if self._made_at is not None:
                self._made_at.drop()
