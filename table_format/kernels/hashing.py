"""Bucket hashes of whole columns (format chapter 05, 4 and 5; Java ``BinaryRow.hashCode``, ``MurmurHashUtils``).

The hash is Murmur3 over the bytes of the BinaryRow of a bucket key. The rows are never built: the 4-byte words of all
rows of a cache-sized block are mixed at once, column by column, in their order in the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.errors import InvalidData
from table_format.kernels.row_words import (
    INLINE_BYTES,
    BytesWords,
    ColumnWords,
    PointerWords,
    SlotWords,
    UInt32s,
    UInt64s,
    Words,
    column_words,
)
from table_format.model.types import DataType

_BLOCK_ROWS: Final = 16_384
_SEED: Final = 42
_C1: Final = 0xCC9E2D51
_C2: Final = 0x1B873593
_ADD: Final = 0xE6546B64
_FINAL_1: Final = 0x85EBCA6B
_FINAL_2: Final = 0xC2B2AE35
_MASK: Final = 0xFFFFFFFF
_ONE: Final = np.uint64(1)
_THREE: Final = np.uint64(3)
_FEW_ROWS: Final = 16
"""With fewer remaining rows, a loop over words takes less time than array operations on each word."""


def row_hashes(types: Sequence[DataType], columns: Sequence[pa.Array]) -> npt.NDArray[np.int32]:
    """Return the hash of each row of a bucket key, or of a partition.

    >>> from table_format.model.types import IntType, VarCharType
    >>> row_hashes([IntType(), VarCharType()], [pa.array([1], pa.int32()), pa.array(["hello world"])]).tolist()
    [639486570]

    Requires at least one column, arrays of ``arrow_type`` of their types, and equal lengths.

    Raises:
        InvalidData: a column has a wrong Arrow type or length, or is nested.
    """
    if not columns or len(types) != len(columns) or len({len(c) for c in columns}) != 1:
        message = f"expected {len(types)} columns of equal length, found lengths {[len(c) for c in columns]}"
        raise InvalidData(message)
    row_count = len(columns[0])
    hashes = np.empty(row_count, np.uint32)
    for start in range(0, row_count, _BLOCK_ROWS):
        block = [column_words(t, c.slice(start, _BLOCK_ROWS)) for t, c in zip(types, columns, strict=True)]
        hashes[start : start + _BLOCK_ROWS] = _hash_block(block)
    return hashes.view(np.int32)


def fixed_buckets(hashes: npt.NDArray[np.int32], bucket_count: int) -> npt.NDArray[np.int32]:
    """Return the bucket of each hash: the absolute value of the remainder with the sign of the hash.

    >>> fixed_buckets(np.array([-300363099, 1465514398], np.int32), 7).tolist()
    [1, 5]
    """
    return np.abs(np.fmod(hashes, np.int32(bucket_count)))


def _hash_block(columns: Sequence[ColumnWords]) -> UInt32s:
    state: Words = _SEED
    header = _header_words(columns)
    for word in header:
        state = _mix(state, word)
    offset: int | npt.NDArray[np.int64] = 4 * len(header) + 8 * len(columns)
    for column in columns:
        low, high, size = _slot(column, offset)
        state = _mix(_mix(state, low), high)
        offset = offset + size
    for column in columns:
        state = _mix_variable(state, column)
    return _finish(state, offset)


def _header_words(columns: Sequence[ColumnWords]) -> list[Words]:
    """Return the row kind and null bits: bit ``i + 8`` is set if column ``i`` is null."""
    words: list[Words] = [0] * ((len(columns) + 8 + 63) // 64 * 2)
    for i, column in enumerate(columns):
        if column.nulls is not None:
            word, bit = divmod(i + 8, 32)
            words[word] = np.bitwise_or(column.nulls * np.uint32(1 << bit), words[word], dtype=np.uint32)
    return words


def _slot(column: ColumnWords, offset: int | npt.NDArray[np.int64]) -> tuple[Words, Words, int | npt.NDArray[np.int64]]:
    """Return both words of a column's slot, and the size of its variable part in bytes."""
    match column:
        case SlotWords(low=low, high=high):
            return low, high, 0
        case PointerWords(head=head, variable=variable):
            return head, _as_words(offset), 4 * len(variable)
    if column.min_chunks:
        return column.lengths.astype(np.uint32), _as_words(offset), column.chunks << 3
    slots = _inline_slots(column)
    if column.max_chunks:
        pointers = column.lengths.view(np.uint64) | np.left_shift(offset, 32, dtype=np.int64).view(np.uint64)
        slots = np.where(column.chunks > 0, pointers, slots)
    pairs = slots.view(np.uint32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1], column.chunks << 3


def _inline_slots(column: BytesWords) -> UInt64s:
    """Return the value with its marked length; only valid for values that are short enough."""
    lengths = column.lengths.view(np.uint64)
    kept = _low_bytes(np.minimum(lengths, np.uint64(INLINE_BYTES)))
    slots = (column.loads(column.starts) & kept) | ((lengths | np.uint64(0x80)) << np.uint64(56))
    return slots if column.nulls is None else np.where(column.nulls, np.uint64(0), slots)


def _low_bytes(count: UInt64s) -> UInt64s:
    """Return a mask of the lowest ``count`` bytes, fewer than 8."""
    return (_ONE << (count << _THREE)) - _ONE


def _as_words(offset: int | npt.NDArray[np.int64]) -> Words:
    return offset if isinstance(offset, int) else offset.astype(np.uint32)


def _mix(state: Words, word: Words) -> Words:
    if isinstance(state, int) and isinstance(word, int):
        return _mixed_int(state ^ _scrambled_int(word))
    scrambled = _scrambled_int(word) if isinstance(word, int) else _scrambled(word)
    return _mixed(np.bitwise_xor(state, scrambled, dtype=np.uint32))


def _scrambled_int(word: int) -> int:
    word = word * _C1 & _MASK
    return (word << 15 | word >> 17) * _C2 & _MASK


def _mixed_int(mixed: int) -> int:
    return (mixed << 13 & _MASK | mixed >> 19) * 5 + _ADD & _MASK


def _scrambled(word: UInt32s) -> UInt32s:
    word = word * np.uint32(_C1)
    high = word >> np.uint32(17)
    word <<= np.uint32(15)
    word |= high
    word *= np.uint32(_C2)
    return word


def _mixed(mixed: UInt32s) -> UInt32s:
    """Complete a step, in place."""
    high = mixed >> np.uint32(19)
    mixed <<= np.uint32(13)
    mixed |= high
    mixed *= np.uint32(5)
    mixed += np.uint32(_ADD)
    return mixed


def _finish(state: Words, size: int | npt.NDArray[np.int64]) -> UInt32s:
    mixed: UInt32s = np.bitwise_xor(state, _as_words(size), dtype=np.uint32)
    mixed ^= mixed >> np.uint32(16)
    mixed *= np.uint32(_FINAL_1)
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(_FINAL_2)
    mixed ^= mixed >> np.uint32(16)
    return mixed


def _mix_variable(state: Words, column: ColumnWords) -> Words:
    match column:
        case PointerWords(variable=variable):
            for word in variable:
                state = _mix(state, word)
        case BytesWords(max_chunks=longest) if longest:
            return _mix_bytes(np.broadcast_to(np.uint32(state), len(column.chunks)).copy(), column)
    return state


def _mix_bytes(state: UInt32s, column: BytesWords) -> UInt32s:
    """Mix values of different lengths: sort them, longest first, so that step ``n`` applies to a prefix of the rows."""
    if column.min_chunks == column.max_chunks:
        return _mix_sorted(state, column)
    kept_small = (column.max_chunks - column.chunks).astype(np.min_scalar_type(column.max_chunks))
    order = np.argsort(kept_small, kind="stable")  # one or two bytes: a radix sort
    state[order] = _mix_sorted(state[order], column.take(order))
    return state


def _mix_sorted(state: UInt32s, column: BytesWords) -> UInt32s:
    counts = np.bincount(column.chunks)
    with_more = len(state) - np.cumsum(counts)  # at n: the number of rows with more than n chunks
    for n in range(column.max_chunks):
        active, kept = int(with_more[n]), int(with_more[n + 1])
        if active < _FEW_ROWS:
            _mix_few(state, column, active, n)
            break
        words = column.loads(column.starts[:active] + 8 * n)
        rest = column.lengths[kept:active].view(np.uint64) & np.uint64(7)
        words[kept:] &= np.where(rest == 0, ~np.uint64(0), _low_bytes(rest))
        pairs = words.view(np.uint32).reshape(-1, 2)
        state[:active] = _mix(_mix(state[:active], pairs[:, 0]), pairs[:, 1])
    return state


def _mix_few(state: UInt32s, column: BytesWords, rows: int, done: int) -> None:
    """Mix the rest of the first rows, of which ``done`` chunks are already mixed, word by word."""
    content = column.data.view(np.uint8)
    for row in range(rows):
        padded = np.zeros(8 * (int(column.chunks[row]) - done), np.uint8)
        start, length = int(column.starts[row]) + 8 * done, int(column.lengths[row]) - 8 * done
        padded[:length] = content[start : start + length]
        words = padded.view(np.uint32)
        mixed = int(state[row])
        for word in _scrambled(words).tolist():
            mixed = _mixed_int(mixed ^ word)
        state[row] = mixed
