"""DELETE, UPDATE and MERGE on a table without primary key: files are rewritten, or rows are marked as deleted.

Java ``PaimonRowLevelCommand``, ``AppendDeleteFileMaintainer``; format chapter 08, section 2. A statement reads only
files that may hold affected rows, and changes only files that do. With ``deletion-vectors.enabled`` the files stay: a
new index file marks the old rows as deleted, and changed rows go to new files. Otherwise each file is rewritten and
keeps the order of its rows. The result is one commit. It fails if another commit has removed the files or marked rows
in them in the meantime.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np
import pyarrow as pa

from table_format.formats.data_file_reader import POSITION
from table_format.io.uncommitted_files import DeletingOnFailure
from table_format.model.arrow_calls import concat_batches
from table_format.model.arrow_types import arrow_schema
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource
from table_format.model.predicate import Predicate
from table_format.model.schema import TableSchema
from table_format.options.declare import Operation
from table_format.table.changes.append_rows import AppendBucket, append_buckets, deletion_message
from table_format.table.changes.row_changes import Changed, Mask, Positions, RowChanges, RowStatement, table_rows
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan
from table_format.table.rows.validate import RowRules
from table_format.table.write.table_write import TableWrite


class AppendTableChanges:
    """One attempt at the work of a statement, on the files of one plan.

    Files are read one by one, and twice if they hold affected rows: first the columns of the condition, then all
    columns. Memory holds one batch and the positions in one bucket.
    """

    def __init__(self, facts: TableFacts, plan: Plan, statement: RowStatement) -> None:
        facts.require(Operation.WRITE)
        facts.require_changeable()
        self._facts = facts
        self._plan = plan
        self._statement = statement
        # The statement has checked the values that it assigns; the others are stored already.
        self._rules = RowRules.of(facts.schema, facts.options, check_lengths=False)
        self._uses_deletion_vectors = facts.options.deletion_vectors.enabled
        placing = {*facts.schema.partition_keys, *facts.schema.bucket_keys}
        self._stays = not (statement.assigned & placing)
        self._messages: list[CommitMessage] = []
        self.counts = RowChanges()

    def write(self) -> tuple[CommitMessage, ...]:
        """Write the files of the commit. If this fails, nothing is left of them.

        Raises:
            InvalidData: a new value does not fit its column.
            UnsupportedFeature: the table's ``deletion-vectors.enabled`` changed after rows were marked.
        """
        written: tuple[CommitMessage, ...] = ()
        # Close the rows first, so that a half-written file is deleted before the files of the messages.
        with (
            DeletingOnFailure(lambda: self._facts.delete_message_files(self._messages)),
            closing(self._new_rows()) as rows,
        ):
            if self._statement.removes_only:
                for _ in rows:
                    pass  # there are none
            else:
                schema = arrow_schema(self._facts.schema.fields)
                written = TableWrite(self._facts, check_lengths=False).write(
                    pa.RecordBatchReader.from_batches(schema, rows)
                )
        return (*self._messages, *(replace(message, rewrites=True) for message in written))

    def _new_rows(self) -> Generator[pa.RecordBatch]:
        """Return the rows for new files. Collect the messages about existing files on the way."""
        for bucket in append_buckets(self._facts, self._plan):
            message = yield from (self._mark_deleted(bucket) if self._uses_deletion_vectors else self._rewrite(bucket))
            if message is not None:
                self._messages.append(message)
        for rows in self._statement.inserts():
            self._count(inserted=rows.num_rows)
            yield rows

    def _count(self, *, inserted: int = 0, updated: int = 0, deleted: int = 0) -> None:
        before = self.counts
        self.counts = RowChanges(before.inserted + inserted, before.updated + updated, before.deleted + deleted)

    # --- rows are marked --------------------------------------------------------------------------------------------

    def _mark_deleted(self, bucket: AppendBucket) -> Generator[pa.RecordBatch, None, CommitMessage | None]:
        found: dict[DataFileMeta, Positions] = {}
        for file in bucket.candidates:
            positions = self._positions_found(bucket, file)
            if self._statement.removes_only:
                self._count(deleted=len(positions))
            elif positions.size:
                positions = yield from self._moved(bucket, file, positions)
            if positions.size:
                found[file] = positions
        return deletion_message(bucket, found) if found else None

    def _moved(
        self, bucket: AppendBucket, file: DataFileMeta, selected: Positions
    ) -> Generator[pa.RecordBatch, None, Positions]:
        """Yield the changed rows, and record which rows of the file they replace."""
        removed = [np.empty(0, np.int64)]
        for rows, positions in numbered_rows(bucket, file, self._facts.schema.field_names, self._statement.where):
            is_selected = _selected(positions, selected)
            if not is_selected.any():
                continue
            changed = self._changed(rows.filter(pa.array(is_selected)))
            removed.append(positions[is_selected][changed.deleted | changed.updated])
            if changed.rows.num_rows:
                yield changed.rows
        return np.concatenate(removed)

    # --- files are rewritten ----------------------------------------------------------------------------------------

    def _rewrite(self, bucket: AppendBucket) -> Generator[pa.RecordBatch, None, CommitMessage | None]:
        new: list[DataFileMeta] = []
        old: list[DataFileMeta] = []
        with bucket.files.deleting_on_failure(new):
            for file in bucket.candidates:
                positions = self._positions_found(bucket, file)
                if not positions.size:
                    continue
                made = yield from self._rewritten(bucket, file, positions)
                if made is not None:
                    old.append(file)
                    new.extend(made)
        return replace(bucket.files.message(new_files=tuple(new)), deleted_files=tuple(old)) if old else None

    def _rewritten(
        self, bucket: AppendBucket, file: DataFileMeta, selected: Positions
    ) -> Generator[pa.RecordBatch, None, tuple[DataFileMeta, ...] | None]:
        """Write new files with the changed rows. They keep the place of the old files in the bucket."""
        files, first = bucket.files, file.min_sequence_number
        changes = False
        with files.writing(level=0, source=FileSource.APPEND, first_sequence_number=first) as writer:
            for rows, positions in numbered_rows(bucket, file, self._facts.schema.field_names):
                is_selected = _selected(positions, selected)
                if not is_selected.any():
                    writer.write(table_rows(rows, self._facts.schema))
                    continue
                changed = self._changed(rows.filter(pa.array(is_selected)))
                changes = changes or bool(changed.deleted.any() or changed.updated.any())
                if changed.rows.num_rows and not self._stays:
                    yield changed.rows
                writer.write(in_place(rows, is_selected, changed, self._facts.schema, keep=self._stays))
            if changes:
                return writer.close()
            writer.abort()
        return None

    # --- rows -------------------------------------------------------------------------------------------------------

    def _positions_found(self, bucket: AppendBucket, file: DataFileMeta) -> Positions:
        """Return the positions of live rows that are affected."""
        parts = [np.empty(0, np.int64)]
        for rows, positions in numbered_rows(bucket, file, self._statement.columns, self._statement.where):
            parts.append(positions[self._statement.find(rows)])
        return np.concatenate(parts)

    def _changed(self, rows: pa.RecordBatch) -> Changed:
        changed = self._statement.change(rows)
        self._count(updated=int(changed.updated.sum()), deleted=int(changed.deleted.sum()))
        return replace(changed, rows=self._rules.conform(changed.rows)) if changed.rows.num_rows else changed


def numbered_rows(
    bucket: AppendBucket, file: DataFileMeta, columns: Sequence[str], predicate: Predicate | None = None
) -> Iterator[tuple[pa.RecordBatch, Positions]]:
    """Return the live rows with their positions in the file. Some rows that do not match may be missing."""
    files = bucket.files
    batches = files.reader().read(
        files.partition,
        files.bucket,
        file,
        files.schema.select(columns),
        predicate=predicate,
        deleted=bucket.vector_of(file),
        with_positions=True,
    )
    for batch in batches:
        at = batch.schema.get_field_index(POSITION)
        yield batch, batch.column(at).to_numpy()


def _selected(positions: Positions, selected: Positions) -> Mask:
    """Which positions of a batch are wanted; both ascend."""
    first, last = np.searchsorted(selected, (positions[0], positions[-1] + 1)) if len(positions) else (0, 0)
    return np.isin(positions, selected[first:last], assume_unique=True)


def in_place(
    rows: pa.RecordBatch, is_selected: Mask, changed: Changed, schema: TableSchema, *, keep: bool
) -> pa.RecordBatch:
    """Return the rows of a batch after the change: without deleted rows, and with changed rows in their place."""
    plain = table_rows(rows, schema)
    at = np.flatnonzero(is_selected)
    order = np.arange(rows.num_rows)
    order[at[changed.updated]] = rows.num_rows + np.arange(changed.rows.num_rows)
    stays = np.ones(rows.num_rows, np.bool_)
    stays[at[changed.deleted if keep else changed.deleted | changed.updated]] = False
    return concat_batches([plain, changed.rows]).take(order[stays])
