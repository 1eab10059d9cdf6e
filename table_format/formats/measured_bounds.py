"""Measures the bounds of the columns of a file while it is written, for formats that do not expose their own."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from table_format.kernels.bounds import ColumnBounds
from table_format.kernels.statistics import column_bounds, merge_bounds
from table_format.model.types import NESTED, DataField


class MeasuredBounds:
    """The bounds of the batches of one file; nested columns have a null count but no minimum and maximum."""

    def __init__(self, fields: Sequence[DataField]) -> None:
        self._fields = tuple(fields)
        self._bounds = [ColumnBounds(None, None, 0, 0)] * len(self._fields)

    def add(self, batch: pa.RecordBatch) -> None:
        """Measure the rows of a batch whose columns are the fields, in order."""
        for i, (column, field) in enumerate(zip(batch.columns, self._fields, strict=True)):
            if isinstance(field.type, NESTED):
                found = ColumnBounds(None, None, column.null_count, len(column))
            else:
                found = column_bounds(column, field.type)
            self._bounds[i] = merge_bounds((self._bounds[i], found))

    def result(self) -> tuple[ColumnBounds, ...]:
        """Return the bounds of all rows, one for each column."""
        return tuple(self._bounds)
