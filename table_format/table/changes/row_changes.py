"""What is to be done with which rows, and what came of it: the common ground of DELETE, UPDATE and MERGE."""

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
    """How many rows a DELETE, UPDATE or MERGE changed, and the snapshots it made: none when there was nothing to do.

    On a primary key table these are the rows written for it: one that loses against its key by ``sequence.field``
    counts as well.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    snapshots: tuple[Snapshot, ...] = ()

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot with the changes; one after it holds what was compacted."""
        return self.snapshots[0] if self.snapshots else None


@dataclass(frozen=True, slots=True)
class Changed:
    """What becomes of some rows: which go, which change, and ``rows``, the changed ones as they are from now on.

    Rows in neither stay as they are.
    """

    deleted: Mask
    updated: Mask
    rows: pa.RecordBatch


class RowStatement(Protocol):
    """One DELETE, UPDATE or MERGE on one state of the table; used for one attempt.

    ``where`` holds for all rows that it concerns, and perhaps for others; ``columns`` are what ``find`` reads.
    ``removes_only`` promises that ``change`` would delete all rows found.
    """

    @property
    def where(self) -> Predicate | None:
        """A condition that all rows concerned meet; ``None`` if any row may be."""
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
        """The rows that are concerned, of a batch with ``columns``."""
        ...

    def change(self, rows: pa.RecordBatch) -> Changed:
        """What becomes of rows that were found, given with all columns of the table."""
        ...

    def inserts(self) -> Iterator[pa.RecordBatch]:
        """New rows with the columns of the table; asked when all others have been seen."""
        ...


@dataclass(frozen=True, slots=True)
class DeleteStatement:
    """DELETE of the rows that a condition selects, all without one."""

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
    """UPDATE of the rows that a condition selects, all without one."""

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
    """Which rows of a batch a condition selects."""
    if predicate is None:
        return np.ones(batch.num_rows, np.bool_)
    mask: Mask = matches(predicate, batch, schema.fields).to_numpy(zero_copy_only=False)
    return mask


def table_rows(batch: pa.RecordBatch, schema: TableSchema) -> pa.RecordBatch:
    """The columns of the table, and no others."""
    return pa.RecordBatch.from_arrays([batch.column(f.name) for f in schema.fields], schema=arrow_schema(schema.fields))
