"""Decodes the tail of an ORC file, and builds small ORC files from one stripe with changed types.

Arrow returns the rows of a file, but neither the row counts of stripes nor the positions of their streams. ORC
specification v1, "File Tail".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from table_format.formats.orc_protobuf import Message, decode_message, encode_message
from table_format.formats.orc_runs import NONE, plain_bytes
from table_format.limits import MAX_ORC_BLOCK_BYTES

MAGIC: Final = b"ORC"
LONG, TIMESTAMP, TIMESTAMP_INSTANT = 4, 9, 18
"""The numbers of the type kinds."""

# Field numbers of orc_proto.proto.
_TAIL_POSTSCRIPT, _TAIL_FOOTER = 1, 2
_FOOTER_LENGTH, _COMPRESSION, _BLOCK_SIZE, _METADATA_LENGTH, _STATISTICS_LENGTH, _MAGIC = 1, 2, 3, 5, 7, 8000
_HEADER_LENGTH, _CONTENT_LENGTH, _STRIPES, _TYPES, _ROWS, _STATISTICS = 1, 2, 3, 4, 6, 7
_STRIPE_OFFSET, _STRIPE_INDEX, _STRIPE_DATA, _STRIPE_FOOTER, _STRIPE_ROWS = 1, 2, 3, 4, 5
_STRING_STATISTICS, _BINARY_STATISTICS, _STRING_SUM, _BINARY_SUM = 4, 8, 3, 1
_TYPE_KIND, _TYPE_CHILDREN, _TYPE_NAMES = 1, 2, 3
_STREAM_KIND, _STREAM_COLUMN, _STREAM_LENGTH = 1, 2, 3
_STREAMS, _ENCODINGS, _TIME_ZONE = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Stripe:
    """The position of one stripe, and its row count."""

    offset: int
    index_length: int
    data_length: int
    footer_length: int
    rows: int

    @property
    def length(self) -> int:
        """The size of the stripe with its index and footer, in bytes."""
        return self.index_length + self.data_length + self.footer_length


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A node of the type tree; its position in the list of types is its column number."""

    kind: int
    children: tuple[int, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tail:
    """The contents of the footer and postscript of a file."""

    postscript: Message
    footer: Message

    @classmethod
    def of(cls, serialized: bytes) -> Tail:
        """Decode the serialised tail that Arrow returns.

        Raises:
            ValueError: the bytes are not an ORC tail.
        """
        tail = decode_message(serialized)
        return cls(tail.messages(_TAIL_POSTSCRIPT)[0], tail.messages(_TAIL_FOOTER)[0])

    @property
    def stripes(self) -> tuple[Stripe, ...]:
        """The stripes in the order of the file."""
        members = (_STRIPE_OFFSET, _STRIPE_INDEX, _STRIPE_DATA, _STRIPE_FOOTER, _STRIPE_ROWS)
        return tuple(Stripe(*(s.number(member) for member in members)) for s in self.footer.messages(_STRIPES))

    @property
    def types(self) -> tuple[ColumnType, ...]:
        """The nodes of the type tree, by column number."""
        return tuple(
            ColumnType(
                t.number(_TYPE_KIND), tuple(t.numbers(_TYPE_CHILDREN)), tuple(n.decode() for n in t.raw(_TYPE_NAMES))
            )
            for t in self.footer.messages(_TYPES)
        )

    @property
    def text_bytes(self) -> int:
        """The decoded size of all text and binary values in bytes, or 0 if the statistics lack it."""
        total = 0
        for column in self.footer.messages(_STATISTICS):
            for kind, member in ((_STRING_STATISTICS, _STRING_SUM), (_BINARY_STATISTICS, _BINARY_SUM)):
                for found in column.messages(kind):
                    stored = found.number(member)
                    total += max(0, (stored >> 1) ^ -(stored & 1))
        return total

    def plain(self, data: bytes) -> bytes:
        """Return a part of the file, decompressed."""
        return plain_bytes(data, self.postscript.number(_COMPRESSION), self.postscript.number(_BLOCK_SIZE))

    def with_kinds(self, stripe: Stripe, data: bytes, kinds: dict[int, int]) -> pa.Buffer:
        """Return an ORC file with one stripe, whose bytes are ``data``, and the type ``kinds`` for some columns."""
        types = [
            encode_message(t.with_number(_TYPE_KIND, kinds.get(i, t.number(_TYPE_KIND))))
            for i, t in enumerate(self.footer.messages(_TYPES))
        ]
        (original,) = (s for s in self.footer.messages(_STRIPES) if s.number(_STRIPE_OFFSET) == stripe.offset)
        footer = encode_message(
            self.footer.without(_STATISTICS)
            .with_number(_HEADER_LENGTH, len(MAGIC))
            .with_number(_CONTENT_LENGTH, len(MAGIC) + len(data))
            .with_number(_ROWS, stripe.rows)
            .with_raw(_STRIPES, [encode_message(original.with_number(_STRIPE_OFFSET, len(MAGIC)))])
            .with_raw(_TYPES, types)
        )
        stored = self._chunked(footer)
        postscript = encode_message(
            self.postscript.without(_STATISTICS_LENGTH)
            .with_number(_FOOTER_LENGTH, len(stored))
            .with_number(_METADATA_LENGTH, 0)
        )
        return pa.py_buffer(b"".join([MAGIC, data, stored, postscript, bytes([len(postscript)])]))

    def _chunked(self, data: bytes) -> bytes:
        """Return the bytes as uncompressed chunks, if the file has chunks."""
        if self.postscript.number(_COMPRESSION) == NONE:
            return data
        size = min(self.postscript.number(_BLOCK_SIZE), 1 << 22)
        chunks = [data[at : at + size] for at in range(0, len(data), size)]
        return b"".join((len(chunk) << 1 | 1).to_bytes(3, "little") + chunk for chunk in chunks)


@dataclass(frozen=True, slots=True)
class StripeStreams:
    """The streams of one stripe."""

    time_zone: str
    _data: bytes
    _ranges: dict[tuple[int, int], tuple[int, int]]
    _encodings: tuple[int, ...]

    @classmethod
    def of(cls, tail: Tail, stripe: Stripe, data: bytes) -> StripeStreams:
        """Find the streams in the bytes of a stripe.

        Raises:
            ValueError: the bytes at the end are not a stripe footer.
        """
        footer = decode_message(tail.plain(data[stripe.length - stripe.footer_length :]))
        ranges = {}
        at = 0
        for stream in footer.messages(_STREAMS):
            length = stream.number(_STREAM_LENGTH)
            ranges[stream.number(_STREAM_COLUMN), stream.number(_STREAM_KIND)] = (at, at + length)
            at += length
        zones = footer.raw(_TIME_ZONE)
        encodings = tuple(e.number(_STREAM_KIND) for e in footer.messages(_ENCODINGS))
        return cls(zones[0].decode() if zones else "", data, ranges, encodings)

    def stored(self, column: int, kind: int) -> bytes:
        """Return the stored bytes of a stream, or empty bytes if the column has no such stream."""
        start, end = self._ranges.get((column, kind), (0, 0))
        return self._data[start:end]

    def encoding(self, column: int) -> int:
        """Return the number of the encoding of a column."""
        return self._encodings[column]


def check_postscript(source: pa.NativeFile) -> None:
    """Refuse a file whose postscript states sizes larger than the file, before memory is allocated.

    Raises:
        ValueError: the file is damaged or is not an ORC file.
    """
    size = source.size()
    source.seek(max(size - 256, 0))
    end = source.read(256)
    length = end[-1] if end else 0
    if length == 0 or length >= len(end):
        message = f"the last of {size} bytes is not the length of a postscript"
        raise ValueError(message)
    postscript = decode_message(end[-1 - length : -1])
    if postscript.raw(_MAGIC) != [MAGIC]:
        message = f"expected the magic 'ORC' at the end, found {end[-16:]!r}"
        raise ValueError(message)
    described = sum(postscript.number(part) for part in (_FOOTER_LENGTH, _METADATA_LENGTH, _STATISTICS_LENGTH))
    if described + length + 1 > size:
        message = f"a footer of {described} bytes in a file of {size}"
        raise ValueError(message)
    if postscript.number(_BLOCK_SIZE) > MAX_ORC_BLOCK_BYTES:
        message = f"chunks of {postscript.number(_BLOCK_SIZE)} bytes; the maximum is {MAX_ORC_BLOCK_BYTES}"
        raise ValueError(message)
