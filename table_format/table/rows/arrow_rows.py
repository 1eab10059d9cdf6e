"""The shapes in which rows are handed out that come as Arrow batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl


class ArrowRows(ABC):
    """Rows that can be had as one Arrow table, and so as what other libraries make of one."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """All rows as one table."""

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """All rows as a polars DataFrame."""
        import polars as pl  # an optional extra

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table becomes a frame
        return frame

    def to_duckdb(self) -> duckdb.DuckDBPyRelation:
        """All rows as a relation of duckdb's default connection."""
        import duckdb  # an optional extra

        return duckdb.from_arrow(self.to_arrow())
