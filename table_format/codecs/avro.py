"""Reads and writes Avro object container files (format chapter 04, section 1).

Everything that a file declares (sizes, counts, its schema) is checked against the available bytes before memory is
allocated. A block of records is read and written as one Avro array, so that fastavro runs the loop over the records.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final, cast

import fastavro

from table_format.codecs.avro_schema import block_of, block_schema, reading_schema, records_of
from table_format.codecs.block_compression import avro_codec, compress, decompress, largest_expansion
from table_format.errors import BadEncoding, LimitExceeded, Truncated
from table_format.limits import (
    MAX_AVRO_BYTES,
    MAX_AVRO_EXPANSION,
    MIN_AVRO_ALLOWANCE,
    MIN_AVRO_BLOCK_ALLOWANCE,
    MIN_ENTRIES_ALLOWANCE,
)

AVRO_MAGIC: Final = b"Obj\x01"
SYNC_BYTES: Final = 16
_RECORDS_PER_BLOCK: Final = 4096
_SAMPLE: Final = 64
"""The number of records that are encoded to measure their size."""

_UNCOMPRESSED: Final = "null"
_MAX_HEADER_ENTRIES: Final = 1024
_MAX_VARINT_BYTES: Final = 10


@dataclass(frozen=True, slots=True)
class ContainerSchema:
    """A schema for writing: its text for the header, and the parsed ``block_schema`` of its records."""

    text: bytes
    block: Any

    @classmethod
    def of(cls, schema: Mapping[str, object]) -> ContainerSchema:
        """Parse a record schema once, for all files."""
        text = json.dumps(schema, separators=(",", ":")).encode()
        return cls(text, block_schema(json.loads(text)))


def write_container(schema: ContainerSchema, records: Sequence[Mapping[str, object]], *, compression: str) -> bytes:
    """Return the bytes of a container. The sync marker is a digest of the content: equal records make equal files.

    No block expands to more than readers accept: very similar records are written in smaller blocks, or uncompressed.

    Raises:
        UnsupportedFeature: the compression is unknown.
    """
    codec = avro_codec(compression)
    step = _records_per_block(schema, records)
    try:
        blocks = _all_blocks(schema, records, codec, step)
    except _ExpandsTooFarError:
        codec = _UNCOMPRESSED
        blocks = _all_blocks(schema, records, codec, step)
    sync = hashlib.blake2b(b"".join(blocks), digest_size=SYNC_BYTES).digest()
    header = container_header(schema.text, codec, sync)
    return b"".join([header, *(part for block in blocks for part in (block, sync))])


class _ExpandsTooFarError(Exception):
    """A single record is compressed so well that readers would refuse its expansion."""


def _all_blocks(schema: ContainerSchema, records: Sequence[Mapping[str, object]], codec: str, step: int) -> list[bytes]:
    return [
        block
        for start in range(0, len(records), step)
        for block in _encode_blocks(schema, records[start : start + step], codec)
    ]


def _records_per_block(schema: ContainerSchema, records: Sequence[Mapping[str, object]]) -> int:
    if len(records) <= _SAMPLE:
        return _RECORDS_PER_BLOCK
    sample = records[:_SAMPLE]
    size = max(1, len(_items(schema, sample)) // max(1, len(sample)))
    return max(1, min(_RECORDS_PER_BLOCK, MIN_AVRO_BLOCK_ALLOWANCE // size))


def _encode_blocks(schema: ContainerSchema, records: Sequence[Mapping[str, object]], codec: str) -> Iterator[bytes]:
    """Yield the records as one block, or as several if one would expand to more than readers accept for any block."""
    items = _items(schema, records)
    if len(items) > MIN_AVRO_BLOCK_ALLOWANCE and len(records) > 1:
        half = len(records) // 2
        yield from _encode_blocks(schema, records[:half], codec)
        yield from _encode_blocks(schema, records[half:], codec)
        return
    stored = compress(codec, items)
    if codec != _UNCOMPRESSED and len(items) > largest_expansion(len(stored)):
        raise _ExpandsTooFarError
    yield b"".join((long_bytes(len(records)), long_bytes(len(stored)), stored))


def _items(schema: ContainerSchema, records: Sequence[Mapping[str, object]]) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, schema.block, block_of(records))
    # The array consists of its count, the items, and a zero; the block is only the items.
    return out.getvalue()[len(long_bytes(len(records))) : -1]


def read_container(
    data: bytes,
    schema: ContainerSchema,
    *,
    path: str,
    max_records: int | None = None,
    allowance: int = MIN_AVRO_ALLOWANCE,
) -> Iterator[dict[str, Any]]:
    """Yield the records of a file one by one, in the shape of the file's schema, with timestamps as integers.

    Every non-nullable field of ``schema`` is present with its type; a nullable one may be missing. The records of a
    block are counted before they are decoded: at most ``max_records`` are accepted, or else as many as fit into the
    bytes. Blocks may always expand to ``allowance`` bytes, even if the file is small.

    Raises:
        BadEncoding: the bytes are not a valid Avro file.
        Truncated: the file ends inside a block.
        LimitExceeded: the file declares more than any valid file contains.
        UnsupportedFeature: the compression codec is not part of the format.
    """
    container = open_container(data, schema, path=path, max_records=max_records, allowance=allowance)
    for count, block in container.blocks:
        yield from decode_block(container.schema, block, count, path)


@dataclass(frozen=True, slots=True)
class OpenContainer:
    """A container whose header has been read and checked.

    ``schema`` is the parsed schema of its blocks. ``blocks`` yields the record count and the decompressed
    content of each block; it reads them one by one, and raises the same errors as ``read_container``.
    """

    schema: Any
    blocks: Iterator[tuple[int, bytes]]


def open_container(
    data: bytes,
    schema: ContainerSchema,
    *,
    path: str,
    max_records: int | None = None,
    allowance: int = MIN_AVRO_ALLOWANCE,
) -> OpenContainer:
    """Read the header of a container; the arguments and errors are the same as for ``read_container``."""
    if len(data) > MAX_AVRO_BYTES:
        message = f"{len(data)} bytes of Avro; the maximum is {MAX_AVRO_BYTES}"
        raise LimitExceeded(path, message)
    cursor = Cursor(data, path)
    header = read_header(cursor)
    parsed = reading_schema(header.schema, schema.text, path=path)
    most = MIN_ENTRIES_ALLOWANCE + len(data) if max_records is None else max_records
    return OpenContainer(parsed, _blocks(cursor, header, most, allowance))


def _blocks(cursor: Cursor, header: ContainerHeader, most: int, allowance: int) -> Iterator[tuple[int, bytes]]:
    data, path = cursor.data, cursor.path
    most_bytes = min(MAX_AVRO_BYTES, max(allowance, MAX_AVRO_EXPANSION * len(data)))
    expanded = records = 0
    while not cursor.at_end:
        count, size = cursor.long(), cursor.long()
        block = decompress(header.codec, cursor.take(size), path=path)
        if cursor.take(SYNC_BYTES) != header.sync:
            message = f"the sync marker is missing at byte {cursor.at - SYNC_BYTES}"
            raise BadEncoding(path, message)
        expanded += len(block)
        if expanded > most_bytes:
            message = f"the blocks of a file of {len(data)} bytes expand to more than {most_bytes}"
            raise LimitExceeded(path, message)
        records += count
        if records > most and count <= len(block):
            message = f"expected at most {most} entries, found {records} in the first {cursor.at} of {len(data)} bytes"
            raise LimitExceeded(path, message)
        yield count, block


@dataclass(frozen=True, slots=True)
class ContainerHeader:
    """The header of a container, before its first block."""

    schema: bytes
    codec: str
    sync: bytes


def read_header(cursor: Cursor) -> ContainerHeader:
    """Read the header of a container.

    Raises:
        BadEncoding: the bytes are not an Avro file.
        Truncated: the bytes end inside the header.
        LimitExceeded: the header has more entries than any valid header.
    """
    magic = cursor.take(len(AVRO_MAGIC))
    if magic != AVRO_MAGIC:
        message = f"expected an Avro file, found one that begins with {magic!r}"
        raise BadEncoding(cursor.path, message)
    header: dict[bytes, bytes] = {}
    while count := cursor.long():
        if count < 0:
            cursor.long()  # the size of the group in bytes, for readers that skip the group
        if len(header) + abs(count) > _MAX_HEADER_ENTRIES:
            message = f"{abs(count)} entries in an Avro header"
            raise LimitExceeded(cursor.path, message)
        for _ in range(abs(count)):
            key = cursor.take(cursor.long())
            header[key] = cursor.take(cursor.long())
    codec = header.get(b"avro.codec", b"null").decode("ascii", "replace")
    return ContainerHeader(header.get(b"avro.schema", b""), codec, cursor.take(SYNC_BYTES))


def container_header(schema: bytes, codec: str, sync: bytes) -> bytes:
    """Return the bytes of a container before its first block."""
    entries = {b"avro.schema": schema, b"avro.codec": codec.encode()}
    parts = [AVRO_MAGIC, long_bytes(len(entries))]
    for key, value in entries.items():
        parts += (long_bytes(len(key)), key, long_bytes(len(value)), value)
    return b"".join([*parts, b"\0", sync])


def decode_block(schema: Any, block: bytes, count: int, path: str) -> list[dict[str, Any]]:  # noqa: ANN401
    """Return the records of one decompressed block; ``schema`` comes from ``reading_schema``.

    Raises:
        BadEncoding: the block does not contain exactly ``count`` records.
        LimitExceeded: the block declares more records than it has bytes.
    """
    # Every record takes at least one byte, see ``avro_schema``.
    if not (0 < count <= len(block) or count == len(block) == 0):
        message = f"a block of {len(block)} bytes declares {count} records"
        raise LimitExceeded(path, message)
    if not block:
        return []
    framed = BytesIO(b"".join((long_bytes(count), block, b"\0")))
    try:
        records = cast("list[dict[str, Any]]", records_of(fastavro.schemaless_reader(framed, schema, None)))
    except (EOFError, ValueError, IndexError, KeyError, TypeError, OverflowError) as e:
        message = f"a block of {len(block)} bytes does not contain the {count} records that it declares: {e!r}"
        raise BadEncoding(path, message) from e
    if len(records) != count or framed.read(1) or any(record is None for record in records):
        message = f"a block of {len(block)} bytes does not contain exactly the {count} records that it declares"
        raise BadEncoding(path, message)
    return records


@dataclass(slots=True)
class Cursor:
    """A read position in the bytes of a container; it never reads beyond their end."""

    data: bytes
    path: str
    at: int = 0

    @property
    def at_end(self) -> bool:
        """Whether all bytes have been read."""
        return self.at == len(self.data)

    def take(self, size: int) -> bytes:
        """Return the next ``size`` bytes.

        Raises:
            BadEncoding: the size is negative.
            Truncated: fewer bytes are left.
        """
        if size < 0:
            message = f"a negative size at byte {self.at}"
            raise BadEncoding(self.path, message)
        end = self.at + size
        if end > len(self.data):
            raise Truncated(self.path, expected_bytes=end, found_bytes=len(self.data))
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def long(self) -> int:
        """Read the next number: a zigzag varint, in groups of seven bits, the lowest first.

        Raises:
            BadEncoding: the number does not fit into 64 bits.
            Truncated: the bytes end inside the number.
        """
        if self.at < len(self.data) and (byte := self.data[self.at]) < 0x80:
            # Nearly all numbers of a header and a block have one byte.
            self.at += 1
            return (byte >> 1) ^ -(byte & 1)
        value = 0
        for shift in range(0, 7 * _MAX_VARINT_BYTES, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return (value >> 1) ^ -(value & 1)
        message = f"a number of more than {_MAX_VARINT_BYTES} bytes at byte {self.at}"
        raise BadEncoding(self.path, message)


def long_bytes(value: int) -> bytes:
    """Return the zigzag varint of a count or size, which is never negative."""
    rest = value << 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)
