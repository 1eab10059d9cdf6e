"""Converts decimals with more digits than their type to the form in which files store them.

A sum of a DECIMAL with up to 18 digits can have too many digits, because the reference adds longs and does not compare
the sum with the precision. File formats treat such values differently: Parquet stores the low 32 or 64 bits of the
unscaled value, and readers of ORC and Avro return null. Rows are converted to that form before they are written, so
that statistics and indexes describe what a reader sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa

from table_format.kernels.aggregates.buffers import decimal_words, decimals_of_words, validity
from table_format.kernels.aggregates.decimals import MAX_COMPACT_PRECISION
from table_format.model.types import DataField, DataType, DecimalType, InternalValue
from table_format.options.file_formats import AVRO, PARQUET
from table_format.options.merge import MergeOptions

_MAX_INT32_PRECISION: Final = 9


def columns_with_long_decimals(fields: Sequence[DataField], options: MergeOptions) -> tuple[DataField, ...]:
    """Return the columns whose merged values may have more digits than their type allows."""
    if not options.computes_values:
        return ()
    return tuple(f for f in fields if isinstance(f.type, DecimalType) and f.type.precision <= MAX_COMPACT_PRECISION)


def as_stored(batch: pa.RecordBatch, columns: Sequence[DataField], file_format: str) -> pa.RecordBatch:
    """Return the rows as a reader of a file of this format sees them; only ``columns`` are converted."""
    for field in columns:
        position = batch.schema.get_field_index(field.name)
        array = batch.column(position)
        stored = _stored(array, field, file_format)
        if stored is not array:
            batch = batch.set_column(position, batch.schema.field(position), stored)
    return batch


def is_long(value: InternalValue, data_type: DataType) -> bool:
    """Return whether a value has more digits than its type allows."""
    return (
        isinstance(data_type, DecimalType)
        and isinstance(value, Decimal)
        and abs(value) >= Decimal(1).scaleb(data_type.precision - data_type.scale)
    )


def _stored(array: pa.Array, field: DataField, file_format: str) -> pa.Array:
    precision = array.type.precision
    low, _ = decimal_words(array)
    valid = validity(array)
    unscaled = low.view(np.int64)
    limit = 10**precision
    too_long = valid & ((unscaled >= limit) | (unscaled <= -limit))
    if not too_long.any():
        return array
    if file_format == PARQUET.name:
        kept = unscaled.astype(np.int32).astype(np.int64) if precision <= _MAX_INT32_PRECISION else unscaled
        return decimals_of_words(kept.view(np.uint64), kept >> 63, valid, array.type)
    if file_format == AVRO.name and not field.type.nullable:
        return array  # The file schema does not allow null; readers convert the bytes to null.
    return decimals_of_words(low, unscaled >> 63, valid & ~too_long, array.type)
