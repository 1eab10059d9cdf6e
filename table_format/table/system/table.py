"""What every system table offers, and every reading of one (format chapter 14).

Metadata is made as Arrow rows where the caller is; readings of a table's own data have splits, which tasks of an engine
can read elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pyarrow as pa

from table_format.model.arrow_types import arrow_schema
from table_format.model.column_names import no_such_column
from table_format.model.condition import Filter
from table_format.model.types import DataField
from table_format.table.rows.arrow_rows import ArrowRows

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl


class Reading(Protocol):
    """One reading of some columns and rows; ``table.scan.Scan`` is one too."""

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        ...

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in batches."""
        ...

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as an Arrow stream."""
        ...

    def to_arrow(self) -> pa.Table:
        """All rows as one table."""
        ...

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas DataFrame."""
        ...

    def to_polars(self) -> pl.DataFrame:
        """All rows as a polars DataFrame."""
        ...

    def to_polars_lazy(self) -> pl.LazyFrame:
        """The rows as a polars LazyFrame."""
        ...

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """All rows as a relation of a connection, by default duckdb's own."""
        ...


class Splits(Protocol):
    """A plan: the units that can be read apart from each other; each travels between processes."""

    @property
    def splits(self) -> Sequence[Any]:
        """The units, in order."""
        ...


@runtime_checkable
class SplitReading(Protocol):
    """A reading whose splits an engine's tasks can read.

    ``split_reader`` is a function of one split that travels between processes; ``fields`` are the columns of its rows.
    """

    @property
    def fields(self) -> Sequence[DataField]:
        """The columns of the rows."""
        ...

    def plan(self) -> Splits:
        """Look at the table, and cut what is to be read into splits."""
        ...

    def split_reader(self) -> Callable[[Any], Generator[pa.RecordBatch]]:
        """The function that reads one split."""
        ...


class SystemScan(ArrowRows):
    """A ``Reading`` for which ``schema`` and ``to_batches`` are enough."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""

    @abstractmethod
    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in batches."""

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as an Arrow stream with its schema."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def to_arrow(self) -> pa.Table:
        """All rows as one table."""
        return pa.Table.from_batches(self.to_batches(), schema=self.schema)


def chosen_fields(available: Sequence[DataField], columns: Sequence[str] | None) -> tuple[DataField, ...]:
    """The columns of those names, in that order; all without.

    Raises:
        ColumnNotFound: there is no such column.
    """
    if columns is None:
        return tuple(available)
    by_name = {f.name: f for f in available}
    for name in columns:
        if name not in by_name:
            raise no_such_column(name, by_name)
    return tuple(by_name[name] for name in columns)


class SystemTable(ABC):
    """A table that is read only and made of what another table, or the catalog, holds."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name it is opened by, such as ``db.t$files``."""

    @property
    @abstractmethod
    def fields(self) -> tuple[DataField, ...]:
        """Its columns."""

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of its rows."""
        return arrow_schema(self.fields)

    @abstractmethod
    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Reading:
        """A reading of some columns (all without) and of the rows a filter selects.

        ``options`` are dynamic options of the table it belongs to, such as ``scan.snapshot-id``.

        Raises:
            InvalidOption, UnsupportedFeature: an option is not acceptable.
        """
