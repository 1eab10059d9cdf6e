"""Bit-sliced numbers: for each bit, the rows whose number has it (Java ``BitSliceIndexRoaringBitmap``).

Both the ``bsi`` index and the ``range-bitmap`` index compare and sum numbers slice by slice.
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
"""The number of bits of a word."""


def stored_slices(numbers: npt.NDArray[np.signedinteger[Any]], count: int) -> list[Parts]:
    """Return the stored slices of non-negative numbers, in parts; absent rows have the number 0.

    >>> [len(b"".join(slice)) for slice in stored_slices(np.array([5, 3]), 3)]
    [20, 18, 18]
    """
    # Numbers have no bits beyond their width.
    known = min(count, 8 * numbers.dtype.itemsize)
    return [*packed_slices(numbers, known).parts(), *[empty_parts()] * (count - known)]


def packed_slices(numbers: npt.NDArray[np.signedinteger[Any]], count: int) -> PackedSets:
    """Return, for each of the lowest ``count`` bits, the rows whose numbers have the bit.

    A block of rows is a matrix of bits, and its transpose has the rows of each bit. Many blocks are transposed at a
    time, by exchanging smaller and smaller squares of bits.
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
            # Squares outside the lowest ``count`` rows of the transpose need not be exchanged.
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
    """Return the sides of the squares to exchange, and a mask of the lower half of each pair in a word."""
    word, found, step = np.dtype(f"u{width // 8}").type, [], width // 2
    while step:
        found.append((step, word(sum(((1 << step) - 1) << at for at in range(0, width, 2 * step)))))
        step //= 2
    return tuple(found)


@dataclass(frozen=True, slots=True)
class BitSlices:
    """Numbers of ``count`` bits; the sets of ``slice_of`` and ``all_rows`` must not be changed."""

    count: int
    slice_of: Callable[[int], BitMap]
    all_rows: Callable[[], BitMap]

    def equal(self, number: int) -> BitMap:
        """Return the rows with this number, which must not be negative."""
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
        """Return the rows whose number is at least ``number``."""
        if number <= 0:
            return self.all_rows().copy()
        if number >> self.count:
            return BitMap()
        return self._above(number - 1)

    def at_most(self, number: int) -> BitMap:
        """Return the rows whose number is at most ``number``."""
        if number < 0:
            return BitMap()
        if number >> self.count:
            return self.all_rows().copy()
        return self.all_rows() - self._above(number)

    def _above(self, number: int) -> BitMap:
        """Return the rows whose number is greater, comparing bit by bit from the lowest.

        A row is greater if its bit is greater, or if the bit is equal and the row is greater in the lower bits. No row
        is greater in low bits that are all set, so they are skipped.
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
        """Return the sum of the numbers of these rows, or of all rows."""
        if rows is None:
            return sum(len(self.slice_of(bit)) << bit for bit in range(self.count))
        return sum(rows.intersection_cardinality(self.slice_of(bit)) << bit for bit in range(self.count))

    def best(self, rows: BitMap, count: int, *, largest: bool) -> BitMap:
        """Return the ``count`` of these rows with the largest or smallest numbers, or all if there are fewer.

        Of rows with equal numbers at the limit, any are returned. Each of the rows must have a number.
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
        """Return the number of each of these rows, in ascending order of the rows; 0 for rows without a number."""
        places = np.array(rows, np.int64)
        found = np.zeros(len(places), np.int64)
        for bit in range(self.count):
            having = np.array(self.slice_of(bit) & rows, np.int64)
            found[np.searchsorted(places, having)] |= np.int64(1 << bit)
        return found

    def smallest(self, rows: BitMap) -> int:
        """Return the smallest number of these rows. There must be at least one row, and each must have a number."""
        return self._extreme(rows, lambda candidates, slice_: candidates - slice_)

    def largest(self, rows: BitMap) -> int:
        """Return the largest number of these rows. There must be at least one row, and each must have a number."""
        return self._extreme(rows, lambda candidates, slice_: candidates & slice_)

    def _extreme(self, rows: BitMap, preferred: Callable[[BitMap, BitMap], BitMap]) -> int:
        number = 0
        for bit in reversed(range(self.count)):
            slice_ = self.slice_of(bit)
            rows = preferred(rows, slice_) or rows
            number |= int(rows.min() in slice_) << bit
        return number


def sliced(slices: Sequence[BitMap], all_rows: BitMap) -> BitSlices:
    """Return the numbers of slices that are already decoded."""
    return BitSlices(len(slices), slices.__getitem__, lambda: all_rows)
