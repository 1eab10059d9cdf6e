"""Reads exact column bounds from the raw statistics in Parquet footers, without conversion to datetime or float."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from table_format.formats.parquet_types import is_int96
from table_format.kernels.bounds import ColumnBounds
from table_format.model.types import (
    NESTED,
    AnyTimestampType,
    BooleanType,
    DataType,
    DecimalType,
    FloatingType,
    InternalValue,
    TextType,
)

MAX_STATISTICS_BYTES: Final = 4096
"""Arrow's writer omits a minimum or maximum that is longer than this."""

_EXACT: Final = Context(prec=100)
_NANOS_PER_MILLI: Final = 1_000_000
_NANOS_PER_MICRO: Final = 1_000
_FILE_MILLI_PRECISION: Final = 3


def leaf_positions(schema: pa.Schema) -> list[range]:
    """Return, for each column of a file, the positions of its leaves among all leaves."""
    positions = []
    start = 0
    for field in schema:
        width = _leaf_count(field.type)
        positions.append(range(start, start + width))
        start += width
    return positions


def _leaf_count(arrow: pa.DataType) -> int:
    if arrow.num_fields == 0:
        return 1
    return sum(_leaf_count(arrow.field(i).type) for i in range(arrow.num_fields))


def footer_bounds(group: pq.RowGroupMetaData, leaves: Sequence[int], data_type: DataType) -> ColumnBounds:
    """Return the bounds of one column in one row group, as far as the footer states them."""
    rows = group.num_rows
    if isinstance(data_type, NESTED) or is_int96(data_type) or len(leaves) != 1:
        return ColumnBounds(None, None, None, rows)
    statistics: Any = group.column(leaves[0]).statistics  # the stubs lack has_null_count
    if statistics is None:
        return ColumnBounds(None, None, None, rows)
    nulls = statistics.null_count if statistics.has_null_count else None
    if not statistics.has_min_max or nulls == rows:
        return ColumnBounds(None, None, nulls, rows)
    minimum = _internal(statistics.min_raw, data_type)
    maximum = _internal(statistics.max_raw, data_type)
    if minimum is None or maximum is None:
        minimum = maximum = None
    return ColumnBounds(minimum, maximum, nulls, rows)


def _internal(raw: float | bytes, data_type: DataType) -> InternalValue:
    match data_type:
        case DecimalType(scale=scale):
            unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else int(raw)
            return Decimal(unscaled).scaleb(-scale, _EXACT)
        case TextType() if isinstance(raw, bytes):
            try:
                return raw.decode()
            except UnicodeDecodeError:
                return None
        case AnyTimestampType(precision=precision):
            return int(raw) * (_NANOS_PER_MILLI if precision <= _FILE_MILLI_PRECISION else _NANOS_PER_MICRO)
        case FloatingType() if isinstance(raw, float):
            # A writer that states NaN as a bound did not compare its values correctly.
            return None if math.isnan(raw) else raw
        case BooleanType():
            return bool(raw)
    return raw
