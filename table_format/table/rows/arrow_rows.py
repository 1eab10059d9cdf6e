"""The forms in which a scan returns its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import pyarrow as pa

from table_format.errors import InvalidData
from table_format.extras import require

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl


class ArrowRows(ABC):
    """Rows that are available as an Arrow table or stream, and in the forms of other libraries."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """All rows as one table."""

    @abstractmethod
    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as a stream for any library that supports Arrow's C stream interface.

        >>> pa.table(table.scan()).num_rows
        3
        """
        stream: object = self.to_reader().__arrow_c_stream__(requested_schema)  # type: ignore[no-untyped-call]  # as pyarrow has it
        return stream

    def to_pandas(self) -> pd.DataFrame:
        """Return all rows as a pandas DataFrame.

        >>> int(table.scan().to_pandas()["amount"].sum())
        60

        Raises:
            PackageMissing: pandas is not installed.
            InvalidData: pandas cannot represent a value.
        """
        require("pandas")
        rows = self.to_arrow()
        try:
            return rows.to_pandas()
        except (ValueError, OverflowError) as error:
            message = (
                f"pandas cannot represent a value; its dates have the years 1 to 9999: {error}; select other "
                "columns, or read the rows with to_arrow()"
            )
            raise InvalidData(message) from error

    def to_polars(self) -> pl.DataFrame:
        """Return all rows as a polars DataFrame.

        >>> table.scan().to_polars().height
        3

        Raises:
            PackageMissing: polars is not installed.
        """
        frame: pl.DataFrame = require("polars").from_arrow(self.to_arrow())
        return frame

    def to_polars_lazy(self) -> pl.LazyFrame:
        """Return the rows as a polars LazyFrame.

        Raises:
            PackageMissing: polars is not installed.
        """
        return self.to_polars().lazy()

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Return all rows as a DuckDB relation of a connection, by default DuckDB's default connection.

        Raises:
            PackageMissing: duckdb is not installed.
        """
        return (connection or require("duckdb")).from_arrow(self.to_arrow())
