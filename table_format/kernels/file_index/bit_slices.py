"""Bit-sliced numbers: for each bit the rows whose number has it (Java ``BitSliceIndexRoaringBitmap``).

Both the ``bsi`` index and the ``range-bitmap`` index compare and add up numbers slice by slice, whatever lies around
the slices in their files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from table_format.kernels.file_index.row_bitmaps import Mask, stored_mask


def stored_slices(numbers: npt.NDArray[np.int64], present: Mask, count: int) -> list[bytes]:
    """The stored slices of numbers that are not negative; those of absent rows do not count.

    >>> [len(slice) for slice in stored_slices(np.array([5, 3]), np.array([True, True]), 3)]
    [20, 18, 18]
    """
    numbers = np.where(present, numbers, 0).astype("<i8", copy=False)
    # Byte by byte: masks of single bytes are much cheaper than shifts of whole numbers.
    parts = numbers.view(np.uint8).reshape(-1, 8)
    slices = []
    for first_bit in range(0, count, 8):
        part = np.ascontiguousarray(parts[:, first_bit // 8])
        slices += [stored_mask(part & np.uint8(1 << bit)) for bit in range(min(8, count - first_bit))]
    return slices


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
