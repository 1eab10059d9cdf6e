"""Texts of CSV and JSON files, and their values in the units of the table format; ``None`` if they are not values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from table_format.types import BigIntType, DataType, DateType, DoubleType, IntType, TimestampType, VarBinaryType

CELL_TEXTS: dict[DataType, dict[str, Any]] = {
    IntType(): {"7": 7, "+7": 7, "-0": 0, "0x10": None, "1.0": None, "1.7": None, ".5": None, " 7": None},
    BigIntType(): {"7": 7, "0X1": None, "1e3": None},
    DoubleType(): {"1.5": 1.5, "Infinity": float("inf"), "inf": None, "-Inf": None, "nan": None, "1d": 1.0},
    DateType(): {"1": 1, "-1": -1, "1970-01-02": 1, "x": None},
    TimestampType(3): {"-1": -1, "1970-01-01 24:00:00": 86_400_000, "1970-01-01 24:00:01": None},
    VarBinaryType(): {"AAA=": b"\0\0", "AAA": b"\0\0", "A": None, "QQ=": None, "é": None},
}


def in_units(values: pa.Array) -> list[Any]:
    """Values of Arrow as ``CELL_TEXTS`` has them."""
    if values.type == pa.date32():
        return list(values.cast(pa.int32()).to_pylist())
    return list((values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values).to_pylist())
