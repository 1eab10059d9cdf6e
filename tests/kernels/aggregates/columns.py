"""Columns from plain values and back, exact for every type.

Plain values are JSON: decimals are their unscaled integers as text, floats the hexadecimal of their bits (one NaN),
bytes hexadecimal, DATE and TIME integers, timestamps nanoseconds, maps lists of pairs, rows lists.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from table_format.kernels.aggregates import Action, AggregateSpec, fold
from table_format.kernels.aggregates.buffers import decimals_of_ints, unscaled_ints
from table_format.model.arrow_types import arrow_type
from table_format.model.types import (
    ArrayType,
    BinaryType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    MapType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
)

NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
LETTERS = {"s": Action.SKIP, "A": Action.AGG, "R": Action.REVERSED, "-": Action.RETRACT, "=": Action.RESET}
"""Actions from their short form in tests."""

Step = tuple[str, Any]


def row_type(*types: DataType) -> RowType:
    """A ROW with fields a, b, c, ..."""
    return RowType(fields=tuple(DataField(i, "abcdefgh"[i], t) for i, t in enumerate(types)))


def import_library_of(function: str) -> Any:
    """Import what computes a sketch. Skip the test on a Python for which the package has no wheels."""
    return pytest.importorskip("datasketches") if function.endswith("_sketch") else None


def spec_of(function: str, t: DataType, **options: Any) -> AggregateSpec:
    return AggregateSpec(function, DataField(7, "f", t), **options)


def folded(spec: AggregateSpec, groups: Sequence[Sequence[Step]]) -> list[Any]:
    """Plain results of groups of (letter, plain value)."""
    steps = [step for group in groups for step in group]
    lengths = [len(group) for group in groups]
    starts = np.cumsum([0, *lengths[:-1]])
    actions = np.array([LETTERS[letter] for letter, _ in steps], np.int8)
    result = fold(spec, column_of([value for _, value in steps], spec.field.type), starts, actions)
    assert result.type == arrow_type(spec.field.type)
    result.validate()
    return plain_values(result, spec.field.type)


def column_of(values: Sequence[Any], t: DataType) -> pa.Array:
    """An Arrow column of plain values."""
    arrow = arrow_type(t)
    mask = pa.array([v is None for v in values], pa.bool_())
    match t:
        case DecimalType():
            return decimals_of_ints([None if v is None else int(v) for v in values], arrow)
        case FloatType() | DoubleType():
            form = ">f" if isinstance(t, FloatType) else ">d"
            return pa.array([None if v is None else struct.unpack(form, bytes.fromhex(v))[0] for v in values], arrow)
        case BinaryType() | VarBinaryType():
            return pa.array([None if v is None else bytes.fromhex(v) for v in values], arrow)
        case DateType() | TimeType():
            return pa.array(values, pa.int32()).cast(arrow)
        case TimestampType() | LocalZonedTimestampType():
            return pa.array([None if v is None else v // NANOS[arrow.unit] for v in values], pa.int64()).cast(arrow)
        case ArrayType(element=element):
            flat, offsets = _flat(values)
            return pa.ListArray.from_arrays(offsets, column_of(flat, element), arrow, mask=mask)
        case MapType(key=key, value=value):
            flat, offsets = _flat(values)
            keys, items = column_of([k for k, _ in flat], key), column_of([v for _, v in flat], value)
            return pa.MapArray.from_arrays(offsets, keys, items, arrow, mask=mask)
        case RowType(fields=fields):
            columns = [column_of([None if v is None else v[i] for v in values], f.type) for i, f in enumerate(fields)]
            return pa.StructArray.from_arrays(columns, fields=list(arrow), mask=mask)
    return pa.array(values, arrow)


def _flat(values: Sequence[list[Any] | None]) -> tuple[list[Any], pa.Array]:
    lengths = [len(v or ()) for v in values]
    return [x for v in values for x in v or ()], pa.array(np.cumsum([0, *lengths]), pa.int32())


def plain_values(array: pa.Array, t: DataType) -> list[Any]:
    """The plain values of an Arrow column."""
    match t:
        case DecimalType():
            return [None if v is None else str(v) for v in unscaled_ints(array)]
        case FloatType() | DoubleType():
            return [None if v is None else float_bits(v, t) for v in array.to_pylist()]
        case BinaryType() | VarBinaryType():
            return [None if v is None else v.hex() for v in array.to_pylist()]
        case DateType() | TimeType():
            return array.view(pa.int32()).to_pylist()
        case TimestampType() | LocalZonedTimestampType():
            nanos = NANOS[array.type.unit]
            return [None if v is None else v * nanos for v in array.view(pa.int64()).to_pylist()]
        case ArrayType(element=element):
            return [plain_values(v.values, element) if v.is_valid else None for v in array]
        case MapType(key=key, value=value):
            return [_pairs(v.values, key, value) if v.is_valid else None for v in array]
        case RowType(fields=fields):
            columns = [plain_values(pc.struct_field(array, [i]), f.type) for i, f in enumerate(fields)]
            rows = zip(*columns, strict=True)
            return [list(row) if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]
    return array.to_pylist()


def _pairs(entries: pa.Array, key: DataType, value: DataType) -> list[list[Any]]:
    keys, values = plain_values(entries.field(0), key), plain_values(entries.field(1), value)
    return [list(pair) for pair in zip(keys, values, strict=True)]


def float_bits(value: float, t: DataType) -> str:
    """The bits of a float in hexadecimal; every NaN is the same."""
    if value != value:
        return "7fc00000" if isinstance(t, FloatType) else "7ff8000000000000"
    return struct.pack(">f" if isinstance(t, FloatType) else ">d", value).hex()


def float_of(bits: str) -> float:
    return float(struct.unpack(">f" if len(bits) == 8 else ">d", bytes.fromhex(bits))[0])
