"""Bloom filters of data files (format chapter 09, section 3; Java ``BloomFilterFileIndex``, ``BloomFilter64``).

The stored form is the number of hash functions (big-endian), followed by the bits. Bit positions are computed with Java
``int`` arithmetic from the two halves of the 64-bit hash: sums wrap around, and negative ones are inverted. Nulls are
not part of a filter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.counted import counted
from table_format.errors import BadEncoding
from table_format.kernels.file_index.conditions import Condition, SoughtValues
from table_format.kernels.file_index.fast_hash import fast_hashes
from table_format.kernels.file_index.payload import Payload
from table_format.kernels.file_index.results import SKIP, UNKNOWN, IndexResult
from table_format.kernels.row_words import UInt64s
from table_format.model.file_index import (
    DEFAULT_FPP,
    DEFAULT_ITEMS,
    bloom_size,
    keeps_fast_hash,
)
from table_format.model.types import DataType
from table_format.options.index_types import BLOOM_FILTERS, IndexDeclaration

_COUNT_BYTES: Final = 4
_MAX_HASH_FUNCTIONS: Final = 4096
"""The maximum number of hash functions, which suffices for every rate above 1e-1000."""

_BLOCK_HASHES: Final = 65536

_FEW_VALUES: Final = 8

_MAX_FLAGS: Final = 1 << 25
"""Filters with at most this many bits are built with one byte per bit."""


class BloomBuilder:
    """Builds the filter of one column."""

    def __init__(self, data_type: DataType, *, items: int = DEFAULT_ITEMS, fpp: float = DEFAULT_FPP) -> None:
        """Create a filter for ``items`` distinct values.

        Raises:
            InvalidData: the filter would need more bits than the maximum.
        """
        bits, self._hash_count = bloom_size(items, fpp)
        self._type = data_type
        self._bit_count = bits
        # Use one byte for each bit if the filter is not too large, because setting bytes is much faster.
        self._flags = np.zeros(bits, np.bool_) if bits <= _MAX_FLAGS else None
        self._bits = np.zeros(0 if self._flags is not None else bits // 8, np.uint8)

    def add(self, column: pa.Array) -> None:
        """Add the values of the next rows, an array of the column's ``arrow_type`` with nulls."""
        hashes = fast_hashes(column, self._type)
        for start in range(0, len(hashes), _BLOCK_HASHES):
            for position in _positions(hashes[start : start + _BLOCK_HASHES], self._hash_count, self._bit_count):
                if self._flags is not None:
                    self._flags[position.astype(np.intp)] = True
                else:
                    np.bitwise_or.at(self._bits, position >> 3, _BIT[position & 7])

    def finish(self) -> bytes:
        """Return the bytes of the filter."""
        bits = self._bits if self._flags is None else np.packbits(self._flags, bitorder="little")
        return self._hash_count.to_bytes(_COUNT_BYTES, "big") + bits.tobytes()


_BIT: Final = (1 << np.arange(8)).astype(np.uint8)


class SoughtHashes:
    """The hashes of sought values; bit positions are computed only once for filters of the same size."""

    def __init__(self, values: SoughtValues) -> None:
        self._hashes = fast_hashes(values.values, values.data_type)
        self._places: dict[tuple[int, int], tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]] = {}
        self._of_few: dict[tuple[int, int], list[list[tuple[int, int]]]] = {}

    @property
    def are_few(self) -> bool:
        """Whether there are so few values that looking them up one by one is faster than array operations."""
        return len(self._hashes) <= _FEW_VALUES

    def places(self, hash_count: int, bits: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        """Return the byte position and the bit in the byte, for each hash function and hash."""
        found = self._places.get((hash_count, bits))
        if found is None:
            positions = np.array([each.copy() for each in _positions(self._hashes, hash_count, bits)])
            found = self._places[hash_count, bits] = positions >> 3, _BIT[positions & 7]
        return found

    def places_of_each(self, hash_count: int, bits: int) -> list[list[tuple[int, int]]]:
        """Return the same as ``places``, separately for each hash."""
        found = self._of_few.get((hash_count, bits))
        if found is None:
            bytes_, masks = (each.T.tolist() for each in self.places(hash_count, bits))
            found = [list(zip(*pair, strict=True)) for pair in zip(bytes_, masks, strict=True)]
            self._of_few[hash_count, bits] = found
        return found


@dataclass(frozen=True, slots=True)
class BloomReader:
    """Looks up values in a filter; ``data`` are its bits."""

    hash_count: int
    data: memoryview

    def evaluate(self, condition: Condition) -> IndexResult:
        """Return ``Skip`` if none of the values of an equality or an IN can be in the file."""
        if condition.values is None:
            return UNKNOWN
        sought = condition.values.prepared(SoughtHashes)
        if not sought.are_few:
            return UNKNOWN if self.may_equal(condition.values).any() else SKIP
        data = self.data
        for places in sought.places_of_each(self.hash_count, 8 * len(data)):
            if all(data[byte] & mask for byte, mask in places):
                return UNKNOWN
        return SKIP

    def may_equal(self, values: SoughtValues) -> npt.NDArray[np.bool_]:
        """Return, for each of many values, whether a row of the file may be equal to it."""
        places, masks = values.prepared(SoughtHashes).places(self.hash_count, 8 * len(self.data))
        bits = np.frombuffer(self.data, np.uint8)
        found: npt.NDArray[np.bool_] = ((bits[places] & masks) != 0).all(axis=0)
        return found


@dataclass(frozen=True, slots=True)
class BloomFilters:
    """The index type ``bloom-filter``."""

    declaration: IndexDeclaration = BLOOM_FILTERS
    finds_rows: bool = False

    def agrees(self, stored: DataType, wanted: DataType) -> bool:
        """Return whether an index on values of type ``stored`` is valid for the same values read as ``wanted``."""
        return keeps_fast_hash(stored, wanted)

    def builder(self, data_type: DataType, settings: Mapping[str, object]) -> BloomBuilder:
        """Start the index of a column; ``settings`` are its options by name."""
        items, fpp = self._size(settings)
        return BloomBuilder(data_type, items=items, fpp=fpp)

    def has_settings(self, payload: Payload, data_type: DataType, settings: Mapping[str, object]) -> bool:  # noqa: ARG002
        """Return whether a filter has the size and number of hash functions of these settings.

        Raises:
            BadEncoding: the bytes are not a filter.
        """
        bits, hash_count = bloom_size(*self._size(settings))
        has_size = payload.length == _COUNT_BYTES + bits // 8
        return has_size and int.from_bytes(payload.read(0, _COUNT_BYTES), "big") == hash_count

    def _size(self, settings: Mapping[str, object]) -> tuple[int, float]:
        settings = self.declaration.with_defaults(settings)
        items, fpp = settings["items"], settings["fpp"]
        assert isinstance(items, int) and isinstance(fpp, float)  # noqa: S101, PT018 - as the options declare them
        return items, fpp

    def reader(self, payload: Payload, data_type: DataType, row_count: int) -> BloomReader:  # noqa: ARG002
        """Open the index of a column.

        Raises:
            BadEncoding: the bytes are not a filter.
        """
        return bloom_reader(payload.read(0, payload.length), payload.path)


def bloom_reader(data: bytes, path: str) -> BloomReader:
    """Return a reader of the filter in these bytes.

    Raises:
        BadEncoding: the bytes are not a filter.
    """
    hash_count = int.from_bytes(data[:_COUNT_BYTES], "big")
    if len(data) <= _COUNT_BYTES or not 0 < hash_count <= _MAX_HASH_FUNCTIONS:
        message = f"a bloom filter cannot have {len(data)} bytes and {counted(hash_count, 'hash function')}"
        raise BadEncoding(path, message)
    return BloomReader(hash_count, memoryview(data)[_COUNT_BYTES:])


def _positions(hashes: UInt64s, count: int, bits: int) -> Iterator[npt.NDArray[np.int32]]:
    """Yield the bit positions of each hash, one array for each hash function; the next one overwrites it."""
    halves = hashes.view(np.int32).reshape(-1, 2)
    combined, step = halves[:, 0].copy(), halves[:, 1].copy()
    position, multiple = np.empty_like(combined), np.empty_like(combined)
    for _ in range(count):
        combined += step
        # The sign, extended to all bits, inverts negative sums.
        np.right_shift(combined, 31, out=position)
        position ^= combined
        # Compute the remainder with a division, which numpy vectorises; its remainder operation is not vectorised.
        np.floor_divide(position.view(np.uint32), np.uint32(bits), out=multiple.view(np.uint32))
        multiple *= np.int32(bits)
        position -= multiple
        yield position
