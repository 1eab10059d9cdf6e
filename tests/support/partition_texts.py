"""Partitions as this library shows them, ``[19723, a]``, in the forms of Paimon from 1.0 on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from table_format.formats.java_text import time_text
from table_format.model.types import (
    DataField,
    DataType,
    DateType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
)


def as_braces(fields: Sequence[DataField], text: str) -> str:
    """``{2024-01-01, a}``: the row cast to a string."""
    return f"{{{', '.join(_values(fields, text))}}}"


def as_path(fields: Sequence[DataField], text: str, default_name: str) -> str:
    """``dt=2024-01-01/region=a``."""
    values = (value if value.strip() not in ("", "null") else default_name for value in _values(fields, text))
    return "/".join(f"{f.name}={value}" for f, value in zip(fields, values, strict=True))


def _values(fields: Sequence[DataField], text: str) -> list[str]:
    inner = text.removeprefix("[").removesuffix("]")
    parts = inner.split(", ") if len(fields) > 1 else [inner] * len(fields)
    return [_cast(f.type, part) for f, part in zip(fields, parts, strict=True)]


def _cast(data_type: DataType, text: str) -> str:
    if text == "null":
        return text
    match data_type:
        case DateType():
            return str(np.datetime64(int(text), "D"))
        case TimeType(precision=precision):
            return time_text(int(text), precision)
        case TimestampType(precision=precision) | LocalZonedTimestampType(precision=precision):
            moment = str(np.datetime64(text, "ns"))
            seconds, _, digits = moment.replace("T", " ").partition(".")
            return f"{seconds}.{digits[:precision]}" if precision else seconds
    return text
