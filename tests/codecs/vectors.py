"""The vectors of ``data/binary_rows.json``: rows, their bytes, hashes and buckets, from Apache Paimon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from table_format.codecs.type_json import parse_type
from table_format.model.types import (
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    InternalValue,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    VarBinaryType,
)

_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class RowVector:
    """One row. ``hash`` and ``buckets`` (by bucket count) are absent from rows of 0.9.0."""

    name: str
    types: tuple[DataType, ...]
    values: tuple[InternalValue, ...]
    row: bytes
    hash: int = 0
    buckets: tuple[int, ...] = ()


@cache
def content() -> dict[str, Any]:
    return json.loads((Path(__file__).parent / "data" / "binary_rows.json").read_text())


def bucket_counts() -> tuple[int, ...]:
    return tuple(content()["bucket_counts"])


def row_vectors() -> Iterator[RowVector]:
    """Rows of projections, with hashes and buckets."""
    for name, case in content()["rows"].items():
        types = tuple(map(parse_type, case["types"]))
        for values, row, row_hash, buckets in case["vectors"]:
            yield RowVector(name, types, _internal_row(types, values), bytes.fromhex(row), row_hash, tuple(buckets))


def old_rows_with_nulls() -> Iterator[RowVector]:
    """Rows of statistics from 0.9.0: nulls do not reserve a variable part."""
    for name, case in content()["old_null_rows"].items():
        types = tuple(map(parse_type, case["types"]))
        for values, row in case["vectors"]:
            yield RowVector(name, types, _internal_row(types, values), bytes.fromhex(row))


def function_vectors(function: str) -> Iterator[tuple[DataType, list[InternalValue], list[list[int]]]]:
    """For each key type: values, and the buckets of each value by bucket count; no value if Paimon refuses the type."""
    for case in content()["functions"][function].values():
        t = parse_type(case["type"])
        vectors = case.get("vectors", [])
        yield t, [internal(t, value) for value, _ in vectors], [buckets for _, buckets in vectors]


def _internal_row(types: tuple[DataType, ...], values: list[Any]) -> tuple[InternalValue, ...]:
    return tuple(internal(t, value) for t, value in zip(types, values, strict=True))


def internal(t: DataType, value: Any) -> InternalValue:
    """The internal value for the text that the vectors hold."""
    if value is None:
        return None
    match t:
        case DecimalType():
            return Decimal(value)
        case BinaryType() | VarBinaryType():
            return bytes.fromhex(value)
        case DateType():
            return date.fromisoformat(value).toordinal() - _EPOCH.toordinal()
        case TimeType():
            hours, minutes, seconds = value.split(":")
            return int(hours) * 3_600_000 + int(minutes) * 60_000 + int(Decimal(seconds) * 1000)
        case TimestampType() | LocalZonedTimestampType():
            whole, _, fraction = value.rstrip("Z").partition(".")
            since = datetime.fromisoformat(whole) - _EPOCH
            return (since.days * 86_400 + since.seconds) * 10**9 + int(fraction.ljust(9, "0") or 0)
    return value
