"""Bloom filters as they lie in files (format chapter 09, section 3; Java ``BloomFilterFileIndex``, ``BloomFilter64``).

The number of hash functions (big endian), then the bits. Bit positions are Java ``int`` arithmetic on the two halves of
the 64-bit hash: sums wrap around, and negative ones are inverted. Nulls are not part of a filter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.errors import BadEncoding
from table_format.kernels.file_index.fast_hash import fast_hashes
from table_format.kernels.row_words import UInt64s
from table_format.model.file_index import BLOOM_FILTER as IDENTIFIER
from table_format.model.file_index import (
    DEFAULT_FPP,
    DEFAULT_ITEMS,
    bloom_size,
    has_fast_hash,
    keeps_fast_hash,
)
from table_format.model.types import DataType

_COUNT_BYTES: Final = 4
_MAX_HASH_FUNCTIONS: Final = 4096
"""More than any rate above 1e-1000 asks for."""

_BLOCK_HASHES: Final = 65_536


class BloomBuilder:
    """The filter of one column while its values come in."""

    def __init__(self, data_type: DataType, *, items: int = DEFAULT_ITEMS, fpp: float = DEFAULT_FPP) -> None:
        """A filter for ``items`` distinct values.

        Raises:
            InvalidData: that would take more bits than a filter can have.
        """
        bits, self._hash_count = bloom_size(items, fpp)
        self._type = data_type
        self._bits = np.zeros(bits // 8, np.uint8)

    def add(self, column: pa.Array) -> None:
        hashes = fast_hashes(column, self._type)
        for start in range(0, len(hashes), _BLOCK_HASHES):
            for position in _positions(hashes[start : start + _BLOCK_HASHES], self._hash_count, 8 * len(self._bits)):
                np.bitwise_or.at(self._bits, position >> 3, _BIT[position & 7])

    def finish(self) -> bytes:
        return self._hash_count.to_bytes(_COUNT_BYTES, "big") + self._bits.tobytes()


_BIT: Final = (1 << np.arange(8)).astype(np.uint8)


class BloomQuestion:
    """Hashes that filters are asked for; of filters of one size the bits to look at are worked out once."""

    def __init__(self, hashes: UInt64s) -> None:
        self._hashes = hashes
        self._places: dict[tuple[int, int], tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]] = {}

    def places(self, hash_count: int, bits: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        """The byte and the bit in it, for each hash function and hash."""
        found = self._places.get((hash_count, bits))
        if found is None:
            positions = np.array(_positions(self._hashes, hash_count, bits))
            found = self._places[hash_count, bits] = positions >> 3, _BIT[positions & 7]
        return found


@dataclass(frozen=True, slots=True)
class BloomReader:
    """A filter that is asked."""

    hash_count: int
    bits: npt.NDArray[np.uint8]

    def may_equal(self, values: BloomQuestion) -> npt.NDArray[np.bool_]:
        places, masks = values.places(self.hash_count, 8 * len(self.bits))
        found: npt.NDArray[np.bool_] = ((self.bits[places] & masks) != 0).all(axis=0)
        return found


@dataclass(frozen=True, slots=True)
class BloomFilters:
    """The type of index."""

    identifier: str = IDENTIFIER

    def supports(self, data_type: DataType) -> bool:
        return has_fast_hash(data_type)

    def agrees(self, stored: DataType, wanted: DataType) -> bool:
        return keeps_fast_hash(stored, wanted)

    def builder(self, data_type: DataType, settings: Mapping[str, object]) -> BloomBuilder:
        items, fpp = settings.get("items", DEFAULT_ITEMS), settings.get("fpp", DEFAULT_FPP)
        assert isinstance(items, int) and isinstance(fpp, float)  # noqa: S101, PT018 - as the options declare them
        return BloomBuilder(data_type, items=items, fpp=fpp)

    def prepared(self, values: pa.Array, data_type: DataType) -> BloomQuestion:
        return BloomQuestion(fast_hashes(values, data_type))

    def reader(self, payload: bytes, *, path: str) -> BloomReader:
        hash_count = int.from_bytes(payload[:_COUNT_BYTES], "big")
        if len(payload) <= _COUNT_BYTES or not 0 < hash_count <= _MAX_HASH_FUNCTIONS:
            raise BadEncoding(
                path, f"a bloom filter of {len(payload)} bytes and {hash_count} hash functions cannot be one"
            )
        return BloomReader(hash_count, np.frombuffer(payload, np.uint8, offset=_COUNT_BYTES))


def _positions(hashes: UInt64s, count: int, bits: int) -> list[npt.NDArray[np.int32]]:
    """The bits of each hash, one array for each hash function."""
    halves = hashes.view(np.int32).reshape(-1, 2)
    combined, step = halves[:, 0].copy(), halves[:, 1].copy()
    found = []
    for _ in range(count):
        combined += step
        # The sign, spread over all bits, inverts what is negative.
        position = combined ^ (combined >> 31)
        position %= np.int32(bits)
        found.append(position)
    return found
