"""Computes xxHash64 with seed 0 of every value of a column of text or bytes.

Values of equal length, and values shorter than a stripe of 32 bytes, are hashed together, step by step, with numpy.
Other values are hashed by calls of the C library, whose overhead is small compared with their length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from table_format.kernels.row_words import BytesWords, UInt64s, column_words
from table_format.model.arrow_calls import frombuffer
from table_format.model.types import VarBinaryType, VarCharType

_STRIPE: Final = 32
_BLOCK_ROWS: Final = 32768
_P1: Final = np.uint64(0x9E3779B185EBCA87)
_P2: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_P3: Final = np.uint64(0x165667B19E3779F9)
_P4: Final = np.uint64(0x85EBCA77C2B2AE63)
_P5: Final = np.uint64(0x27D4EB2F165667C5)
_LANE_SEEDS: Final = (np.uint64(0x60EA27EEADC0B5D6), _P2, np.uint64(0), np.uint64(0x61C8864E7A143579))
"""``_P1 + _P2``, ``_P2``, 0 and ``-_P1``."""
_MAX_EQUAL: Final = 4096
"""Longer values are hashed faster by calls of the C library."""
_FEW_ROWS: Final = 64
"""For fewer rows, array operations take longer than calls."""


def xxhash64(column: pa.Array) -> UInt64s:
    """Return the hash of each value of an array of text or bytes without nulls.

    >>> [hex(h) for h in xxhash64(pa.array(["hello", ""])).tolist()]
    ['0x26c7827d889f6da3', '0xef46db3751d8e999']
    """
    data_type = VarCharType() if pa.types.is_string(column.type) else VarBinaryType()
    hashes = np.empty(len(column), np.uint64)
    for start in range(0, len(column), _BLOCK_ROWS):
        block = column.slice(start, _BLOCK_ROWS)
        found = _hash_equal(block) if len(block) >= _FEW_ROWS else None
        if found is None:
            words = column_words(data_type, block)
            assert isinstance(words, BytesWords)  # noqa: S101 - that is what text and bytes become
            found = _hash_block(words)
        hashes[start : start + _BLOCK_ROWS] = found
    return hashes


def _hash_equal(column: pa.Array) -> UInt64s | None:
    """Return the hashes of values of equal length; ``None`` if lengths differ, or the values are very long."""
    _, offset_buffer, data_buffer = column.buffers()
    offsets = frombuffer(offset_buffer, np.int32, len(column) + 1, column.offset * 4)
    length = int(offsets[1] - offsets[0])
    if not 0 < length <= _MAX_EQUAL or not (np.diff(offsets) == length).all():
        return None
    data = frombuffer(data_buffer, np.uint8, len(column) * length, int(offsets[0]))

    def part(at: int, size: int) -> UInt64s:
        """Return ``size`` bytes from ``at`` of each value as a number."""
        return np.ndarray((len(column),), f"<u{size}", data, at, (length,)).astype(np.uint64)

    def next_part(hashes: UInt64s, at: int, size: int) -> UInt64s:
        """Return the same, but a single number while the values so far, and this part, are equal in all rows."""
        found = part(at, size)
        is_constant = len(hashes) == 1 and found[0] == found[-1] and bool((found == found[0]).all())
        return found[:1] if is_constant else found

    # Values of equal length often have a common prefix, whose hash is computed only once.
    hashes, at = _stripes(part, length) if length >= _STRIPE else (np.full(1, _P5), 0)
    hashes += np.uint64(length)
    while at + 8 <= length:
        words = next_part(hashes, at, 8)
        hashes = _step(hashes, _round(words, np.empty_like(words)), 27, _P1, _P4)
        at += 8
    if at + 4 <= length:
        words = next_part(hashes, at, 4)
        words *= _P1
        hashes = _step(hashes, words, 23, _P2, _P3)
        at += 4
    for last in range(at, length):
        words = next_part(hashes, last, 1)
        words *= _P5
        hashes = _step(hashes, words, 11, _P1, None)
    return np.repeat(_mixed(hashes), len(column)) if len(hashes) < len(column) else _mixed(hashes)


def _step(hashes: UInt64s, words: UInt64s, bits: int, factor: np.uint64, term: np.uint64 | None) -> UInt64s:
    """Mix words into hashes, one into all or each into one; rotate, multiply and add. The words are overwritten."""
    words ^= hashes
    _rotate(words, bits, np.empty_like(words))
    words *= factor
    if term is not None:
        words += term
    return words


def _stripes(part: Callable[[int, int], UInt64s], length: int) -> tuple[UInt64s, int]:
    """Return the hashes of the complete stripes of values of equal length, and the end of the stripes."""
    end = length - length % _STRIPE
    lanes = []
    for lane, seed in enumerate(_LANE_SEEDS):
        state = part(8 * lane, 8) * _P2 + seed
        for at in range(8 * lane + _STRIPE, end, _STRIPE):
            state = _rotated(state, 31) * _P1 + part(at, 8) * _P2
        lanes.append(_rotated(state, 31) * _P1)
    hashes = sum(
        (_rotated(lane, bits) for lane, bits in zip(lanes[1:], (7, 12, 18), strict=True)), _rotated(lanes[0], 1)
    )
    for lane_state in lanes:
        hashes = (hashes ^ _round(lane_state, np.empty_like(lane_state))) * _P1 + _P4
    return hashes, end


def _round(words: UInt64s, rest: UInt64s) -> UInt64s:
    """Return the contribution of a word of 8 bytes, in place."""
    words *= _P2
    _rotate(words, 31, rest)
    words *= _P1
    return words


def _rotate(values: UInt64s, bits: int, rest: UInt64s) -> None:
    np.right_shift(values, np.uint64(64 - bits), out=rest)
    values <<= np.uint64(bits)
    values |= rest


def _hash_block(words: BytesWords) -> UInt64s:
    hashes = np.empty(len(words.lengths), np.uint64)
    is_short = words.lengths < _STRIPE
    short = np.flatnonzero(is_short)
    if len(short) < _FEW_ROWS:
        short, called = short[:0], np.arange(len(hashes))
    else:
        called = np.flatnonzero(~is_short)
    if short.size:
        hashes[short] = _hash_short(words if short.size == len(hashes) else words.take(short))
    if called.size:
        data = words.data.data.cast("B")
        starts, ends = words.starts[called], words.starts[called] + words.lengths[called]
        hash_of = xxhash.xxh64_intdigest
        found = [hash_of(data[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        hashes[called] = np.array(found, np.uint64)
    return hashes


def _hash_short(words: BytesWords) -> UInt64s:
    """Hash values of less than 32 bytes: pieces of 8 bytes, then of 4, then single bytes."""
    lengths = words.lengths
    hashes = lengths.view(np.uint64) + _P5
    at = words.starts.copy()
    for count in range(8, _STRIPE, 8):
        rows = _rows(lengths >= count)
        if rows is None:
            break
        loaded = words.loads(at[rows])
        hashes[rows] = _rotated(hashes[rows] ^ _round(loaded, np.empty_like(loaded)), 27) * _P1 + _P4
        at[rows] += 8
    rows = _rows((lengths & 4) != 0)
    if rows is not None:
        word = words.loads(at[rows]) & np.uint64(0xFFFFFFFF)
        hashes[rows] = _rotated(hashes[rows] ^ (word * _P1), 23) * _P2 + _P3
        at[rows] += 4
    for count in range(1, 4):
        rows = _rows((lengths & 3) >= count)
        if rows is None:
            break
        byte = words.loads(at[rows]) & np.uint64(0xFF)
        hashes[rows] = _rotated(hashes[rows] ^ (byte * _P5), 11) * _P1
        at[rows] += 1
    return _mixed(hashes)


def _mixed(hashes: UInt64s) -> UInt64s:
    """Apply the last step, in place."""
    shifted = np.empty_like(hashes)
    hashes ^= np.right_shift(hashes, np.uint64(33), out=shifted)
    hashes *= _P2
    hashes ^= np.right_shift(hashes, np.uint64(29), out=shifted)
    hashes *= _P3
    hashes ^= np.right_shift(hashes, np.uint64(32), out=shifted)
    return hashes


def _rows(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64] | slice | None:
    """Return the rows of a mask in a form that is cheap if it selects all or none."""
    count = int(np.count_nonzero(mask))
    if count == 0:
        return None
    return slice(None) if count == len(mask) else np.flatnonzero(mask)


def _rotated(values: UInt64s, bits: int) -> UInt64s:
    rotated: UInt64s = (values << np.uint64(bits)) | (values >> np.uint64(64 - bits))
    return rotated
