"""The iteration order of Java's hash sets and maps, and the hashes of Java's values.

In the reference, ``collect`` with ``distinct``, ``merge_map`` and nested tables with a key use a ``java.util.HashMap``,
so their results have the order of its buckets (Java ``HashMap``, ``Decimal``, ``Timestamp``, ``BinaryString``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.aggregates.buffers import Ints, bits, numbers, unscaled_ints, validity
from table_format.model.arrow_calls import frombuffer

UInt32s = npt.NDArray[np.uint32]

_FIRST_CAPACITY: Final = 16
_LONGEST_CHAIN: Final = 8
"""The maximum number of entries of a bucket; one more makes a small table grow, and a large one build a tree."""
_TREE_CAPACITY: Final = 64

_SEED: Final = np.uint32(42)
_C1: Final = np.uint32(0xCC9E2D51)
_C2: Final = np.uint32(0x1B873593)
_ADD: Final = np.uint32(0xE6546B64)
_INT: Final = 2**32


def spread_hashes(array: pa.Array) -> UInt32s | None:
    """Return the spread hash of each value in Java's hash maps; ``None`` for types with insertion order."""
    hashes = java_hashes(array)
    if hashes is None:
        return None
    hashes = np.where(validity(array), hashes, np.uint32(0))
    return spread(hashes)


def spread(hashes: UInt32s) -> UInt32s:
    """Mix the upper half of hashes into the lower half (Java ``HashMap.hash``).

    >>> spread(np.array([0x10001], np.uint32)).tolist()
    [65536]
    """
    return hashes ^ (hashes >> np.uint32(16))


def java_hashes(array: pa.Array) -> UInt32s | None:
    """Return ``hashCode`` of the values in the reference's representation; undefined at nulls."""
    arrow = array.type
    if pa.types.is_boolean(arrow):
        return np.where(bits(array), 1231, 1237).astype(np.uint32)
    if pa.types.is_string(arrow):
        return _text_hashes(array)
    if pa.types.is_decimal(arrow):
        values = [0 if v is None else _decimal_hash(v, arrow.scale) for v in unscaled_ints(array)]
        return np.array(values, np.uint32)
    if pa.types.is_timestamp(arrow):
        return _timestamp_hashes(numbers(array, np.int64), arrow.unit)
    if pa.types.is_floating(arrow):
        words = numbers(array, arrow.to_pandas_dtype())
        integer = np.int32 if arrow.bit_width == 32 else np.int64
        nan = 0x7FC00000 if arrow.bit_width == 32 else 0x7FF8000000000000
        return _folded(np.where(np.isnan(words), integer(nan), words.view(integer)))
    if pa.types.is_integer(arrow) or pa.types.is_date(arrow) or pa.types.is_time(arrow):
        return _folded(numbers(array, np.dtype(f"i{arrow.bit_width // 8}")))
    return None


def _folded(values: npt.NDArray[np.signedinteger]) -> UInt32s:
    if values.dtype.itemsize < 8:
        return values.astype(np.int32).view(np.uint32)
    words = values.view(np.uint64)
    return (words ^ (words >> np.uint64(32))).astype(np.uint32)


def _timestamp_hashes(values: Ints, unit: str) -> UInt32s:
    if unit == "s":
        values = values * 1000
    per_milli = {"s": 1, "ms": 1, "us": 1_000, "ns": 1_000_000}[unit]
    millis = values // per_milli
    nanos = (values - millis * per_milli) * (1_000_000 // per_milli)
    folded = (millis ^ (millis >> 32)).astype(np.uint32)
    return folded * np.uint32(31) + nanos.astype(np.uint32)


def _decimal_hash(unscaled: int, scale: int) -> int:
    """Return ``BigDecimal.hashCode``, computed from two halves for a long, otherwise from 32-bit digits."""
    size = abs(unscaled)
    digits = 0
    words = 2 if -(2**63) < unscaled < 2**63 else -(-size.bit_length() // 32)
    for shift in range(32 * (words - 1), -1, -32):
        digits = digits * 31 + ((size >> shift) & (_INT - 1))
    return (31 * (-digits if unscaled < 0 else digits) + scale) % _INT


def _text_hashes(array: pa.Array) -> UInt32s:
    """Return Murmur3 hashes; the last up to three bytes are mixed one by one, as signed numbers."""
    offsets = frombuffer(array.buffers()[1], np.int32, len(array) + 1, array.offset * 4).astype(np.int64)
    data = frombuffer(array.buffers()[2] or b"", np.uint8)
    lengths = np.diff(offsets)
    state = np.full(len(array), _SEED)
    for word in range(int(lengths.max(initial=0)) // 4):
        rows = np.flatnonzero(lengths >= 4 * word + 4)
        at = offsets[rows] + 4 * word
        pieces = [data[at + i].astype(np.uint32) << np.uint32(8 * i) for i in range(4)]
        state[rows] = _mixed(state[rows], pieces[0] | pieces[1] | pieces[2] | pieces[3])
    for tail in range(3):
        rows = np.flatnonzero(lengths % 4 > tail)
        at = offsets[rows] + lengths[rows] // 4 * 4 + tail
        state[rows] = _mixed(state[rows], data[at].view(np.int8).astype(np.int32).view(np.uint32))
    return _finished(state ^ lengths.astype(np.uint32))


def _mixed(state: UInt32s, word: UInt32s) -> UInt32s:
    state = state ^ _rotated(word * _C1, 15) * _C2
    return _rotated(state, 13) * np.uint32(5) + _ADD


def _rotated(words: UInt32s, count: int) -> UInt32s:
    return (words << np.uint32(count)) | (words >> np.uint32(32 - count))


def _finished(state: UInt32s) -> UInt32s:
    state = (state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return state ^ (state >> np.uint32(16))


class HashOrder:
    """The keys of a ``java.util.HashMap`` in its iteration order.

    Buckets that the reference converts to trees keep the insertion order here.

    >>> order = HashOrder([(key, key) for key in (5, 17, 33, 1)])
    >>> list(order)
    [17, 33, 1, 5]
    """

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._capacity = _FIRST_CAPACITY
        self._spreads: dict[int, int] = {}
        self._buckets: dict[int, list[int]] = {}
        for key, spread_hash in entries:
            self.add(key, spread_hash)

    def add(self, key: int, spread_hash: int) -> None:
        """Insert a key; an existing key keeps its place."""
        if key in self._spreads:
            return
        self._spreads[key] = spread_hash
        bucket = self._buckets.setdefault(spread_hash & (self._capacity - 1), [])
        bucket.append(key)
        if len(bucket) > _LONGEST_CHAIN and self._capacity < _TREE_CAPACITY:
            self._grow()
        if 4 * len(self._spreads) > 3 * self._capacity:
            self._grow()

    def compute(self, key: int, spread_hash: int) -> None:
        """Insert a key as ``computeIfAbsent`` does: first in its bucket, and the table grows one entry later."""
        if 4 * len(self._spreads) > 3 * self._capacity:
            self._grow()
        if key in self._spreads:
            return
        self._spreads[key] = spread_hash
        bucket = self._buckets.setdefault(spread_hash & (self._capacity - 1), [])
        bucket.insert(0, key)
        if len(bucket) >= _LONGEST_CHAIN and self._capacity < _TREE_CAPACITY:
            self._grow()

    def discard(self, key: int) -> None:
        """Remove a key; the table does not shrink."""
        spread_hash = self._spreads.pop(key, None)
        if spread_hash is not None:
            self._buckets[spread_hash & (self._capacity - 1)].remove(key)

    def _grow(self) -> None:
        keys = list(self)
        self._capacity *= 2
        self._buckets = {}
        for key in keys:
            self._buckets.setdefault(self._spreads[key] & (self._capacity - 1), []).append(key)

    def __iter__(self) -> Iterator[int]:
        for bucket in sorted(self._buckets):
            yield from self._buckets[bucket]


def order_in_groups(groups: Ints, spreads: UInt32s) -> Ints:
    """Return the iteration order of one hash map per group, for distinct keys in insertion order, group by group."""
    sizes = np.bincount(groups)
    capacity = np.full(len(sizes), _FIRST_CAPACITY, np.int64)
    while (small := 4 * sizes > 3 * capacity).any():
        capacity[small] *= 2
    buckets = spreads.astype(np.int64) & (capacity[groups] - 1)
    order = np.lexsort((buckets, groups))
    starts = np.cumsum(sizes) - sizes
    for group in _crowded_groups(groups, spreads, np.arange(len(groups)) - starts[groups]).tolist():
        span = range(int(starts[group]), int(starts[group] + sizes[group]))
        order[span.start : span.stop] = list(HashOrder((row, int(spreads[row])) for row in span))
    return order


def _crowded_groups(groups: Ints, spreads: UInt32s, position: Ints) -> Ints:
    """Return the groups whose table grew early because of a full bucket."""
    crowded = np.zeros(int(groups.max(initial=-1)) + 1, np.bool_)
    capacity = _FIRST_CAPACITY
    while capacity < _TREE_CAPACITY:
        early = np.flatnonzero(position <= capacity * 3 // 4)
        buckets = groups[early] * capacity + (spreads[early] & np.uint32(capacity - 1))
        found, chain = np.unique(buckets, return_counts=True)
        crowded[found[chain > _LONGEST_CHAIN] // capacity] = True
        capacity *= 2
    return np.flatnonzero(crowded)
