"""The dictionary of a ``range-bitmap`` index: ascending keys, divided into chunks (Java ``ChunkedDictionary``).

The code of a key is its rank. The heads of all chunks, which contain the first keys, are read together. The other keys
of a chunk are read only if they may include the sought key. Layout: an int for the length of the head, the head
(version, chunks, bytes of offsets, bytes of chunks), an int for the place of each chunk, the chunks, and the keys.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from table_format.counted import counted
from table_format.kernels.aggregates.buffers import numbers
from table_format.kernels.file_index.keys import Ints, Key, KeyFormat, ascend
from table_format.kernels.file_index.payload import Payload

_VERSION: Final = 1
_INT: Final = struct.Struct(">i")
_HEAD: Final = struct.Struct(">ibiii")
"""The length of the rest, followed by the rest."""
_HEAD_REST: Final = _HEAD.size - _INT.size
_CHUNK_TAIL: Final = struct.Struct(">5i")
"""The code of the first key, the place and number of the other keys, and two lengths.

The lengths are the bytes of all keys and of one key for a fixed width, or the bytes of offsets and of keys for text.
"""


def encode_dictionary(keys: pa.Array, stored: KeyFormat, chunk_bytes: int) -> bytes:
    """Return the stored form of ascending keys; in a chunk, keys after the first take at most ``chunk_bytes``."""
    offsets, chunks, body = _fixed(keys, stored, chunk_bytes) if stored.width else _text(keys, stored, chunk_bytes)
    head = _HEAD.pack(_HEAD_REST, _VERSION, len(offsets), _INT.size * len(offsets), len(chunks))
    return b"".join([head, offsets.astype(">i4").tobytes(), chunks, body])


def _fixed(keys: pa.Array, stored: KeyFormat, chunk_bytes: int) -> tuple[Ints, bytes, bytes]:
    width = stored.width or 0
    values = stored.stored_bits(numbers(keys, np.int64))
    step = 1 + chunk_bytes // width
    firsts = np.arange(0, len(values), step)
    sizes = np.diff(np.append(firsts, len(values))) - 1
    tail = [("code", ">i4"), ("offset", ">i4"), ("size", ">i4"), ("length", ">i4"), ("width", ">i4")]
    chunks = np.zeros(len(firsts), np.dtype([("version", "i1"), ("key", values.dtype), *tail]))
    chunks["version"], chunks["key"], chunks["code"] = _VERSION, values[firsts], firsts
    chunks["offset"] = (np.cumsum(sizes) - sizes) * width
    chunks["size"], chunks["length"], chunks["width"] = sizes, sizes * width, width
    others = np.ones(len(values), np.bool_)
    others[firsts] = False
    return np.arange(len(firsts)) * chunks.itemsize, chunks.tobytes(), values[others].tobytes()


def _text(keys: pa.Array, stored: KeyFormat, chunk_bytes: int) -> tuple[Ints, bytes, bytes]:
    encoded, ends = stored.text_encoded(keys)
    offsets, chunks, bodies, at, body_at = [], [], [], 0, 0
    for start, stop in _text_cuts(ends, chunk_bytes):
        places = (np.append(0, ends[start + 1 : stop]) - ends[start])[1:]
        starts = np.append(0, places[:-1])[: len(places)].astype(">i4").tobytes()
        others = encoded[int(ends[start]) : int(ends[stop - 1])]
        tail = _CHUNK_TAIL.pack(start, body_at, stop - start - 1, len(starts), len(others))
        chunk = bytes([_VERSION]) + encoded[int(ends[start - 1]) if start else 0 : int(ends[start])] + tail
        offsets.append(at)
        chunks.append(chunk)
        bodies += [starts, others]
        at, body_at = at + len(chunk), body_at + len(starts) + len(others)
    return np.array(offsets, np.int64), b"".join(chunks), b"".join(bodies)


def _text_cuts(ends: Ints, limit: int) -> Iterator[tuple[int, int]]:
    """Yield chunks as ranges of keys; keys after the first take at most ``limit`` bytes, and so do their offsets."""
    start = 0
    while start < len(ends):
        stop = int(np.searchsorted(ends, ends[start] + limit, side="right"))
        stop = min(stop, start + 1 + limit // _INT.size)
        yield start, stop
        start = stop


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A chunk; ``offset``, ``size``, ``first_length`` and ``second_length`` are the numbers in its tail."""

    code: int
    offset: int
    size: int
    first_length: int
    second_length: int


class Dictionary:
    """Reads a dictionary of ``cardinality`` keys in ``length`` bytes from ``start``."""

    def __init__(self, payload: Payload, stored: KeyFormat, *, start: int, length: int, cardinality: int) -> None:
        self._payload = payload
        self._stored = stored
        self._start = start
        self._length = length
        self._cardinality = cardinality
        self._others: dict[int, list[Key]] = {}

    def first_at_least(self, key: Key) -> int:
        """Return the code of the first key that is at least ``key``, or the cardinality if there is none."""
        return self._place(key, is_after=False)

    def first_above(self, key: Key) -> int:
        """Return the code of the first key that is greater than ``key``, or the cardinality if there is none."""
        return self._place(key, is_after=True)

    def keys_at(self, codes: Sequence[int]) -> list[Key]:
        """Return the keys of these codes.

        Raises:
            CorruptionError: a code does not exist, or the decoded part is damaged.
        """
        known = {code: self._key_at(code) for code in set(codes)}
        return [known[code] for code in codes]

    def has_chunk_size(self, chunk_bytes: int) -> bool:
        """Whether the chunks are those that ``encode_dictionary`` cuts for this size.

        Raises:
            CorruptionError: what had to be decoded is damaged.
        """
        if not self._cardinality:
            return True
        first_keys, chunks, _ = self._chunks
        if self._stored.width:
            most = chunk_bytes // self._stored.width
            return all(chunk.size == most for chunk in chunks[:-1]) and chunks[-1].size <= most
        most = chunk_bytes // _INT.size
        fit = all(chunk.size <= most and chunk.second_length <= chunk_bytes for chunk in chunks)
        return fit and all(
            chunk.size == most or chunk.second_length + self._stored.stored_length(after) > chunk_bytes
            for chunk, after in zip(chunks, first_keys[1:], strict=False)
        )

    def _key_at(self, code: int) -> Key:
        if not 0 <= code < self._cardinality:
            message = f"a row has the code {code}, but the dictionary has {counted(self._cardinality, 'key')}"
            raise self._payload.damaged(message)
        first_keys, chunks, _ = self._chunks
        number = bisect_right(chunks, code, key=lambda chunk: chunk.code) - 1
        place = code - chunks[number].code
        return self._keys_of(number)[place - 1] if place else first_keys[number]

    def _place(self, key: Key, *, is_after: bool) -> int:
        first_keys, chunks, _ = self._chunks
        number = bisect_right(first_keys, key) - 1
        if number < 0:
            return 0
        chunk = chunks[number]
        if first_keys[number] == key:
            return chunk.code + is_after
        others = self._keys_of(number)
        return chunk.code + 1 + (bisect_right(others, key) if is_after else bisect_left(others, key))

    @cached_property
    def _chunks(self) -> tuple[list[Key], list[_Chunk], int]:
        """The first keys, the chunks, and the start of the keys in the index."""
        rest, version, count, offset_bytes, chunk_bytes = _HEAD.unpack(self._payload.read(self._start, _HEAD.size))
        keys_start = _HEAD.size + offset_bytes + chunk_bytes
        if version != _VERSION or rest != _HEAD_REST or offset_bytes != _INT.size * count or chunk_bytes < 0:
            message = (
                f"the head of the dictionary is invalid: version {version}, "
                f"{counted(count, 'chunk')}, {chunk_bytes} bytes of chunks"
            )
            raise self._payload.damaged(message)
        if keys_start > self._length:
            message = f"the chunks of the dictionary end at byte {keys_start}, beyond its {self._length} bytes"
            raise self._payload.damaged(message)
        data = self._payload.read(self._start + _HEAD.size, offset_bytes + chunk_bytes)
        try:
            first_keys, chunks = self._decoded(data[offset_bytes:], np.frombuffer(data, ">i4", count).tolist())
        except (struct.error, ValueError) as error:
            message = f"the chunks of the dictionary cannot be decoded: {error}"
            raise self._payload.damaged(message) from error
        self._check(first_keys, chunks, self._length - keys_start)
        return first_keys, chunks, self._start + keys_start

    def _decoded(self, data: bytes, offsets: Sequence[int]) -> tuple[list[Key], list[_Chunk]]:
        first_keys, chunks, at = [], [], 0
        for offset in offsets:
            if offset != at or data[at : at + 1] != bytes([_VERSION]):
                message = f"expected a chunk of version {_VERSION} at byte {at}"
                raise ValueError(message)
            key, at = self._stored.decoded(data, at + 1)
            first_keys.append(key)
            chunks.append(_Chunk(*_CHUNK_TAIL.unpack_from(data, at)))
            at += _CHUNK_TAIL.size
        if at != len(data):
            message = f"they end at byte {at} of {len(data)}"
            raise ValueError(message)
        return first_keys, chunks

    def _check(self, first_keys: Sequence[Key], chunks: Sequence[_Chunk], body_bytes: int) -> None:
        code, offset = 0, 0
        for chunk in chunks:
            is_sound = chunk.code == code and chunk.offset == offset and chunk.size >= 0
            width = self._stored.width
            lengths = (chunk.size * width, width) if width else (_INT.size * chunk.size, max(chunk.second_length, 0))
            if not is_sound or lengths != (chunk.first_length, chunk.second_length):
                message = f"the chunk of the dictionary from code {chunk.code} on has an invalid head"
                raise self._payload.damaged(message)
            code, offset = code + 1 + chunk.size, offset + chunk.first_length + (0 if width else chunk.second_length)
        if code != self._cardinality or offset != body_bytes:
            message = (
                f"the dictionary: expected {counted(self._cardinality, 'key')} in {body_bytes} bytes, "
                f"found {code} in {offset}"
            )
            raise self._payload.damaged(message)
        if not ascend(first_keys):
            message = "the chunks of the dictionary are not in ascending order"
            raise self._payload.damaged(message)

    def _keys_of(self, number: int) -> list[Key]:
        """Return the keys of a chunk after the first."""
        if number not in self._others:
            first_keys, chunks, keys_start = self._chunks
            chunk = chunks[number]
            length = chunk.first_length if self._stored.width else chunk.first_length + chunk.second_length
            data = self._payload.read(keys_start + chunk.offset, length)
            try:
                found = self._others_in(data, chunk)
            except (struct.error, ValueError) as error:
                message = f"the keys from code {chunk.code} on cannot be decoded: {error}"
                raise self._payload.damaged(message) from error
            if not ascend([first_keys[number], *found, *first_keys[number + 1 : number + 2]]):
                message = f"the keys from code {chunk.code} on are not in ascending order"
                raise self._payload.damaged(message)
            self._others[number] = found
        return self._others[number]

    def _others_in(self, data: bytes, chunk: _Chunk) -> list[Key]:
        if self._stored.width:
            fixed: list[Key] = self._stored.from_stored(data).tolist()
            return fixed
        offsets = np.frombuffer(data, ">i4", chunk.size).tolist()
        keys, at = data[chunk.first_length :], 0
        found = []
        for offset in offsets:
            if offset != at:
                message = f"expected a key at byte {at}, found the offset {offset}"
                raise ValueError(message)
            key, at = self._stored.decoded(keys, at)
            found.append(key)
        return found
