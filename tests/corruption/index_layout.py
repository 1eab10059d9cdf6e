"""Which bytes of a container of file indexes are structure, and which are content, by format chapter 09.

Structure says what follows: magic, versions, numbers of rows, places and lengths. Each wrong bit of it can be noticed.
Content is what the index knows: bits of a filter, keys, positions of rows, bitmaps. Other content is the sound index of
another column, so that nobody can notice it who has no checksum; the names of columns and types are content as well.
This walk shares nothing with the decoders of the library, and expects a sound container.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

PREFIX = 16
COUNTS = 10
"""Of a bitmap: version, rows, keys, and whether there are nulls."""


@dataclass(frozen=True)
class Place:
    """An index: where its start and length are stated in the head, and what they say."""

    column: str
    index_type: str
    stated_at: int
    start: int
    length: int


def places_of(container: bytes) -> list[Place]:
    """The indexes in the order of the head."""
    return [found for found in _walk(container) if isinstance(found, Place)]


def content_of(container: bytes) -> frozenset[int]:
    """The positions of all bytes that are content."""
    content: set[int] = set()
    for found in _walk(container):
        if isinstance(found, range):
            content.update(found)
        elif found.length:
            payload = container[found.start : found.start + found.length]
            structure = set(_STRUCTURE[found.index_type](payload))
            content.update(found.start + at for at in range(found.length) if at not in structure)
    return frozenset(content)


def _walk(container: bytes) -> Iterator[Place | range]:
    """The names, as ranges of bytes, and the places."""
    (columns,) = struct.unpack_from(">i", container, PREFIX)
    at = PREFIX + 4

    def name() -> str:
        nonlocal at
        (length,) = struct.unpack_from(">H", container, at)
        at += 2 + length
        return container[at - length : at].decode()

    for _ in range(columns):
        column = name()
        yield range(at - len(column.encode()), at)
        (types,) = struct.unpack_from(">i", container, at)
        at += 4
        for _ in range(types):
            index_type = name()
            yield range(at - len(index_type), at)
            yield Place(column, index_type, at, *struct.unpack_from(">ii", container, at))
            at += 8


def _of_bloom_filter(_payload: bytes) -> Iterator[int]:
    """The high bytes of the number of hash functions; a few more or fewer of them are another sound filter."""
    yield from range(2)


def _of_bitmap(payload: bytes) -> Iterator[int]:
    yield from range(COUNTS)
    if payload[0] == 2:
        blocks = COUNTS + (8 if payload[COUNTS - 1] else 0)
        yield from range(blocks, blocks + 4)


def _of_bsi(_payload: bytes) -> Iterator[int]:
    """Version, rows, whether there are numbers that are not negative, and the version or flag behind it."""
    yield from range(7)


def _of_range_bitmap(payload: bytes) -> Iterator[int]:
    head, _, _, cardinality = struct.unpack_from(">ibii", payload)
    yield from range(13)
    dictionary = 4 + head
    yield from range(dictionary - 4, dictionary)
    (length,) = struct.unpack_from(">i", payload, dictionary - 4)
    if cardinality:
        (chunks,) = struct.unpack_from(">i", payload, dictionary + 5)
        yield from range(dictionary, dictionary + 17 + 4 * chunks)
    slices = dictionary + length
    (rest,) = struct.unpack_from(">i", payload, slices)
    yield from range(slices, slices + 4 + rest)


_STRUCTURE = {
    "bloom-filter": _of_bloom_filter,
    "bitmap": _of_bitmap,
    "bsi": _of_bsi,
    "range-bitmap": _of_range_bitmap,
}
