"""Statistics files, ``statistics/stat-<uuid>-<n>`` (format chapter 03, 7; Java ``Statistics``, ``ColStats``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_format.codecs.json_members import JsonMembers
from table_format.codecs.pretty_json import dump_pretty, load_json
from table_format.errors import BadEncoding
from table_format.model.statistics import ColumnStatistics, Statistics

_COUNTS: Final = {
    "distinctCount": "distinct_count",
    "min": "minimum",
    "max": "maximum",
    "nullCount": "null_count",
    "avgLen": "average_length",
    "maxLen": "maximum_length",
}


def encode_statistics(statistics: Statistics) -> bytes:
    """Return the content of the file, without unknown values."""
    members: dict[str, object] = {"snapshotId": statistics.snapshot_id, "schemaId": statistics.schema_id}
    if statistics.merged_record_count is not None:
        members["mergedRecordCount"] = statistics.merged_record_count
    if statistics.merged_record_size is not None:
        members["mergedRecordSize"] = statistics.merged_record_size
    members["colStats"] = {name: _column_members(column) for name, column in statistics.columns.items()}
    return dump_pretty(members)


def columns_text(columns: Mapping[str, ColumnStatistics]) -> str:
    """Return the JSON text of only the columns, as ``$statistics`` shows it.

    >>> columns_text({})
    '{ }'
    """
    return dump_pretty({name: _column_members(column) for name, column in columns.items()}).decode()


def decode_statistics(data: bytes, *, path: str) -> Statistics:
    """Return the statistics in a file.

    Raises:
        BadEncoding: the file is not a statistics file.
        LimitExceeded: the file is larger than any valid one.
    """
    members = JsonMembers(path, load_json(data, path=path))
    columns = members.values.get("colStats") or {}
    if not isinstance(columns, dict):
        raise BadEncoding(path, f"member 'colStats': expected an object, found {str(columns)[:100]}")
    return Statistics(
        snapshot_id=members.integer("snapshotId"),
        schema_id=members.integer("schemaId"),
        merged_record_count=members.optional_integer("mergedRecordCount"),
        merged_record_size=members.optional_integer("mergedRecordSize"),
        columns={name: _column(path, name, column) for name, column in columns.items()},
    )


def _column_members(column: ColumnStatistics) -> Mapping[str, object]:
    known = ((key, getattr(column, name)) for key, name in _COUNTS.items())
    return {"colId": column.field_id, **{key: value for key, value in known if value is not None}}


def _column(path: str, name: str, value: object) -> ColumnStatistics:
    if not isinstance(value, dict):
        raise BadEncoding(path, f"column '{name}': expected an object, found {str(value)[:100]}")
    members = JsonMembers(path, value)
    return ColumnStatistics(
        field_id=members.integer("colId"),
        distinct_count=members.optional_integer("distinctCount"),
        minimum=members.optional_text("min"),
        maximum=members.optional_text("max"),
        null_count=members.optional_integer("nullCount"),
        average_length=members.optional_integer("avgLen"),
        maximum_length=members.optional_integer("maxLen"),
    )
