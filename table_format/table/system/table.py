"""The interfaces of system tables and of their scans (format chapter 14).

Metadata becomes Arrow rows in the process of the caller. Scans of a table's own data have splits, which tasks of an
engine can read elsewhere.
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
    """A scan of some columns and rows; ``table.scan.Scan`` is one too."""

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
        """All rows as a relation of a DuckDB connection, by default the default connection."""
        ...


class Splits(Protocol):
    """A plan: units that can be read independently, each of which can be sent to other processes."""

    @property
    def splits(self) -> Sequence[Any]:
        """The units, in order."""
        ...


@runtime_checkable
class SplitReading(Protocol):
    """A scan whose splits the tasks of an engine can read.

    ``split_reader`` is a function of one split, for other processes as well; ``fields`` are the columns of its rows.
    """

    @property
    def fields(self) -> Sequence[DataField]:
        """The columns of the rows."""
        ...

    def plan(self) -> Splits:
        """Plan the scan: divide it into splits."""
        ...

    def split_reader(self) -> Callable[[Any], Generator[pa.RecordBatch]]:
        """Return the function that reads one split."""
        ...


class SystemScan(ArrowRows):
    """A base class of a ``Reading`` that needs only ``schema`` and ``to_batches``."""

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
    """Return the columns with these names, in their order; by default all.

    Raises:
        ColumnNotFound: a column does not exist.
    """
    if columns is None:
        return tuple(available)
    by_name = {f.name: f for f in available}
    for name in columns:
        if name not in by_name:
            raise no_such_column(name, by_name)
    return tuple(by_name[name] for name in columns)


class SystemTable(ABC):
    """A read-only table that shows data of another table or of the catalog."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that opens it, such as ``db.t$files``."""

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
        """Scan some columns (by default all), and the rows that a filter selects.

        ``options`` are dynamic options of its table, such as ``scan.snapshot-id``.

        Raises:
            InvalidOption, UnsupportedFeature: an option is invalid or not supported.
        """
