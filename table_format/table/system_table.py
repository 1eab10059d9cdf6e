"""System tables: what is known of a table, as tables to read (format chapter 14).

Rows are made when they are read, so they show the table of that moment. Times are local, without zone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from table_format.errors import ColumnNotFound, UnsupportedFeature
from table_format.kernels.predicate import matches
from table_format.model.arrow_types import arrow_schema
from table_format.model.predicate import Predicate
from table_format.model.types import DataField
from table_format.table import system_rows
from table_format.table.facts import TableFacts
from table_format.table.filters import bound_filter
from table_format.table.scan import columns_argument
from table_format.table.table import Table

if TYPE_CHECKING:
    import pandas as pd

_Rows = Callable[[TableFacts], pa.Table]

_TABLES: Final[dict[str, tuple[tuple[DataField, ...], _Rows]]] = {
    "snapshots": (system_rows.SNAPSHOTS, system_rows.snapshots),
    "schemas": (system_rows.SCHEMAS, system_rows.schemas),
    "options": (system_rows.OPTIONS, system_rows.options),
    "files": (system_rows.FILES, system_rows.files),
}


@dataclass(frozen=True, slots=True)
class SystemTable:
    """A system table of a table."""

    name: str
    fields: tuple[DataField, ...]
    table: Table

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of its rows."""
        return arrow_schema(self.fields)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | Predicate | None = None,
    ) -> SystemScan:
        """A reading of some columns and of the rows a filter selects."""
        return SystemScan(self, columns_argument(columns), filter)


@dataclass(frozen=True, slots=True)
class SystemScan:
    """One reading of a system table."""

    system_table: SystemTable
    columns: tuple[str, ...] | None
    filter: str | Predicate | None

    def to_arrow(self) -> pa.Table:
        """The rows.

        Raises:
            ColumnNotFound: a column does not exist.
            InvalidFilter: the filter cannot be parsed or does not fit the columns.
        """
        fields = self.system_table.fields
        names = [f.name for f in fields]
        for column in self.columns or ():
            if column not in names:
                message = f"column '{column}' does not exist; the columns are {', '.join(names)}"
                raise ColumnNotFound(message)
        _, rows = _TABLES[self.system_table.name]
        table = rows(self.system_table.table.facts)
        predicate = bound_filter(self.filter, fields)
        if predicate is not None:
            kept = [batch.filter(matches(predicate, batch, fields)) for batch in table.to_batches()]
            table = pa.Table.from_batches(kept, schema=table.schema)
        return table if self.columns is None else table.select(list(self.columns))

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in batches."""
        return iter(self.to_arrow().to_batches())

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame."""
        return self.to_arrow().to_pandas()


def open_system_table(table: Table, name: str) -> SystemTable:
    """The system table of that name.

    Raises:
        UnsupportedFeature: this version has none of that name.
    """
    found = _TABLES.get(name)
    if found is None:
        feature = f"system table '{table.identifier}${name}'"
        message = f"{feature} is not supported by this version; it has {', '.join(f'${known}' for known in _TABLES)}"
        raise UnsupportedFeature(feature, message)
    return SystemTable(name, found[0], table)
