"""Decodes the integers of an ORC stream: chunks of compressed bytes with runs of numbers (run length encoding 2).

Only unsigned streams are supported: the nanoseconds of timestamps.
"""

from __future__ import annotations

import zlib
from typing import Final

import cramjam
import numpy as np
import zstandard

NONE, ZLIB, SNAPPY, LZO, LZ4, ZSTD = range(6)
"""The numbers of the compressions in ORC's postscript."""

_HEADER_BYTES: Final = 3
_WIDTHS: Final = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)
_LZ4_LONG, _LZ4_GOES_ON, _LZ4_MIN_MATCH = 15, 255, 4
_SHORT_REPEAT, _DIRECT, _PATCHED_BASE, _DELTA = range(4)
_MIN_REPEAT: Final = 3
_ALL_BITS: Final = (1 << 64) - 1
_SIGN_BIT: Final = 1 << 63


def plain_bytes(data: bytes, compression: int, block_size: int) -> bytes:
    """Return the decompressed content of a stream.

    Raises:
        ValueError: the chunks cannot be decompressed, or one is larger than ``block_size``.
    """
    if compression == NONE:
        return data
    parts = []
    at = 0
    while at < len(data):
        header = int.from_bytes(data[at : at + _HEADER_BYTES], "little")
        at += _HEADER_BYTES
        chunk = data[at : at + (header >> 1)]
        at += len(chunk)
        if len(chunk) != header >> 1:
            message = f"a chunk of {header >> 1} bytes, but only {len(chunk)} bytes are left"
            raise ValueError(message)
        part = chunk if header & 1 else _expanded(chunk, compression, block_size)
        if len(part) > block_size:
            message = f"a chunk of more than {block_size} bytes"
            raise ValueError(message)
        parts.append(part)
    return b"".join(parts)


def _expanded(chunk: bytes, compression: int, block_size: int) -> bytes:
    try:
        if compression == ZSTD:
            return zstandard.ZstdDecompressor().decompress(chunk, max_output_size=block_size)
        if compression == ZLIB:
            return zlib.decompressobj(wbits=-zlib.MAX_WBITS).decompress(chunk, block_size + 1)
        if compression == SNAPPY and cramjam.snappy.decompress_raw_len(chunk) <= block_size:
            return bytes(cramjam.snappy.decompress_raw(chunk))
        if compression == LZ4:
            # The library returns as many bytes as it is told, with zeros at the end.
            size = min(_size_of_lz4(chunk), block_size)
            return bytes(cramjam.lz4.decompress_block(chunk, output_len=size))
    except (zstandard.ZstdError, zlib.error, cramjam.DecompressionError) as error:
        message = f"a chunk of {len(chunk)} bytes cannot be decompressed: {error}"
        raise ValueError(message) from error
    message = f"a chunk of {len(chunk)} bytes with unknown compression {compression}"
    raise ValueError(message)


def _size_of_lz4(block: bytes) -> int:
    """Return the decompressed size of a block, which is the sum of its literals and matches.

    >>> _size_of_lz4(bytes([0x12, 0x61, 0x01, 0x00, 0x10, 0x62]))
    8
    """
    size = at = 0
    while at < len(block):
        token = block[at]
        literals, at = _lz4_length(block, at + 1, token >> 4)
        size, at = size + literals, at + literals
        if at >= len(block):
            break
        match, at = _lz4_length(block, at + 2, token & 15)
        size += match + _LZ4_MIN_MATCH
    return size


def _lz4_length(block: bytes, at: int, length: int) -> tuple[int, int]:
    if length < _LZ4_LONG:
        return length, at
    while at < len(block):
        length += block[at]
        at += 1
        if block[at - 1] < _LZ4_GOES_ON:
            break
    return length, at


def unsigned_values(data: bytes, count: int) -> np.ndarray:
    """Return the first ``count`` numbers of a stream of unsigned integers.

    >>> unsigned_values(bytes([0x0A, 0x27, 0x10]), 5).tolist()
    [10000, 10000, 10000, 10000, 10000]
    >>> unsigned_values(bytes([0xC6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46]), 10).tolist()
    [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]

    Raises:
        ValueError: the stream ends early, or is not validly encoded.
    """
    runs = []
    found = 0
    cursor = _Cursor(data)
    while found < count:
        run = _run(cursor)
        found += len(run)
        runs.append(run)
    values = np.concatenate(runs) if runs else np.empty(0, np.int64)
    return values[:count]


class _Cursor:
    """A read position in the bytes of a stream."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        if len(piece) != size:
            message = f"a stream of {len(self._data)} bytes ends inside a run"
            raise ValueError(message)
        self._at += size
        return piece

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def varint(self) -> int:
        value = shift = 0
        while shift < 64:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7
        message = "a number of more than 64 bits"
        raise ValueError(message)

    def packed(self, count: int, width: int) -> np.ndarray:
        """Read ``count`` numbers of ``width`` bits each, the highest bit first."""
        raw = np.frombuffer(self.take((count * width + 7) // 8), np.uint8)
        bits = np.unpackbits(raw)[: count * width].reshape(count, width).astype(np.uint64)
        weights = np.left_shift(np.uint64(1), np.arange(width - 1, -1, -1, dtype=np.uint64))
        values: np.ndarray = (bits * weights).sum(axis=1, dtype=np.uint64).astype(np.int64)
        return values


def _run(cursor: _Cursor) -> np.ndarray:
    first = cursor.number(1)
    kind = first >> 6
    if kind == _SHORT_REPEAT:
        value = cursor.number((first >> 3 & 7) + 1)
        return np.full((first & 7) + _MIN_REPEAT, value, np.uint64).astype(np.int64)
    code = first >> 1 & 31
    length = ((first & 1) << 8 | cursor.number(1)) + 1
    if kind == _DIRECT:
        return cursor.packed(length, _WIDTHS[code])
    if kind == _DELTA:
        return _delta_run(cursor, length, _WIDTHS[code] if code else 0)
    return _patched_run(cursor, length, _WIDTHS[code])


def _delta_run(cursor: _Cursor, length: int, width: int) -> np.ndarray:
    # Arrow writes a fraction before 1970 as a negative number, whose bits are those of a large one.
    base = (cursor.varint() & _ALL_BITS ^ _SIGN_BIT) - _SIGN_BIT
    zigzag = cursor.varint()
    delta = zigzag >> 1 ^ -(zigzag & 1)
    steps = np.full(max(length - 1, 0), delta, np.int64)
    if width and length > 2:
        steps[1:] = cursor.packed(length - 2, width) * (-1 if delta < 0 else 1)
    return np.concatenate([np.array([base]), base + np.cumsum(steps)]).astype(np.int64)


def _patched_run(cursor: _Cursor, length: int, width: int) -> np.ndarray:
    third, fourth = cursor.number(1), cursor.number(1)
    base_bytes, patch_width = (third >> 5) + 1, _WIDTHS[third & 31]
    gap_width, patches = (fourth >> 5) + 1, fourth & 31
    base = cursor.number(base_bytes)
    sign = 1 << base_bytes * 8 - 1
    if base & sign:
        base = -(base - sign)
    values = cursor.packed(length, width)
    entry_width = next((w for w in _WIDTHS if w >= gap_width + patch_width), 0)
    at = 0
    for entry in cursor.packed(patches, entry_width).tolist():
        at += entry >> patch_width
        if not entry_width or at >= length:
            message = "a patch outside its run"
            raise ValueError(message)
        values[at] |= (entry & (1 << patch_width) - 1) << width
    patched: np.ndarray = values + base
    return patched
