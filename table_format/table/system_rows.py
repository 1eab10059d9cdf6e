"""The rows of system tables, one function for each (format chapter 14; Java ``table.system.*Table``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final
from urllib.parse import unquote

import pyarrow as pa

from table_format.codecs.binary_row import deserialize_row
from table_format.codecs.pretty_json import load_json
from table_format.codecs.schema_json import encode_schema
from table_format.io.paths import extension_of, partition_text
from table_format.kernels.pruning import ColumnBounds
from table_format.kernels.values import array_of
from table_format.metastore.file_bounds import FileBounds
from table_format.metastore.plan import live_files
from table_format.model.arrow_types import arrow_schema
from table_format.model.manifest import ManifestEntry
from table_format.model.types import (
    MAX_LENGTH,
    BigIntType,
    DataField,
    DataType,
    DoubleType,
    FloatType,
    InternalValue,
    IntType,
    LocalZonedTimestampType,
    TimestampType,
    VarCharType,
)
from table_format.table.facts import TableFacts
from table_format.table.time_travel import starting_point

_TEXT: Final = VarCharType(length=MAX_LENGTH)
_LONG: Final = BigIntType()
_TIME: Final = TimestampType(precision=3)


def _columns(**types: DataType) -> tuple[DataField, ...]:
    return tuple(DataField(i, name, data_type) for i, (name, data_type) in enumerate(types.items()))


SNAPSHOTS: Final = _columns(
    snapshot_id=_LONG.not_null(),
    schema_id=_LONG.not_null(),
    commit_user=_TEXT.not_null(),
    commit_identifier=_LONG.not_null(),
    commit_kind=_TEXT.not_null(),
    commit_time=_TIME.not_null(),
    base_manifest_list=_TEXT.not_null(),
    delta_manifest_list=_TEXT.not_null(),
    changelog_manifest_list=_TEXT,
    total_record_count=_LONG,
    delta_record_count=_LONG,
    changelog_record_count=_LONG,
    watermark=_LONG,
    next_row_id=_LONG,
    operation=_TEXT,
    writer_version=_TEXT,
)
SCHEMAS: Final = _columns(
    schema_id=_LONG.not_null(),
    fields=_TEXT.not_null(),
    partition_keys=_TEXT.not_null(),
    primary_keys=_TEXT.not_null(),
    options=_TEXT.not_null(),
    comment=_TEXT,
    update_time=_TIME.not_null(),
)
OPTIONS: Final = _columns(key=_TEXT.not_null(), value=_TEXT.not_null())
FILES: Final = _columns(
    partition=_TEXT,
    bucket=IntType(nullable=False),
    file_path=_TEXT.not_null(),
    file_format=_TEXT.not_null(),
    schema_id=_LONG.not_null(),
    level=IntType(nullable=False),
    record_count=_LONG.not_null(),
    file_size_in_bytes=_LONG.not_null(),
    min_key=_TEXT,
    max_key=_TEXT,
    null_value_counts=_TEXT.not_null(),
    min_value_stats=_TEXT.not_null(),
    max_value_stats=_TEXT.not_null(),
    min_sequence_number=_LONG,
    max_sequence_number=_LONG,
    creation_time=_TIME,
    deleteRowCount=_LONG,
    file_source=_TEXT,
)


def snapshots(facts: TableFacts) -> pa.Table:
    """The retained snapshots, oldest first."""
    found = [s for i in facts.snapshots.ids() if (s := facts.snapshots.find(i)) is not None]
    return _table(
        SNAPSHOTS,
        {
            "snapshot_id": [s.id for s in found],
            "commit_time": [_local_nanos(s.time_millis) for s in found],
            "commit_kind": [s.commit_kind.value for s in found],
            **{
                f.name: [getattr(s, f.name) for s in found]
                for f in SNAPSHOTS
                if f.name not in ("snapshot_id", "commit_time", "commit_kind")
            },
        },
    )


def schemas(facts: TableFacts) -> pa.Table:
    """All schemas, oldest first; what has parts is compact JSON."""
    found = [facts.schemas[schema_id] for schema_id in facts.schemas]
    members = [load_json(encode_schema(s), path=facts.name) for s in found]
    return _table(
        SCHEMAS,
        {
            "schema_id": [s.id for s in found],
            "fields": [_compact(m["fields"]) for m in members],
            "partition_keys": [_compact(m["partitionKeys"]) for m in members],
            "primary_keys": [_compact(m["primaryKeys"]) for m in members],
            "options": [_compact(m["options"]) for m in members],
            "comment": [s.comment for s in found],
            "update_time": [_local_nanos(s.time_millis) for s in found],
        },
    )


def options(facts: TableFacts) -> pa.Table:
    """The options the table holds, by key."""
    stored = sorted(facts.schema.options.items())
    return _table(OPTIONS, {"key": [key for key, _ in stored], "value": [value for _, value in stored]})


def files(facts: TableFacts) -> pa.Table:
    """The live files of the snapshot that a scan of the table would read."""
    start = starting_point(facts)
    plan = live_files(facts.manifests, start.snapshot, schema=start.schema, schemas=facts.schemas)
    rows = [_file_row(facts, start.schema.field_names, entry) for entry in plan.entries]
    return _table(FILES, {f.name: [row[f.name] for row in rows] for f in FILES})


def _file_row(facts: TableFacts, columns: tuple[str, ...], entry: ManifestEntry) -> Mapping[str, InternalValue]:
    file = entry.file
    schema = facts.schemas[file.schema_id]
    keys = [f.type for f in schema.key_fields]
    bounds = FileBounds(facts.schema, facts.schemas, columns).of_values(file)
    return {
        "partition": _bracketed(facts.partitions.types, entry.partition),
        "bucket": entry.bucket,
        "file_path": facts.store.paths.data_file(facts.partitions.text(entry.partition), entry.bucket, file),
        "file_format": extension_of(file.file_name),
        "schema_id": file.schema_id,
        "level": file.level,
        "record_count": file.row_count,
        "file_size_in_bytes": file.file_size,
        "min_key": _bracketed(keys, file.min_key) if keys else None,
        "max_key": _bracketed(keys, file.max_key) if keys else None,
        "null_value_counts": _by_column(columns, lambda name: bounds[name].null_count if name in bounds else None),
        "min_value_stats": _by_column(columns, lambda name: _bound(facts, name, bounds, "minimum")),
        "max_value_stats": _by_column(columns, lambda name: _bound(facts, name, bounds, "maximum")),
        "min_sequence_number": file.min_sequence_number,
        "max_sequence_number": file.max_sequence_number,
        "creation_time": None if file.creation_time is None else file.creation_time * _NANOS_PER_MILLI,
        "deleteRowCount": file.delete_row_count,
        "file_source": None if file.file_source is None else file.file_source.name,
    }


_NANOS_PER_MILLI: Final = 1_000_000


def _table(columns: tuple[DataField, ...], values: Mapping[str, list[InternalValue]]) -> pa.Table:
    arrays = [array_of(values[f.name], f.type) for f in columns]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(columns))


def _local_nanos(epoch_ms: int) -> int:
    """The local wall clock at an instant, as nanoseconds as if it were UTC."""
    offset = datetime.fromtimestamp(epoch_ms / 1000).astimezone().utcoffset()
    seconds = 0 if offset is None else int(offset.total_seconds())
    return (epoch_ms + seconds * 1000) * _NANOS_PER_MILLI


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _bracketed(types: list[DataType] | tuple[DataType, ...], row: bytes) -> str:
    values = deserialize_row(types, row)
    return f"[{', '.join(_shown(t, value) for t, value in zip(types, values, strict=True))}]"


def _by_column(columns: tuple[str, ...], value_of: Callable[[str], object]) -> str:
    shown = (f"{name}={'null' if (value := value_of(name)) is None else value}" for name in sorted(columns))
    return f"{{{', '.join(shown)}}}"


def _bound(facts: TableFacts, name: str, bounds: Mapping[str, ColumnBounds], side: str) -> str | None:
    if name not in bounds:
        return None
    value: InternalValue = getattr(bounds[name], side)
    return None if value is None else _shown(facts.schema.field(name).type, value)


def _shown(data_type: DataType, value: InternalValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(data_type, TimestampType | LocalZonedTimestampType | FloatType | DoubleType):
        # The text that Java's toString gives, as in the name of a partition.
        return unquote(partition_text((DataField(0, "v", data_type),), (value,)).removeprefix("v="))
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
