"""Bit-sliced numbers: for each bit the rows whose number has it (Java ``BitSliceIndexRoaringBitmap``).

Both the ``bsi`` index and the ``range-bitmap`` index compare and add up numbers slice by slice, whatever lies around
the slices in their files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from table_format.kernels.file_index.row_bitmaps import CHUNK_ROWS, PackedSets, Parts, empty_parts

_WIDTHS: Final = (8, 16, 32, 64)
"""Bits of words."""


def stored_slices(numbers: npt.NDArray[np.signedinteger[Any]], count: int) -> list[Parts]:
    """The stored slices of numbers that are not negative, in parts; absent rows have the number 0.

    >>> [len(b"".join(slice)) for slice in stored_slices(np.array([5, 3]), 3)]
    [20, 18, 18]
    """
    # No number has bits beyond its width.
    known = min(count, 8 * numbers.dtype.itemsize)
    return [*packed_slices(numbers, known).parts(), *[empty_parts()] * (count - known)]


def packed_slices(numbers: npt.NDArray[np.signedinteger[Any]], count: int) -> PackedSets:
    """For each of the lowest bits of numbers the rows that have it.

    A block of rows is a matrix of bits, and its transpose has the rows of each bit. Words as wide as the numbers are
    transposed, many at a time, by exchanging ever smaller squares of bits.
    """
    width = next(width for width in _WIDTHS if count <= width)
    word = np.dtype(f"<u{width // 8}")
    columns = CHUNK_ROWS // width
    packed = PackedSets(count, len(numbers))
    matrix = np.empty((width, columns), word)
    exchanged, shifted = np.empty((2, width // 2 * columns), word)
    for chunk in range(packed.chunk_count):
        rows = numbers[chunk * CHUNK_ROWS : (chunk + 1) * CHUNK_ROWS].astype(word)
        if len(rows) < CHUNK_ROWS:
            rows = np.append(rows, np.zeros(CHUNK_ROWS - len(rows), word))
        matrix[:] = rows.reshape(columns, width).T
        for step, mask in _squares(width):
            # Squares below the lowest ``count`` rows of the transpose are left as they are.
            halves = matrix.reshape(-1, 2, step, columns)[: -(-count // (2 * step))]
            low, high = halves[:, 0], halves[:, 1]
            change, moved = (room[: low.size].reshape(low.shape) for room in (exchanged, shifted))
            np.right_shift(low, step, out=change)
            change ^= high
            change &= mask
            high ^= change
            np.left_shift(change, step, out=moved)
            low ^= moved
        packed.put(chunk, matrix[:count].view(np.uint64))
    return packed


@cache
def _squares(width: int) -> tuple[tuple[int, np.unsignedinteger[Any]], ...]:
    """Sides of the squares of bits that are exchanged, and the lower half of every pair of them in a word."""
    word, found, step = np.dtype(f"u{width // 8}").type, [], width // 2
    while step:
        found.append((step, word(sum(((1 << step) - 1) << at for at in range(0, width, 2 * step)))))
        step //= 2
    return tuple(found)


@dataclass(frozen=True, slots=True)
class BitSlices:
    """Numbers of ``count`` bits; ``slice_of`` and ``all_rows`` give sets that may not be changed."""

    count: int
    slice_of: Callable[[int], BitMap]
    all_rows: Callable[[], BitMap]

    def equal(self, number: int) -> BitMap:
        """The rows with that number, which is not negative."""
        if number >> self.count:
            return BitMap()
        found = self.all_rows().copy()
        for bit in range(self.count):
            if number >> bit & 1:
                found &= self.slice_of(bit)
            else:
                found -= self.slice_of(bit)
            if not found:
                break
        return found

    def at_least(self, number: int) -> BitMap:
        """The rows whose number is so large or larger."""
        if number <= 0:
            return self.all_rows().copy()
        if number >> self.count:
            return BitMap()
        return self._above(number - 1)

    def at_most(self, number: int) -> BitMap:
        """The rows whose number is so small or smaller."""
        if number < 0:
            return BitMap()
        if number >> self.count:
            return self.all_rows().copy()
        return self.all_rows() - self._above(number)

    def _above(self, number: int) -> BitMap:
        """Bit by bit from the lowest: a row is above with a bit more, or with the same bit and above in the lower ones.

        Low bits of ``number`` that are all set are above nothing, so the walk begins behind them.
        """
        start = 0
        while number >> start & 1:
            start += 1
        found = BitMap()
        for bit in range(start, self.count):
            if number >> bit & 1:
                found &= self.slice_of(bit)
            else:
                found |= self.slice_of(bit)
        return found & self.all_rows()

    def total(self, rows: BitMap | None = None) -> int:
        """The sum of the numbers of these rows; of all rows without them."""
        if rows is None:
            return sum(len(self.slice_of(bit)) << bit for bit in range(self.count))
        return sum(rows.intersection_cardinality(self.slice_of(bit)) << bit for bit in range(self.count))

    def best(self, rows: BitMap, count: int, *, largest: bool) -> BitMap:
        """Those ``count`` of these rows that have the largest numbers, or the smallest; all where there are not more.

        Of rows with the last number, any are taken. Each of the rows has a number.
        """
        chosen, rest = BitMap(), rows
        for bit in reversed(range(self.count)):
            left = count - len(chosen)
            if not left or not rest:
                break
            slice_ = self.slice_of(bit)
            better = rest & slice_ if largest else rest - slice_
            if len(better) > left:
                rest = better
            else:
                chosen |= better
                rest = rest - better
        return chosen | rest[: count - len(chosen)]

    def numbers(self, rows: BitMap) -> npt.NDArray[np.int64]:
        """The number of each of these rows, in ascending order of the rows; 0 where a row has none."""
        places = np.array(rows, np.int64)
        found = np.zeros(len(places), np.int64)
        for bit in range(self.count):
            having = np.array(self.slice_of(bit) & rows, np.int64)
            found[np.searchsorted(places, having)] |= np.int64(1 << bit)
        return found

    def smallest(self, rows: BitMap) -> int:
        """The smallest number of these rows, of which there is at least one and each has a number."""
        return self._extreme(rows, lambda candidates, slice_: candidates - slice_)

    def largest(self, rows: BitMap) -> int:
        """The largest number of these rows, of which there is at least one and each has a number."""
        return self._extreme(rows, lambda candidates, slice_: candidates & slice_)

    def _extreme(self, rows: BitMap, preferred: Callable[[BitMap, BitMap], BitMap]) -> int:
        number = 0
        for bit in reversed(range(self.count)):
            slice_ = self.slice_of(bit)
            rows = preferred(rows, slice_) or rows
            number |= int(rows.min() in slice_) << bit
        return number


def sliced(slices: Sequence[BitMap], all_rows: BitMap) -> BitSlices:
    """Slices that are decoded already."""
    return BitSlices(len(slices), slices.__getitem__, lambda: all_rows)
