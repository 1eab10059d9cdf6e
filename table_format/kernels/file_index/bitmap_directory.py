"""The head of a ``bitmap`` index, which locates its bitmaps, in version 1 and version 2 (format chapter 09, 4).

Version 1 lists all keys in any order. Version 2 sorts them and divides them into blocks, so that a reader needs only
the block that may contain its key.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from table_format.counted import counted
from table_format.kernels.file_index.conditions import KeyRange
from table_format.kernels.file_index.keys import Ints, Key, KeyFormat, ascend
from table_format.kernels.file_index.payload import Payload
from table_format.kernels.file_index.row_bitmaps import check_bitmap_begins

VERSION_1: Final = 1
VERSION_2: Final = 2
NO_LENGTH: Final = -1
"""The length of a key with a single row, whose place is the row; it has no bitmap."""

_INT: Final = struct.Struct(">i")
_COUNTS: Final = struct.Struct(">bii?")


@dataclass(frozen=True, slots=True)
class Entries:
    """Keys in ascending order with the places of their rows: the start of a bitmap in the body, or -1 - row."""

    keys: Sequence[Key]
    offsets: Ints
    lengths: Ints

    def within(self, keys: KeyRange) -> slice:
        """Return the entries whose keys are in the range."""
        start = 0 if keys.low is None else bisect_left(self.keys, keys.low)
        stop = len(self.keys) if keys.high is None else bisect_right(self.keys, keys.high)
        return slice(start, max(start, stop))


@dataclass(frozen=True, slots=True)
class Directory:
    """The head of an index: the number of rows, the place of the null rows, and the blocks of entries.

    ``null`` is a place and a length, as for an entry. ``first_keys`` are the first keys of the blocks. In version 2,
    ``block_bytes`` are the lengths of the blocks.
    """

    row_count: int
    key_count: int
    null: tuple[int, int] | None
    first_keys: Sequence[Key]
    block: Callable[[int], Entries]
    body_start: int
    block_bytes: Sequence[int] = ()

    def blocks(self, keys: KeyRange) -> range:
        """Return the blocks that may contain a key of the range."""
        first = self.first_keys
        start = 0 if keys.low is None else max(0, bisect_right(first, keys.low) - 1)
        return range(start, len(first) if keys.high is None else bisect_right(first, keys.high))


def encode_v1(row_count: int, null: int | None, key_count: int, entries: bytes) -> bytes:
    """Return the head in version 1: stored keys in any order, each with its place."""
    head = _COUNTS.pack(VERSION_1, row_count, key_count, null is not None)
    return b"".join([head, b"" if null is None else _INT.pack(null), entries])


def encode_v2(row_count: int, null: tuple[int, int] | None, entries: tuple[bytes, Ints], block_bytes: int) -> bytes:
    """Return the head in version 2; ``entries`` are stored ascending keys with place and length, and their ends.

    A block has at least one key, and at most as many as fit into ``block_bytes``.
    """
    stored, ends = entries
    starts = np.append(0, ends)
    heads, blocks, at = list[bytes](), list[bytes](), 0
    for start, stop in _cuts(ends, block_bytes - _INT.size):
        block = _INT.pack(stop - start) + stored[starts[start] : starts[stop]]
        heads.append(stored[starts[start] : starts[start + 1] - 2 * _INT.size] + _INT.pack(at))
        blocks.append(block)
        at += len(block)
    head = _COUNTS.pack(VERSION_2, row_count, len(ends), null is not None)
    nulls = b"" if null is None else b"".join(map(_INT.pack, null))
    return b"".join([head, nulls, _INT.pack(len(blocks)), *heads, _INT.pack(at), *blocks])


def _cuts(ends: Ints, limit: int) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(ends):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield start, stop
        start = stop


def has_block_size(payload: Payload, stored: KeyFormat, block_bytes: int) -> bool:
    """Whether the blocks of an index in version 2 are those that ``encode_v2`` cuts for this size.

    Raises:
        BadEncoding: it is damaged.
    """
    directory = decode_directory(payload, stored)
    if directory is None:
        return True
    entries = [stored.stored_length(key) + 2 * _INT.size for key in directory.first_keys]
    lengths = directory.block_bytes
    # A block of one key may be longer, and a block is full if the first key of the next one does not fit into it.
    fit = all(
        length <= block_bytes or length == _INT.size + first for length, first in zip(lengths, entries, strict=True)
    )
    return fit and all(length + after > block_bytes for length, after in zip(lengths, entries[1:], strict=False))


def version_of(payload: Payload) -> int | None:
    """The version of an index; ``None`` if it is not known here.

    Raises:
        BadEncoding: it has no bytes.
    """
    version = payload.read(0, 1)[0]
    return version if version in (VERSION_1, VERSION_2) else None


def decode_directory(payload: Payload, stored: KeyFormat) -> Directory | None:
    """Return the directory of an index; ``None`` for an unknown version.

    Raises:
        BadEncoding: the directory is damaged.
    """
    if version_of(payload) is None:
        return None
    # The length of the head is unknown until it is decoded: read more bytes until it is complete.
    size = payload.first_read
    while True:
        data = payload.read(0, min(size, payload.length))
        try:
            return _Decoder(data, payload, stored).directory()
        except (struct.error, ValueError) as error:
            if size >= payload.length:
                message = f"its head cannot be decoded: {error}"
                raise payload.damaged(message) from error
        size *= 8


class _Decoder:
    """A read position in the first bytes of an index, which may be incomplete."""

    def __init__(self, data: bytes, payload: Payload, stored: KeyFormat) -> None:
        self._data = data
        self._payload = payload
        self._stored = stored
        self._at = 0

    def directory(self) -> Directory:
        version, row_count, key_count, has_null = self._unpacked(_COUNTS)
        if row_count < 0 or key_count < 0 or key_count > row_count:
            message = f"it states {counted(key_count, 'key')} and {counted(row_count, 'row')}"
            raise self._payload.damaged(message)
        if version == VERSION_1:
            return self._version_1(row_count, key_count, (self._int(), NO_LENGTH) if has_null else None)
        return self._version_2(row_count, key_count, (self._int(), self._int()) if has_null else None)

    def _version_1(self, row_count: int, key_count: int, null: tuple[int, int] | None) -> Directory:
        entries = self._entries(key_count, self._stored, 1)
        offsets = np.concatenate([entries.offsets, np.array([null[0]] if null else [], np.int64)])
        begins = np.unique(offsets[offsets >= 0])
        self._check_body(begins)
        ends = np.append(begins[1:], self._payload.length - self._at)
        lengths = np.full(len(offsets), NO_LENGTH, np.int64)
        lengths[offsets >= 0] = ends[np.searchsorted(begins, offsets[offsets >= 0])] - offsets[offsets >= 0]
        if null:
            null = (null[0], int(lengths[-1]))
        order = sorted(range(key_count), key=entries.keys.__getitem__)
        ordered = Entries([entries.keys[n] for n in order], entries.offsets[order], lengths[:key_count][order])
        _check_ascending(ordered.keys, self._payload)
        first_keys = ordered.keys[:1]
        return Directory(row_count, key_count, null, first_keys, lambda _: ordered, self._at)

    def _check_body(self, begins: Ints) -> None:
        """Check that the bitmaps begin after the head; a wrong number of entries or null flag would move them."""
        if not len(begins):
            if self._at != self._payload.length:
                message = f"its keys end at byte {self._at} of {self._payload.length}, but no bitmap follows"
                raise self._payload.damaged(message)
            return
        if begins[0] != 0:
            message = f"expected its first bitmap at offset 0, found the offset {begins[0]}"
            raise self._payload.damaged(message)
        check_bitmap_begins(self._payload, self._at)

    def _version_2(self, row_count: int, key_count: int, null: tuple[int, int] | None) -> Directory:
        count = self._int()
        if count < 0 or count > key_count or (key_count and not count):
            message = f"it states {counted(count, 'block')} for {counted(key_count, 'key')}"
            raise self._payload.damaged(message)
        heads = self._entries(count, self._stored, 1)
        _check_ascending(heads.keys, self._payload)
        bounds = [*heads.offsets.tolist(), self._int()]
        start = self._at
        if bounds[0] != 0 or not ascend(bounds):
            message = f"its blocks are not contiguous: the first offsets are {bounds[:4]}"
            raise self._payload.damaged(message)
        decoded: dict[int, Entries] = {}

        def block(number: int) -> Entries:
            if number not in decoded:
                data = self._payload.read(start + bounds[number], bounds[number + 1] - bounds[number])
                decoded[number] = self._block(data, heads.keys[number : number + 2])
            return decoded[number]

        lengths = [end - begin for begin, end in pairwise(bounds)]
        return Directory(row_count, key_count, null, heads.keys, block, start + bounds[-1], lengths)

    def _block(self, data: bytes, first_keys: Sequence[Key]) -> Entries:
        """Decode a block, whose keys are from its first key to before that of the next block."""
        decoder = _Decoder(data, self._payload, self._stored)
        try:
            entries = decoder._entries(decoder._int(), self._stored, 2)
        except (struct.error, ValueError) as error:
            message = f"a block of {len(data)} bytes cannot be decoded: {error}"
            raise self._payload.damaged(message) from error
        _check_ascending([*entries.keys, *first_keys[1:]], self._payload)
        if decoder._at != len(data) or list(entries.keys[:1]) != list(first_keys[:1]):
            message = f"a block of {counted(len(entries.keys), 'key')} does not match its entry in the list of blocks"
            raise self._payload.damaged(message)
        return entries

    def _entries(self, count: int, stored: KeyFormat, numbers: int) -> Entries:
        """Decode ``count`` keys, each with one or two numbers."""
        if count < 0 or count > len(self._data):
            message = f"{counted(count, 'entry does', 'entries do')} not fit into {len(self._data)} bytes"
            raise ValueError(message)
        if stored.width is None:
            return self._text_entries(count, numbers)
        dtype = np.dtype([("key", f"V{stored.width}"), ("numbers", ">i4", (numbers,))])
        start, self._at = self._at, self._at + count * dtype.itemsize
        if self._at > len(self._data):
            message = f"expected {counted(count, 'entry', 'entries')}, found the end of the data before that"
            raise ValueError(message)
        table = np.frombuffer(self._data, dtype, count, start)
        keys: list[Key] = stored.from_stored(table["key"].tobytes()).tolist()
        return _entries(keys, table["numbers"].astype(np.int64))

    def _text_entries(self, count: int, numbers: int) -> Entries:
        keys: list[Key] = []
        found: list[bytes] = []
        data, at, width = self._data, self._at, numbers * _INT.size
        for _ in range(count):
            start = at + _INT.size
            end = start + _INT.unpack_from(data, at)[0]
            at = end + width
            if not start <= end or at > len(data):
                message = f"the key at byte {start} ends at byte {end}, beyond the {len(data)} bytes"
                raise ValueError(message)
            keys.append(data[start:end])
            found.append(data[end:at])
        self._at = at
        return _entries(keys, np.frombuffer(b"".join(found), ">i4").astype(np.int64).reshape(-1, numbers))

    def _int(self) -> int:
        return self._unpacked(_INT)[0]

    def _unpacked(self, form: struct.Struct) -> tuple[int, ...]:
        values = form.unpack_from(self._data, self._at)
        self._at += form.size
        return values


def _entries(keys: list[Key], numbers: npt.NDArray[np.int64]) -> Entries:
    offsets = numbers[:, 0]
    return Entries(keys, offsets, numbers[:, 1] if numbers.shape[1] > 1 else np.full(len(keys), NO_LENGTH, np.int64))


def _check_ascending(keys: Sequence[Key], payload: Payload) -> None:
    if not ascend(keys):
        message = "its keys are not in strictly ascending order"
        raise payload.damaged(message)
