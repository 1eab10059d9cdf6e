"""The common types of DELETE, UPDATE and MERGE: statements, changed rows and results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.predicate import matches
from table_format.model.arrow_types import arrow_schema
from table_format.model.predicate import Predicate, columns_of
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.table.changes.assignments import Assignments

Mask = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowChanges:
    """The result of a DELETE, UPDATE or MERGE: the numbers of changed rows and the snapshots; none if nothing changed.

    On a primary key table, the numbers count written rows, including rows that lose by their ``sequence.field``.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    snapshots: tuple[Snapshot, ...] = ()

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot with the changes. A later one holds the result of the compaction."""
        return self.snapshots[0] if self.snapshots else None


@dataclass(frozen=True, slots=True)
class Changed:
    """The changes of some rows: which are deleted, which are changed, and the new ``rows`` of the changed ones.

    Other rows stay the same.
    """

    deleted: Mask
    updated: Mask
    rows: pa.RecordBatch


class RowStatement(Protocol):
    """One attempt of a DELETE, UPDATE or MERGE on one state of the table.

    ``where`` holds for all affected rows, and perhaps for others. ``find`` reads ``columns``.
    ``removes_only`` promises that ``change`` would delete all rows found.
    """

    @property
    def where(self) -> Predicate | None:
        """A condition that holds for all affected rows; ``None`` if any row may be affected."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that ``find`` reads."""
        ...

    @property
    def assigned(self) -> frozenset[str]:
        """The columns that get new values."""
        ...

    @property
    def removes_only(self) -> bool:
        """Whether ``change`` deletes all rows that ``find`` finds."""
        ...

    def find(self, batch: pa.RecordBatch) -> Mask:
        """Return the affected rows of a batch with ``columns``."""
        ...

    def change(self, rows: pa.RecordBatch) -> Changed:
        """Return the changes of found rows, which have all columns of the table."""
        ...

    def inserts(self) -> Iterator[pa.RecordBatch]:
        """Return new rows with the columns of the table. Called after all other rows."""
        ...


@dataclass(frozen=True, slots=True)
class DeleteStatement:
    """DELETE of the rows that a condition selects; without one, of all rows."""

    schema: TableSchema
    where: Predicate | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that ``find`` reads."""
        return () if self.where is None else tuple(sorted(columns_of(self.where)))

    @property
    def assigned(self) -> frozenset[str]:
        """The columns that get new values: none."""
        return frozenset()

    @property
    def removes_only(self) -> bool:
        """Whether ``change`` deletes all rows that ``find`` finds."""
        return True

    def find(self, batch: pa.RecordBatch) -> Mask:
        """The rows that the condition selects."""
        return selected(self.where, batch, self.schema)

    def change(self, rows: pa.RecordBatch) -> Changed:
        """All rows found are deleted."""
        all_rows = np.ones(rows.num_rows, np.bool_)
        return Changed(all_rows, ~all_rows, table_rows(rows.slice(0, 0), self.schema))

    def inserts(self) -> Iterator[pa.RecordBatch]:
        """New rows: none."""
        return iter(())


@dataclass(frozen=True, slots=True)
class UpdateStatement:
    """UPDATE of the rows that a condition selects; without one, of all rows."""

    schema: TableSchema
    where: Predicate | None
    assignments: Assignments

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that ``find`` reads."""
        return () if self.where is None else tuple(sorted(columns_of(self.where)))

    @property
    def assigned(self) -> frozenset[str]:
        """The columns that get new values."""
        return self.assignments.names

    @property
    def removes_only(self) -> bool:
        """Whether ``change`` deletes all rows that ``find`` finds."""
        return False

    def find(self, batch: pa.RecordBatch) -> Mask:
        """The rows that the condition selects."""
        return selected(self.where, batch, self.schema)

    def change(self, rows: pa.RecordBatch) -> Changed:
        """All rows found get the new values."""
        all_rows = np.ones(rows.num_rows, np.bool_)
        return Changed(~all_rows, all_rows, self.assignments.applied(rows))

    def inserts(self) -> Iterator[pa.RecordBatch]:
        """New rows: none."""
        return iter(())


def selected(predicate: Predicate | None, batch: pa.RecordBatch, schema: TableSchema) -> Mask:
    """Return which rows of a batch a condition selects."""
    if predicate is None:
        return np.ones(batch.num_rows, np.bool_)
    mask: Mask = matches(predicate, batch, schema.fields).to_numpy(zero_copy_only=False)
    return mask


def table_rows(batch: pa.RecordBatch, schema: TableSchema) -> pa.RecordBatch:
    """Return the rows with only the columns of the table."""
    return pa.RecordBatch.from_arrays([batch.column(f.name) for f in schema.fields], schema=arrow_schema(schema.fields))
