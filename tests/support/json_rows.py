"""Rows as JSON values, in the encoding that the golden tables and the real Paimon's answers use.

Numbers as numbers, DECIMAL as text with its scale, bytes as hex, dates and times as ISO text with as many digits as
the precision says, arrays as lists, maps as sorted lists of pairs, rows as objects.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

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
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
)

_UNIT_NANOS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def json_rows(table: pa.Table, fields: Sequence[DataField]) -> list[list[Any]]:
    """The rows of a table, sorted by their JSON text."""
    return sorted_rows(unsorted_rows(table, fields))


def unsorted_rows(table: pa.Table, fields: Sequence[DataField]) -> list[list[Any]]:
    """The rows of a table in its order."""
    columns = [_column(table.column(f.name).combine_chunks(), f.type) for f in fields]
    return [list(row) for row in zip(*columns, strict=True)] if columns else []


def rows_with_floats(rows: Sequence[Sequence[Any]], fields: Sequence[DataField]) -> list[list[Any]]:
    """Rows of another reader with FLOAT values as this module writes them: two texts may stand for one number."""
    floats = {i for i, f in enumerate(fields) if isinstance(f.type, FloatType)}
    if not floats:
        return sorted_rows(rows)
    return sorted_rows([[_float(v) if i in floats else v for i, v in enumerate(row)] for row in rows])


def alike_rows(rows: list[list[Any]], fields: Sequence[DataField]) -> list[list[Any]]:
    """Rows without what differs between two JSON encoders: digits of a FLOAT, and the order of the entries of a map."""
    return sorted_rows([[_alike(v, f.type) for v, f in zip(row, fields, strict=True)] for row in rows])


def _alike(value: Any, data_type: DataType) -> Any:
    match data_type:
        case _ if value is None:
            return None
        case FloatType() if not isinstance(value, str):
            return float(np.float32(value))
        case ArrayType(element=element):
            return [_alike(v, element) for v in value]
        case MapType(key=key, value=item):
            return sorted_rows([[_alike(k, key), _alike(v, item)] for k, v in value])
        case MultisetType(element=element):
            return sorted_rows([[_alike(k, element), count] for k, count in value])
        case RowType(fields=fields):
            return {f.name: _alike(value[f.name], f.type) for f in fields}
    return value


def _float(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else float(np.float32(value))


def sorted_rows(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Rows in the order of their JSON text."""
    return sorted((list(r) for r in rows), key=lambda row: json.dumps(row, sort_keys=True))


def _column(array: pa.Array, data_type: DataType) -> list[Any]:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    match data_type:
        case TimestampType(precision=p) | LocalZonedTimestampType(precision=p):
            zone = "Z" if isinstance(data_type, LocalZonedTimestampType) else ""
            scale = _UNIT_NANOS[array.type.unit]
            values = array.cast(pa.int64()).to_pylist()
            return [None if v is None else _timestamp(v * scale, p) + zone for v in values]
        case TimeType():
            return [None if v is None else _time(v) for v in array.cast(pa.int32()).to_pylist()]
        case DateType():
            return [None if v is None else _date(v) for v in array.cast(pa.int32()).to_pylist()]
        case ArrayType(element=element):
            return [None if v is None else _column(v, element) for v in _lists(array)]
        case MapType(key=key, value=value):
            return [None if v is None else _pairs(v, key, value) for v in _maps(array)]
        case MultisetType(element=element):
            return [None if v is None else _pairs(v, element, None) for v in _maps(array)]
        case RowType(fields=fields):
            members = [_column(array.field(i), f.type) for i, f in enumerate(fields)]
            valid = array.is_valid().to_pylist()
            names = [f.name for f in fields]
            return [
                dict(zip(names, (m[i] for m in members), strict=True)) if valid[i] else None for i in range(len(array))
            ]
        case _:
            return [_scalar(v, data_type) for v in array.to_pylist()]


def _scalar(value: Any, data_type: DataType) -> Any:
    if value is None:
        return None
    match data_type:
        case DecimalType():
            return format(value, "f")
        case BinaryType() | VarBinaryType():
            return value.hex()
        case FloatType() | DoubleType():
            if math.isnan(value):
                return "NaN"
            if math.isinf(value):
                return "Infinity" if value > 0 else "-Infinity"
            return value
        case _:
            return value


def _lists(array: pa.Array) -> list[pa.Array | None]:
    return [s.values if s.is_valid else None for s in array]


def _maps(array: pa.Array) -> list[pa.Array | None]:
    return [s.values if s.is_valid else None for s in array]


def _pairs(entries: pa.StructArray, key: DataType, value: DataType | None) -> list[list[Any]]:
    keys = _column(entries.field(0), key)
    values = entries.field(1).to_pylist() if value is None else _column(entries.field(1), value)
    return sorted(([k, v] for k, v in zip(keys, values, strict=True)), key=lambda pair: json.dumps(pair[0]))


def _date(days: int) -> str:
    return str(np.datetime64(days, "D"))


def _time(millis: int) -> str:
    seconds, milli = divmod(millis, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{milli:03}"


def _timestamp(nanos: int, precision: int) -> str:
    seconds, fraction = divmod(nanos, 1_000_000_000)
    text = str(np.datetime64(seconds, "s"))
    return text if precision == 0 else f"{text}.{fraction:09}"[: len(text) + 1 + precision]
