"""A dataset as a polars source. It gets the columns, the condition and the number of rows that a query needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from table_format.codecs.foreign_conditions import implied
from table_format.extras import require
from table_format.table.read.polars_conditions import PolarsConditions
from table_format.table.read.scan_dataset import ScanDataset

if TYPE_CHECKING:
    import polars as pl


def lazy_frame(dataset: ScanDataset) -> pl.LazyFrame:
    """Return a LazyFrame of a dataset. Conditions prune rows, and polars applies them again.

    Raises:
        PackageMissing: polars is not installed.
    """
    polars = require("polars")
    conditions = PolarsConditions(polars, {field.name: field for field in dataset.fields})

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        pruning = None if predicate is None else implied(conditions.condition(predicate))
        for batch in dataset.batches(_needed(columns, predicate), pruning):
            frame: pl.DataFrame = polars.from_arrow(pa.table(batch))
            if predicate is not None:
                frame = frame.filter(predicate)
            if columns is not None:
                frame = frame.select(columns)
            if rows is not None:
                frame = frame.head(rows)
                rows -= frame.height
            yield frame
            if rows == 0:
                return

    schema = polars.from_arrow(dataset.schema.empty_table()).schema
    frame: pl.LazyFrame = polars.io.plugins.register_io_source(read, schema=schema)
    return frame


def _needed(columns: list[str] | None, predicate: pl.Expr | None) -> list[str] | None:
    """The columns to read; ``None`` for all."""
    if columns is None or predicate is None:
        return columns
    return list(dict.fromkeys([*columns, *predicate.meta.root_names()]))
