"""Encodes commit messages, which are sent from writing tasks to the committing process.

This is our own format, which is never stored in a table: one version byte, then an Avro container whose records contain
the same file records as manifests. Decoding executes nothing, and has the same limits as for manifests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from table_format.codecs.avro import ContainerSchema, read_container, write_container
from table_format.codecs.data_file_avro import (
    array_of,
    data_file_of,
    data_file_record,
    data_file_schema,
    nullable_field,
    plain_field,
)
from table_format.codecs.index_file_avro import index_file_fields, index_file_members, index_file_of
from table_format.errors import BadEncoding
from table_format.model.commit import CommitMessage

_VERSION: Final = b"\x06"
_BEFORE: Final = b"\x05"
"""The version before. Its messages do not say when and with which schemas they were made, nor which message they
follow; jobs may have kept some."""

_PATH: Final = "commit messages"
_COMPRESSION: Final = "zstd"

_FILE_LISTS: Final = (
    "new_files",
    "deleted_files",
    "changelog_files",
    "compact_before",
    "compact_after",
    "compact_changelog_files",
)
_INDEX_FILE_LISTS: Final = (
    "new_index_files",
    "deleted_index_files",
    "compact_new_index_files",
    "compact_deleted_index_files",
)


def _schema(*, of_this_version: bool = True) -> ContainerSchema:
    data_files: list[object] = [data_file_schema("data_file"), *["data_file"] * (len(_FILE_LISTS) - 1)]
    index_file = {"type": "record", "name": "index_file", "fields": index_file_fields("index_file")}
    index_files: list[object] = [index_file, *["index_file"] * (len(_INDEX_FILE_LISTS) - 1)]
    fields = [
        plain_field("partition", "bytes"),
        plain_field("bucket", "int"),
        plain_field("total_buckets", "int"),
        nullable_field("hash_index_base", "bytes"),
        nullable_field("key_places_base", "string"),
        nullable_field("rows_base", "string"),
        nullable_field("numbers_base", "string"),
        nullable_field("levels_base", "bytes"),
        nullable_field("schema_id", "long"),
        *(_since_this_version() if of_this_version else ()),
        plain_field("rewrites", "boolean"),
        *(plain_field(name, array_of(t)) for name, t in zip(_FILE_LISTS, data_files, strict=True)),
        *(plain_field(name, array_of(t)) for name, t in zip(_INDEX_FILE_LISTS, index_files, strict=True)),
    ]
    return ContainerSchema.of({"type": "record", "name": "commit_message", "fields": fields})


def _since_this_version() -> tuple[dict[str, object], ...]:
    return (
        plain_field("key_places_after", array_of("string")),
        plain_field("schemas", array_of("string")),
        nullable_field("made_ms", "long"),
    )


_MESSAGES: Final = _schema()
_OF_VERSION: Final = {_VERSION: _MESSAGES, _BEFORE: _schema(of_this_version=False)}


def encode_messages(messages: Sequence[CommitMessage]) -> bytes:
    """Encode the messages of one task."""
    return _VERSION + write_container(_MESSAGES, [_record(m) for m in messages], compression=_COMPRESSION)


def decode_messages(data: bytes) -> tuple[CommitMessage, ...]:
    """Decode the result of ``encode_messages``.

    Raises:
        BadEncoding: the bytes are not commit messages, or are of a version that this library does not read.
        LimitExceeded: the bytes declare more than any valid messages contain.
    """
    schema = _OF_VERSION.get(data[:1])
    if schema is None:
        message = f"expected version {_VERSION.hex()}, found {data[:1].hex() or 'nothing'}; write with this version"
        raise BadEncoding(_PATH, message)
    return tuple(_message(record) for record in read_container(data[1:], schema, path=_PATH))


def _record(message: CommitMessage) -> dict[str, object]:
    record: dict[str, object] = {
        "partition": message.partition,
        "bucket": message.bucket,
        "total_buckets": message.total_buckets,
        "hash_index_base": message.hash_index_base,
        "key_places_base": message.key_places_base,
        "key_places_after": list(message.key_places_after),
        "rows_base": message.rows_base,
        "numbers_base": message.numbers_base,
        "levels_base": message.levels_base,
        "schema_id": message.schema_id,
        "schemas": list(message.schemas),
        "made_ms": message.made_ms,
        "rewrites": message.rewrites,
    }
    for name in _FILE_LISTS:
        record[name] = [data_file_record(file) for file in getattr(message, name)]
    for name in _INDEX_FILE_LISTS:
        record[name] = [index_file_members(file) for file in getattr(message, name)]
    return record


def _message(record: dict[str, Any]) -> CommitMessage:
    members: dict[str, Any] = {
        name: tuple(data_file_of(file, path=_PATH) for file in record[name]) for name in _FILE_LISTS
    }
    for name in _INDEX_FILE_LISTS:
        members[name] = tuple(index_file_of(file, path=_PATH) for file in record[name])
    return CommitMessage(
        partition=record["partition"],
        bucket=record["bucket"],
        total_buckets=record["total_buckets"],
        hash_index_base=record["hash_index_base"],
        key_places_base=record["key_places_base"],
        key_places_after=tuple(record.get("key_places_after", ())),
        rows_base=record["rows_base"],
        numbers_base=record["numbers_base"],
        levels_base=record["levels_base"],
        schema_id=record["schema_id"],
        schemas=tuple(record.get("schemas", ())),
        made_ms=record.get("made_ms"),
        rewrites=record["rewrites"],
        **members,
    )
