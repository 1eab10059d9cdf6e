"""Encodes metadata for publication, and verifies that readers decode the same facts from the bytes.

A snapshot, schema or tag that readers refuse makes the whole table unreadable, and is never deleted. Every file of
metadata is therefore decoded again, with the reader's codec and its limits, and the result is compared with the
original. After an error or a difference, nothing is published, and the error names the member.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from decimal import DecimalException
from functools import partial
from struct import error as StructError
from typing import Final, TypeVar

from table_format.codecs.consumer_json import decode_consumer, encode_consumer
from table_format.codecs.hint_text import decode_hint, encode_hint
from table_format.codecs.manifest_avro import (
    decode_index_manifest,
    decode_manifest,
    decode_manifest_list,
    encode_index_manifest,
    encode_manifest,
    encode_manifest_list,
)
from table_format.codecs.schema_json import decode_schema, encode_schema
from table_format.codecs.snapshot_json import decode_snapshot, encode_snapshot
from table_format.codecs.statistics_json import decode_statistics, encode_statistics
from table_format.codecs.tag_json import decode_tag, encode_tag
from table_format.errors import CorruptionError, InvalidIdentifier, InvalidInputError, UnsupportedFeature
from table_format.limits import MAX_FILE_NAME_BYTES, TEMPORARY_NAME_BYTES
from table_format.model.arguments import shown
from table_format.model.consumer import ConsumerProgress
from table_format.model.manifest import IndexManifestEntry, ManifestEntry, ManifestFileMeta
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.model.statistics import Statistics
from table_format.model.tag import Tag

_Fact = TypeVar("_Fact")

_ENCODER_ERRORS: Final = (
    TypeError,
    ValueError,  # includes UnicodeEncodeError
    OverflowError,
    AttributeError,
    KeyError,
    IndexError,
    DecimalException,
    RecursionError,
    NotImplementedError,
    StructError,
)
"""The errors of encoders if the type of a member is wrong, or its value is out of range."""


def snapshot_bytes(snapshot: Snapshot, *, path: str) -> bytes:
    """Return the content of a snapshot file.

    Raises:
        InvalidInputError: a reader would not decode the same snapshot; the message names the member.
    """
    return _verified(snapshot, encode_snapshot, decode_snapshot, path)


def schema_bytes(schema: TableSchema, *, path: str) -> bytes:
    """Return the content of a schema file; raises the same errors as ``snapshot_bytes``."""
    return _verified(schema, encode_schema, decode_schema, path)


def tag_bytes(tag: Tag, *, path: str) -> bytes:
    """Return the content of a tag file; raises the same errors as ``snapshot_bytes``."""
    return _verified(tag, encode_tag, decode_tag, path)


def consumer_bytes(progress: ConsumerProgress, *, path: str) -> bytes:
    """Return the content of a consumer file; raises the same errors as ``snapshot_bytes``."""
    return _verified(progress, encode_consumer, decode_consumer, path)


def statistics_bytes(statistics: Statistics, *, path: str) -> bytes:
    """Return the content of a statistics file; raises the same errors as ``snapshot_bytes``."""
    return _verified(statistics, encode_statistics, decode_statistics, path)


def hint_bytes(snapshot_id: int, *, path: str) -> bytes:
    """Return the content of a hint; raises the same errors as ``snapshot_bytes``."""
    return _verified(snapshot_id, encode_hint, _decode_hint, path)


def manifest_draft(entries: Sequence[ManifestEntry], *, compression: str, file_format: str, path: str) -> bytes:
    """Return the content of a manifest without verification, because it may be too large for one manifest.

    Raises:
        InvalidInputError: an entry cannot be written; the message names the member.
    """
    return _encoded(entries, partial(encode_manifest, compression=compression, file_format=file_format), path)


def checked_manifest(data: bytes, entries: Sequence[ManifestEntry], *, path: str) -> bytes:
    """Return the draft of a manifest after verification; raises the same errors as ``snapshot_bytes``."""
    return _read_back(list(entries), data, decode_manifest, path)


def manifest_list_bytes(
    manifests: Sequence[ManifestFileMeta], *, compression: str, file_format: str, path: str
) -> bytes:
    """Return the content of a manifest list; raises the same errors as ``snapshot_bytes``."""
    encode = partial(encode_manifest_list, compression=compression, file_format=file_format)
    return _verified(list(manifests), encode, decode_manifest_list, path)


def index_manifest_bytes(
    entries: Sequence[IndexManifestEntry], *, compression: str, file_format: str, path: str
) -> bytes:
    """Return the content of an index manifest; raises the same errors as ``snapshot_bytes``."""
    encode = partial(encode_index_manifest, compression=compression, file_format=file_format)
    return _verified(list(entries), encode, decode_index_manifest, path)


def check_new_name(path: str) -> None:
    """Refuse the path of a new file whose name, or temporary name, is too long for file systems.

    Raises:
        InvalidIdentifier: the name is too long; the message states its size and the maximum.
    """
    name = path.rpartition("/")[2]
    size, most = len(name.encode("utf-8", "surrogatepass")), MAX_FILE_NAME_BYTES - TEMPORARY_NAME_BYTES
    if size > most:
        message = f"the file name {name[:80]!r}... of {path.rpartition('/')[0]} has {size} bytes; the maximum is {most}"
        raise InvalidIdentifier(message)


def _verified(fact: _Fact, encode: Callable[[_Fact], bytes], decode: Callable[..., _Fact | None], path: str) -> bytes:
    check_new_name(path)
    return _read_back(fact, _encoded(fact, encode, path), decode, path)


def _encoded(fact: _Fact, encode: Callable[[_Fact], bytes], path: str) -> bytes:
    try:
        return encode(fact)
    except UnsupportedFeature:
        raise  # the error states that an option names an unknown compression
    except _ENCODER_ERRORS as error:
        message = f"{path} cannot be encoded, and nothing was written: {error}"
        raise InvalidInputError(message) from error


def _read_back(fact: _Fact, data: bytes, decode: Callable[..., _Fact | None], path: str) -> bytes:
    try:
        found = decode(data, path=path)
    except (CorruptionError, InvalidInputError) as error:
        message = f"readers would refuse the file, and nothing was written: {error}"
        raise InvalidInputError(message) from error
    if found != fact:
        message = f"readers would decode {path} incorrectly, and nothing was written: {_difference(fact, found, '')}"
        raise InvalidInputError(message)
    return data


def _decode_hint(data: bytes, *, path: str) -> int | None:  # noqa: ARG001 - same signature as the other decoders
    return decode_hint(data)


def _difference(fact: object, found: object, where: str) -> str:
    """Return a text with the first member in which two facts differ, and both values."""
    if is_dataclass(fact) and not isinstance(fact, type) and type(fact) is type(found):
        for member in fields(fact):
            ours, theirs = getattr(fact, member.name), getattr(found, member.name)
            if ours != theirs:
                return _difference(ours, theirs, f"{where}.{member.name}" if where else member.name)
    if isinstance(fact, list | tuple) and isinstance(found, list | tuple) and len(fact) == len(found):
        for i, (ours, theirs) in enumerate(zip(fact, found, strict=True)):
            if ours != theirs:
                return _difference(ours, theirs, f"{where}[{i}]")
    return f"member '{where}' is {shown(fact)}, but would be read as {shown(found)}"
