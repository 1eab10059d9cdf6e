"""How system tables show rows and values in text columns (format chapter 14, "Text forms")."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from urllib.parse import unquote

from table_format.codecs.binary_row import deserialize_row
from table_format.codecs.java_floats import float_text
from table_format.io.paths import partition_text
from table_format.model.types import (
    AnyTimestampType,
    DataField,
    DataType,
    FloatType,
    InternalValue,
)


def bracketed(types: Sequence[DataType], row: bytes) -> str:
    """A serialised row: ``[2, b]``, with ``null`` for null."""
    return in_brackets(value_text(t, v) for t, v in zip(types, deserialize_row(types, row), strict=True))


def in_brackets(texts: Iterable[str]) -> str:
    """Texts as Java prints a list.

    >>> in_brackets(["sum", "true"]), in_brackets([])
    ('[sum, true]', '[]')
    """
    return f"[{', '.join(texts)}]"


def value_text(data_type: DataType, value: InternalValue) -> str:
    """One value, as Java prints the internal one: dates as days, times as milliseconds, bytes here as hex.

    >>> value_text(FloatType(), 1e10), value_text(FloatType(), None)
    ('1.0E10', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return float_text(value, single=isinstance(data_type, FloatType))
    if isinstance(data_type, AnyTimestampType):
        # The text that Java's toString gives, as in the name of a partition.
        return unquote(partition_text((DataField(0, "v", data_type),), (value,)).removeprefix("v="))
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def compact_json(value: object) -> str:
    """JSON without spaces.

    >>> compact_json({"bucket": "1", "keys": []})
    '{"bucket":"1","keys":[]}'
    """
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def duration_text(millis: int) -> str:
    """An ISO duration, as Java's ``Duration.toString``.

    >>> [duration_text(ms) for ms in (432_000_000, 90_061_500, 0)]
    ['PT120H', 'PT25H1M1.5S', 'PT0S']
    """
    seconds, rest = divmod(millis, 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    fraction = f".{rest:03}".rstrip("0") if rest else ""
    parts = [f"{hours}H" if hours else "", f"{minute}M" if minute else ""]
    if second or rest:
        parts.append(f"{second}{fraction}S")
    return f"PT{''.join(parts) or '0S'}"
