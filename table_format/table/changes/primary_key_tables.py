"""DELETE, UPDATE and MERGE on a primary key table: they write rows with row kinds, and the merge engine applies them.

Java ``UpdatePaimonTableCommand``, ``MergeIntoPaimonTable``, ``RowLevelOp``. A deleted row is written as -D, a changed
row as +U, a new row as +I. If the input is the changelog (``changelog-producer`` = ``input``), the old row precedes
the +U as -U; the reference omits it. There is no -U if the statement sets a column of ``sequence.field``: the -U
could win against a +U with a lower value, and the row would be lost.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import replace

import pyarrow as pa

from table_format.errors import UnsupportedFeature
from table_format.metastore.commit.key_places import snapshot_identity
from table_format.model.arrow_types import arrow_schema
from table_format.model.commit import CommitMessage
from table_format.model.row_kind import ROW_KIND_COLUMN, RowKind
from table_format.options.merge import LAST_NON_NULL_VALUE, LAST_VALUE, MergeEngine
from table_format.options.stream import ChangelogProducer
from table_format.table.changes.row_changes import RowChanges, RowStatement
from table_format.table.facts import TableFacts
from table_format.table.read.scan import Scan
from table_format.table.write.table_write import TableWrite

_UPDATABLE = (MergeEngine.DEDUPLICATE, MergeEngine.PARTIAL_UPDATE)
_REPEATABLE = (LAST_VALUE, LAST_NON_NULL_VALUE)


class PrimaryKeyChanges:
    """One attempt of a statement on the rows of one scan, split by split and batch by batch.

    The scan reads all committed rows (``whole_state``). The messages record what it read, so that the commit detects
    other commits to the same keys.
    """

    def __init__(self, facts: TableFacts, scan: Scan, statement: RowStatement) -> None:
        self._facts = facts
        self._scan = scan
        self._statement = statement
        merge = facts.options.merge
        self._kind_column = merge.rowkind_field or ROW_KIND_COLUMN
        self._shows_before = (
            facts.options.stream.changelog_producer is ChangelogProducer.INPUT
            and merge.engine is MergeEngine.DEDUPLICATE
            and not statement.assigned.intersection(merge.sequence_fields)
        )
        self.counts = RowChanges()

    def write(self) -> tuple[CommitMessage, ...]:
        """Write the files of the commit. If this fails, nothing is left of them."""
        schema = arrow_schema(self._facts.schema.fields)
        if self._kind_column not in schema.names:
            schema = schema.append(pa.field(self._kind_column, pa.string()))
        base = snapshot_identity(self._scan.plan().snapshot)
        with closing(self._rows()) as rows:
            # The statement has checked the values that it assigns; the others are stored already.
            write = TableWrite(self._facts, shared=False, check_lengths=False)
            messages = write.write(pa.RecordBatchReader.from_batches(schema, rows))
        return tuple(replace(message, rows_base=base, numbers_base=None, rewrites=True) for message in messages)

    def _rows(self) -> Generator[pa.RecordBatch]:
        for batch in self._scan.to_batches(threads=1):
            rows = batch.filter(pa.array(self._statement.find(batch)))
            if not rows.num_rows:
                continue
            changed = self._statement.change(rows)
            before = self.counts
            self.counts = RowChanges(
                updated=before.updated + int(changed.updated.sum()), deleted=before.deleted + int(changed.deleted.sum())
            )
            if changed.deleted.any():
                yield self._of_kind(rows.filter(pa.array(changed.deleted)), RowKind.DELETE)
            if changed.rows.num_rows:
                if self._shows_before:
                    yield self._of_kind(rows.filter(pa.array(changed.updated)), RowKind.UPDATE_BEFORE)
                yield self._of_kind(changed.rows, RowKind.UPDATE_AFTER)
        for rows in self._statement.inserts():
            self.counts = RowChanges(self.counts.inserted + rows.num_rows, self.counts.updated, self.counts.deleted)
            yield self._of_kind(rows, RowKind.INSERT)

    def _of_kind(self, rows: pa.RecordBatch, kind: RowKind) -> pa.RecordBatch:
        if self._kind_column not in rows.schema.names:
            return rows.append_column(self._kind_column, pa.repeat(pa.scalar(kind.text), rows.num_rows))
        if not kind.is_retract:
            return rows  # the column's own attributes are part of the row
        at = rows.schema.get_field_index(self._kind_column)
        return rows.set_column(at, rows.schema.field(at), pa.repeat(pa.scalar(kind.text), rows.num_rows))


def check_kinds(facts: TableFacts, statement: str) -> None:
    """Refuse a table with a column of the reserved name for row kinds.

    Raises:
        UnsupportedFeature: names the column.
    """
    if facts.options.merge.rowkind_field is None and ROW_KIND_COLUMN in facts.schema.field_names:
        feature = f"{statement} with a column {ROW_KIND_COLUMN}"
        message = f"{statement} on {facts.name}: its column '{ROW_KIND_COLUMN}' has the reserved name for row kinds"
        raise UnsupportedFeature(feature, message)


def check_deletable(facts: TableFacts, statement: str) -> None:
    """Refuse a table whose merge engine cannot delete rows.

    Raises:
        UnsupportedFeature: names the option that prevents it.
    """
    check_kinds(facts, statement)
    merge = facts.options.merge
    if (obstacle := merge.obstacle_to_delete) is not None:
        feature = f"{statement} with ignore-delete=true" if merge.ignore_delete else f"{statement} with {merge.engine}"
        raise UnsupportedFeature(feature, f"table {facts.name}: rows cannot be deleted: {obstacle}")


def check_updatable(facts: TableFacts, statement: str, assigned: frozenset[str]) -> None:
    """Refuse an update that a primary key table does not support.

    Raises:
        UnsupportedFeature: names the merge engine, the function of a column, or the key columns that are assigned.
    """
    check_kinds(facts, statement)
    merge, schema = facts.options.merge, facts.schema
    if merge.engine not in _UPDATABLE:
        feature = f"{statement} with {merge.engine}"
        known = " and ".join(_UPDATABLE)
        message = f"{statement} on {facts.name}: merge-engine={merge.engine} cannot update rows; {known} can"
        raise UnsupportedFeature(feature, message)
    functions = {**merge.aggregates, **({"*": merge.default_aggregate} if merge.default_aggregate else {})}
    for column, function in functions.items():
        # The whole row is written: sum would add the current value a second time.
        if merge.engine is MergeEngine.PARTIAL_UPDATE and function not in _REPEATABLE:
            feature = f"{statement} with the aggregate function {function}"
            message = (
                f"{statement} on {facts.name}: {function} of column '{column}' would include its own earlier value"
            )
            raise UnsupportedFeature(feature, message)
    if keys := [name for name in schema.primary_keys if name in assigned]:
        feature = f"{statement} of primary key columns"
        message = (
            f"{statement} on {facts.name}: {', '.join(keys)} of the primary key cannot be assigned; delete and insert"
        )
        raise UnsupportedFeature(feature, message)
    if merge.rowkind_field in assigned:
        feature = f"{statement} of rowkind.field"
        message = f"{statement} on {facts.name}: column '{merge.rowkind_field}' holds the kind of its row; use delete"
        raise UnsupportedFeature(feature, message)
