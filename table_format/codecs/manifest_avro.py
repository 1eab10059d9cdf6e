"""Encodes and decodes manifests, manifest lists and index manifests, in the format of the option ``manifest.format``.

The written files can be read by all readers from 0.9 on; files of all writers can be read, whatever fields they have.
``_VERSION`` is always 2, and 1 in index manifests. Format chapter 04; Java ``ManifestEntrySerializer`` and others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from table_format.codecs.avro import ContainerSchema, read_container, write_container
from table_format.codecs.columnar_manifest import as_container, is_columnar, write_columnar
from table_format.codecs.data_file_avro import (
    checked_file_name,
    data_file_of,
    data_file_record,
    data_file_schema,
    nullable_field,
    plain_field,
    stats_of,
    stats_record,
    stats_schema,
)
from table_format.codecs.index_file_avro import index_file_fields, index_file_members, index_file_of
from table_format.errors import BadEncoding
from table_format.limits import LISTED_BYTES, MAX_INT, MIN_AVRO_ALLOWANCE, MIN_LIST_ALLOWANCE, MIN_LISTED_ALLOWANCE
from table_format.model.manifest import FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta
from table_format.options.file_formats import AVRO

_Fact = TypeVar("_Fact")

MANIFEST_VERSION: Final = 2
_INDEX_MANIFEST_VERSION: Final = 1
_FIRST_BUCKET: Final = -2
"""The bucket of postponed rows; -1 is used by tables with dynamic buckets and without buckets."""

_KINDS: Final = {0: FileKind.ADD, 1: FileKind.DELETE}
_ROOT: Final = {"type": "record", "name": "record", "namespace": "org.apache.paimon.avro.generated"}

MANIFEST: Final = ContainerSchema.of(
    _ROOT
    | {
        "fields": [
            plain_field("_VERSION", "int"),
            plain_field("_KIND", "int"),
            plain_field("_PARTITION", "bytes"),
            plain_field("_BUCKET", "int"),
            plain_field("_TOTAL_BUCKETS", "int"),
            plain_field("_FILE", data_file_schema("record__FILE")),
        ]
    }
)
_MANIFEST_LIST: Final = ContainerSchema.of(
    _ROOT
    | {
        "fields": [
            plain_field("_VERSION", "int"),
            plain_field("_FILE_NAME", "string"),
            plain_field("_FILE_SIZE", "long"),
            plain_field("_NUM_ADDED_FILES", "long"),
            plain_field("_NUM_DELETED_FILES", "long"),
            plain_field("_PARTITION_STATS", stats_schema("record__PARTITION_STATS")),
            plain_field("_SCHEMA_ID", "long"),
            nullable_field("_MIN_BUCKET", "int"),
            nullable_field("_MAX_BUCKET", "int"),
            nullable_field("_MIN_LEVEL", "int"),
            nullable_field("_MAX_LEVEL", "int"),
            nullable_field("_MIN_ROW_ID", "long"),
            nullable_field("_MAX_ROW_ID", "long"),
        ]
    }
)
_INDEX_MANIFEST: Final = ContainerSchema.of(
    _ROOT
    | {
        "fields": [
            plain_field("_VERSION", "int"),
            plain_field("_KIND", "int"),
            plain_field("_PARTITION", "bytes"),
            plain_field("_BUCKET", "int"),
            *index_file_fields("record"),
        ]
    }
)


def encode_manifest(
    entries: Sequence[ManifestEntry], *, compression: str = "zstd", file_format: str = AVRO.name
) -> bytes:
    """Return the content of a manifest file."""
    records = [
        {
            "_VERSION": MANIFEST_VERSION,
            "_KIND": entry.kind,
            "_PARTITION": entry.partition,
            "_BUCKET": entry.bucket,
            "_TOTAL_BUCKETS": entry.total_buckets,
            "_FILE": data_file_record(entry.file),
        }
        for entry in entries
    ]
    return _encoded(MANIFEST, records, compression, file_format)


def decode_manifest(data: bytes, *, path: str, entries: int | None = None) -> list[ManifestEntry]:
    """Return the entries of a manifest file in file order; ``entries`` is the count in the manifest list, if known.

    Raises:
        CorruptionError: the bytes are not a manifest, are truncated, or declare too many entries.
        UnsupportedFeature: the compression codec is not part of the format.
    """
    return _decode(data, path, MANIFEST, MANIFEST_VERSION, _manifest_entry, entries)


def encode_manifest_list(
    manifests: Sequence[ManifestFileMeta], *, compression: str = "zstd", file_format: str = AVRO.name
) -> bytes:
    """Return the content of a manifest list, which may be empty."""
    records = [
        {
            "_VERSION": MANIFEST_VERSION,
            "_FILE_NAME": manifest.file_name,
            "_FILE_SIZE": manifest.file_size,
            "_NUM_ADDED_FILES": manifest.num_added_files,
            "_NUM_DELETED_FILES": manifest.num_deleted_files,
            "_PARTITION_STATS": stats_record(manifest.partition_stats),
            "_SCHEMA_ID": manifest.schema_id,
            "_MIN_BUCKET": manifest.min_bucket,
            "_MAX_BUCKET": manifest.max_bucket,
            "_MIN_LEVEL": manifest.min_level,
            "_MAX_LEVEL": manifest.max_level,
            "_MIN_ROW_ID": manifest.min_row_id,
            "_MAX_ROW_ID": manifest.max_row_id,
        }
        for manifest in manifests
    ]
    return _encoded(_MANIFEST_LIST, records, compression, file_format)


def decode_manifest_list(data: bytes, *, path: str) -> list[ManifestFileMeta]:
    """Return the manifests of a list, in replay order; raises the same errors as ``decode_manifest``."""
    most = MIN_LISTED_ALLOWANCE + len(data) // LISTED_BYTES
    return _decode(data, path, _MANIFEST_LIST, MANIFEST_VERSION, _manifest_file, most, MIN_LIST_ALLOWANCE)


def encode_index_manifest(
    entries: Sequence[IndexManifestEntry], *, compression: str = "zstd", file_format: str = AVRO.name
) -> bytes:
    """Return the content of an index manifest."""
    records = [
        {
            "_VERSION": _INDEX_MANIFEST_VERSION,
            "_KIND": entry.kind,
            "_PARTITION": entry.partition,
            "_BUCKET": entry.bucket,
            **index_file_members(entry.index_file),
        }
        for entry in entries
    ]
    return _encoded(_INDEX_MANIFEST, records, compression, file_format)


def decode_index_manifest(data: bytes, *, path: str) -> list[IndexManifestEntry]:
    """Return the live index files in an index manifest; raises the same errors as ``decode_manifest``."""
    return _decode(data, path, _INDEX_MANIFEST, _INDEX_MANIFEST_VERSION, _index_entry)


def _encoded(schema: ContainerSchema, records: Sequence[dict[str, Any]], compression: str, file_format: str) -> bytes:
    if file_format == AVRO.name:
        return write_container(schema, records, compression=compression)
    return write_columnar(schema, records, file_format=file_format, compression=compression)


def _decode(
    data: bytes,
    path: str,
    schema: ContainerSchema,
    version: int,
    fact: Callable[[dict[str, Any], str], _Fact],
    most: int | None = None,
    allowance: int = MIN_AVRO_ALLOWANCE,
) -> list[_Fact]:
    if is_columnar(data):
        data = as_container(data, schema, path=path, most=most)
    facts = []
    for record in read_container(data, schema, path=path, max_records=most, allowance=allowance):
        if record["_VERSION"] != version:
            message = f"expected entries of version {version}, found version {record['_VERSION']}"
            raise BadEncoding(path, message)
        facts.append(fact(record, path))
    return facts


def _kind(record: dict[str, Any], path: str) -> FileKind:
    kind = _KINDS.get(record["_KIND"])
    if kind is None:
        message = f"expected entries of kind 0 or 1, found {record['_KIND']}"
        raise BadEncoding(path, message)
    return kind


def is_bucket(number: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return, for each number, whether it is valid as a bucket or as a bucket count."""
    return (number >= _FIRST_BUCKET) & (number <= MAX_INT)


def _bucket(record: dict[str, Any], key: str, path: str) -> int:
    bucket: int = record[key]
    if not _FIRST_BUCKET <= bucket <= MAX_INT:
        message = f"member '{key}': expected a number from {_FIRST_BUCKET} to {MAX_INT}, found {bucket}"
        raise BadEncoding(path, message)
    return bucket


def _manifest_entry(record: dict[str, Any], path: str) -> ManifestEntry:
    return ManifestEntry(
        kind=_kind(record, path),
        partition=record["_PARTITION"],
        bucket=_bucket(record, "_BUCKET", path),
        total_buckets=_bucket(record, "_TOTAL_BUCKETS", path),
        file=data_file_of(record["_FILE"], path=path),
    )


def _manifest_file(record: dict[str, Any], path: str) -> ManifestFileMeta:
    for key in ("_FILE_SIZE", "_NUM_ADDED_FILES", "_NUM_DELETED_FILES", "_SCHEMA_ID"):
        if record[key] < 0:
            message = f"member '{key}': expected a number of 0 or more, found {record[key]}"
            raise BadEncoding(path, message)
    return ManifestFileMeta(
        file_name=checked_file_name(record["_FILE_NAME"], path=path),
        file_size=record["_FILE_SIZE"],
        num_added_files=record["_NUM_ADDED_FILES"],
        num_deleted_files=record["_NUM_DELETED_FILES"],
        partition_stats=stats_of(record["_PARTITION_STATS"], path=path),
        schema_id=record["_SCHEMA_ID"],
        min_bucket=record.get("_MIN_BUCKET"),
        max_bucket=record.get("_MAX_BUCKET"),
        min_level=record.get("_MIN_LEVEL"),
        max_level=record.get("_MAX_LEVEL"),
        min_row_id=record.get("_MIN_ROW_ID"),
        max_row_id=record.get("_MAX_ROW_ID"),
    )


def _index_entry(record: dict[str, Any], path: str) -> IndexManifestEntry:
    return IndexManifestEntry(
        kind=_kind(record, path),
        partition=record["_PARTITION"],
        bucket=_bucket(record, "_BUCKET", path),
        index_file=index_file_of(record, path=path),
    )
