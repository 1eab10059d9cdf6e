"""Values of rows as text: for people, for CSV and for JSON lines."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import TypeAlias

import pyarrow as pa
import pyarrow.types as pt

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"
"""A value that JSON can represent."""


def shown(value: object) -> str:
    """Format a value for a cell of a table. Control characters are escaped, so that data cannot control the terminal.

    >>> shown(Decimal("1.50")), shown(Decimal("0E-9")), shown(None), shown("a" + chr(27)), shown([1, None])
    ('1.50', '0.000000000', 'null', 'a\\\\x1b', '[1, null]')
    """
    match value:
        case None:
            return "null"
        case str():
            text = value
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.hex()
        case Decimal():
            return f"{value:f}"
        case datetime():
            return value.isoformat(sep=" ")
        case list() | dict() | tuple():
            text = json.dumps(plain(value), ensure_ascii=False)
        case _:
            text = str(value)
    return text if text.isprintable() else "".join(map(_escaped, text))


def plain(value: object) -> Plain:
    """Convert a value for JSON: decimals and times become strings, bytes become Base64.

    >>> plain({"a": Decimal("1.50"), "b": b"x", "c": float("nan")})
    {'a': '1.50', 'b': 'eA==', 'c': 'NaN'}
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value).replace("nan", "NaN").replace("inf", "Infinity")
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return f"{value:f}"
        case datetime() | date() | time():
            return value.isoformat()
        case dict():
            return {_name(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
    return str(value)


def _name(key: object) -> str:
    """Return the key of a map, or the name of a field, as the name in a JSON object."""
    found = plain(key)
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def json_lines(batch: pa.RecordBatch) -> Iterator[str]:
    """Return the rows of a batch as JSON objects. Arrow has no JSON writer, so Python builds each row."""
    for row in batch.to_pylist(maps_as_pydicts="lossy"):
        yield json.dumps(plain(row), ensure_ascii=False)


def csv_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns for CSV: nested values become JSON, bytes become Base64."""
    return pa.schema([pa.field(f.name, pa.string() if _is_text_in_csv(f.type) else f.type) for f in schema])


def for_csv(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the columns of ``csv_schema``."""
    columns = [_texts(c) if _is_text_in_csv(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _is_text_in_csv(data_type: pa.DataType) -> bool:
    return pt.is_nested(data_type) or is_bytes(data_type)


def is_bytes(data_type: pa.DataType) -> bool:
    """Return whether a type is binary, of variable or fixed length."""
    return pt.is_binary(data_type) or pt.is_large_binary(data_type) or pt.is_fixed_size_binary(data_type)


def _texts(column: pa.Array) -> pa.Array:
    values = map(plain, column.to_pylist(maps_as_pydicts="lossy"))
    texts = [v if v is None or isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in values]
    return pa.array(texts, pa.string())


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
