"""``$row_tracking``: the rows of an append table with their row ids and sequence numbers (Java ``RowTrackingTable``).

A row keeps its id when it is moved to another file. Its sequence number is the snapshot that made or last changed it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from table_format.errors import InvalidOption
from table_format.model.condition import Filter
from table_format.model.predicate import Predicate, columns_of, conjunction, conjuncts
from table_format.model.split import DataSplit
from table_format.model.types import DataField
from table_format.options.refused import ROW_TRACKING_ENABLED
from table_format.options.unread import Reader
from table_format.table.facts import TableFacts
from table_format.table.read.plan import Plan
from table_format.table.read.scan import Scan, columns_argument
from table_format.table.read.tracked_rows import TRACKED, read_tracked
from table_format.table.system.log_scan import LogScan
from table_format.table.system.table import SystemTable
from table_format.table.table import Table

_NAMES = frozenset(f.name for f in TRACKED)


@dataclass(frozen=True, slots=True)
class RowTrackingTable(SystemTable):
    """The rows of ``table`` with ``_ROW_ID`` and ``_SEQUENCE_NUMBER``; see ``opened``."""

    table: Table

    @classmethod
    def opened(cls, table: Table) -> RowTrackingTable:
        """The system table of a table with row tracking.

        Raises:
            InvalidOption: the table has no row tracking.
        """
        if not ROW_TRACKING_ENABLED.read(table.options.raw):
            raise InvalidOption(
                ROW_TRACKING_ENABLED.key, f"is not 'true' for {table.identifier}; its rows have no ids to show"
            )
        return cls(table)

    @property
    def name(self) -> str:
        """The name of the table with its suffix."""
        return f"{self.table.identifier}$row_tracking"

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns, in order."""
        return (*self.table.schema.fields, *TRACKED)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        options: Mapping[str, str] | None = None,
    ) -> RowTrackingScan:
        """Scan some columns (by default all), and the rows that a filter selects; see ``Table.scan``."""
        table = self.table.for_reader(Reader.BATCH, options or {})
        return RowTrackingScan(table.facts, columns_argument(columns), filter)


class RowTrackingScan(LogScan):
    """A scan of rows with their ids. Conditions on columns of the table are used for pruning."""

    def _columns_of(self, fields: tuple[DataField, ...]) -> tuple[DataField, ...]:
        return (*fields, *TRACKED)

    def _reading(self) -> Scan:
        on_rows = tuple(part for part in conjuncts(self._predicate) if not columns_of(part) & _NAMES)
        names = [f.name for f in self.fields if f.name not in _NAMES]
        return Scan(self.facts, tuple(names), conjunction(on_rows))

    def _reader(self, facts: TableFacts, plan: Plan) -> Callable[[DataSplit], Generator[pa.RecordBatch]]:
        on_ids = tuple(part for part in conjuncts(self._predicate) if columns_of(part) & _NAMES)
        return partial(_read, facts, plan, self.fields, conjunction(on_ids))


def _read(
    facts: TableFacts, plan: Plan, fields: Sequence[DataField], on_ids: Predicate | None, split: DataSplit
) -> Generator[pa.RecordBatch]:
    return read_tracked(facts.store, plan.schemas, plan.schema, facts.options, split, fields, plan.pruning, on_ids)
