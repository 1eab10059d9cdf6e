"""Integers of pandas that became floating point because a value is missing.

A pandas column of integers has no place for a missing value, so pandas makes it ``float64`` with NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_format.model.arrow_types import arrow_type
from table_format.model.types import DataField

_EXACT: Final = 1 << 53
"""Up to this magnitude, ``float64`` holds every integer. A larger one may have been rounded."""


def with_integers(rows: pa.Table, columns: Sequence[DataField]) -> pa.Table:
    """Return rows of pandas with integers where the table has integers and pandas had to make them ``float64``.

    Such a column has nulls, and all other values are integers that the column of the table can hold. Other columns
    stay as they are.

    >>> from table_format.model.types import BigIntType
    >>> rows = pa.table({"n": [1.0, None], "part": [0.5, None]})
    >>> fields = [DataField(0, "n", BigIntType()), DataField(1, "part", BigIntType())]
    >>> [str(field.type) for field in with_integers(rows, fields).schema]
    ['int64', 'double']
    """
    targets = {field.name: arrow_type(field.type) for field in columns}
    for index, found in enumerate(rows.schema):
        target = targets.get(found.name)
        if target is None or not pa.types.is_integer(target) or not pa.types.is_float64(found.type):
            continue
        whole = _as_integers(rows.column(index), target)
        if whole is not None:
            rows = rows.set_column(index, found.with_type(target), whole)
    return rows


def _as_integers(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray | None:
    """Return the column as integers; ``None`` if it has no nulls, or a value would change or may have changed."""
    if not column.null_count:
        return None
    largest = pc.max(pc.abs(column)).as_py()
    if largest is not None and not largest <= _EXACT:
        return None
    try:
        return column.cast(target)
    except pa.ArrowInvalid:
        return None
