"""``$ro``: the part of a table that is read without a merge (format chapter 14; Java ``ReadOptimizedTable``).

For a primary-key table, this is only the highest level, as of the last full compaction. Deletion vectors apply, because
a marked row was replaced or deleted. An append table needs no merge and is read completely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from table_format.model.condition import Filter
from table_format.model.types import DataField
from table_format.options.unread import Reader
from table_format.table.read.scan import Scan, columns_argument
from table_format.table.system.table import SystemTable
from table_format.table.table import Table


@dataclass(frozen=True, slots=True)
class ReadOptimizedTable(SystemTable):
    """The read-optimized view of ``table``; its scans plan and read like those of the table itself."""

    table: Table

    @property
    def name(self) -> str:
        """The name of the table with its suffix."""
        return f"{self.table.identifier}$ro"

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns, in order."""
        return self.table.schema.fields

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Scan:
        """Scan some columns (by default all), and the rows that a filter selects, with time travel as for the table."""
        table = self.table.for_reader(Reader.BATCH, options or {})
        return Scan(table.facts, columns_argument(columns), filter, levels=read_levels(table))


def read_levels(table: Table) -> frozenset[int] | None:
    """The levels that are read without a merge: the highest one, or all levels of an append table."""
    if not table.schema.is_primary_key_table:
        return None
    return frozenset({table.options.compaction.num_levels - 1})
