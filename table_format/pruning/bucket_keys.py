"""The buckets that a filter on the bucket key selects, as hashes of the key (format chapter 11, section 1)."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Final

from table_format.errors import InvalidData
from table_format.kernels.hashing import row_hashes
from table_format.kernels.values import array_of
from table_format.model.predicate import Compare, CompareOp, In, Predicate, conjuncts
from table_format.model.schema import TableSchema
from table_format.model.types import DataField, DoubleType, FloatType, InternalValue

MAX_BUCKET_KEYS: Final = 4096
"""Maximum number of combinations of bucket key values to hash. With more, all buckets are read."""


def bucket_key_hashes(schema: TableSchema, predicate: Predicate | None) -> frozenset[int] | None:
    """Return the possible hashes of the bucket key of selected rows. ``None`` if the filter does not fix all its
    columns.

    The hashes are those of the default bucket function.
    """
    fields = schema.select(schema.bucket_keys)
    choices = [_values_of(field, predicate) for field in fields]
    if not choices or any(values is None for values in choices):
        return None
    sets = [values for values in choices if values is not None]
    if prod(len(values) for values in sets) > MAX_BUCKET_KEYS:
        return None
    rows = list(product(*sets))
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    try:
        arrays = [array_of(column, field.type) for column, field in zip(columns, fields, strict=True)]
    except InvalidData:
        return None  # the value is finer than the type, so no row has it; the filter itself detects that
    return frozenset(row_hashes([field.type for field in fields], arrays).tolist())


def _values_of(field: DataField, predicate: Predicate | None) -> tuple[InternalValue, ...] | None:
    """Return the values that a conjunction allows for a column, by the strictest of its conditions."""
    # 0.0 and -0.0 are equal but have different hashes; NaN has several bit patterns.
    if isinstance(field.type, FloatType | DoubleType):
        return None
    found: tuple[InternalValue, ...] | None = None
    for part in conjuncts(predicate):
        match part:
            case Compare(column=column, op=CompareOp.EQ, value=value) if column == field.name:
                values: tuple[InternalValue, ...] = (value,)
            case In(column=column, values=values) if column == field.name:
                pass
            case _:
                continue
        if found is None or len(values) < len(found):
            found = values
    return found
