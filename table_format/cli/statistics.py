"""The statistics of a table as rows: one for each column, or one for the table if no column was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from table_format.counted import counted

_OF_TABLE: Final = {"snapshot": "snapshot_id", "rows": "mergedRecordCount", "bytes": "mergedRecordSize"}
_NUMBERS: Final = {"distinct": "distinctCount", "nulls": "nullCount", "avg_length": "avgLen", "max_length": "maxLen"}
_TEXTS: Final = {"minimum": "min", "maximum": "max"}
_OF_COLUMN: Final[list[pa.Field[Any]]] = [
    *(pa.field(name, pa.string()) for name in ("column", *_TEXTS)),
    *(pa.field(name, pa.int64()) for name in _NUMBERS),
]


def summary_of(stored: Mapping[str, Any]) -> str:
    """Return the row count of a row of ``$statistics`` as text."""
    size = stored["mergedRecordSize"]
    rows = f"{counted(stored['mergedRecordCount'], 'row')}{'' if size is None else f' in {size:,} bytes'}"
    return f"{rows}, snapshot {stored['snapshot_id']}"


def columns_of(stored: Mapping[str, Any]) -> pa.RecordBatch:
    """Return the measured columns of a row of ``$statistics``."""
    found = json.loads(stored["colstat"] or "{}")
    rows = [
        {"column": name, **{ours: facts.get(theirs) for ours, theirs in (*_TEXTS.items(), *_NUMBERS.items())}}
        for name, facts in (found or {}).items()
    ]
    return pa.RecordBatch.from_pylist(rows, schema=pa.schema(_OF_COLUMN))


def rows_of(stored: Mapping[str, Any]) -> pa.RecordBatch:
    """Return the measured columns, each with the counts of the table; without columns, only these counts."""
    columns = columns_of(stored).to_pylist() or [{}]
    table = {ours: stored[theirs] for ours, theirs in _OF_TABLE.items()}
    fields: list[pa.Field[Any]] = [*(pa.field(name, pa.int64()) for name in _OF_TABLE), *_OF_COLUMN]
    return pa.RecordBatch.from_pylist([{**table, **column} for column in columns], schema=pa.schema(fields))
