"""Sorts many 64-bit words by counting their digits instead of comparing them."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from table_format.model.arrow_calls import arrow_array

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64] | npt.NDArray[np.uint32] | npt.NDArray[np.uint16]

_DIGIT_BITS: Final = 12
"""The range up to which Arrow sorts numbers by counting; it compares those of a larger range."""
_DIGIT: Final = np.uint16((1 << _DIGIT_BITS) - 1)
_SPARE_BITS: Final = 6
"""Additional bits: of random words sorted by the bits of their count and these, about 1 in 64 ties with another."""


def word_order(words: Words) -> Ints:
    """Return the positions of words in ascending order; equal words keep their order.

    >>> word_order(np.array([3, 1, 2, 1], np.uint64)).tolist()
    [1, 3, 2, 0]
    """
    if not len(words):
        return np.empty(0, np.int64)
    bits = int(words.max()).bit_length()
    passes = max(1, -(-min(bits, len(words).bit_length() + _SPARE_BITS) // _DIGIT_BITS))
    lowest = max(0, bits - passes * _DIGIT_BITS)
    order = _by_digit(words, lowest, None)
    for number in range(1, passes):
        order = _by_digit(words, lowest + number * _DIGIT_BITS, order)
    return _with_ties_ordered(words, order, lowest) if lowest else order


def _by_digit(words: Words, at: int, order: Ints | None) -> Ints:
    # The cast drops the bits beyond 16 before the others are masked, because two-byte arrays are much faster.
    digits = (words >> words.dtype.type(at) if at else words).astype(np.uint16)
    digits &= _DIGIT
    found: Ints = pc.array_sort_indices(arrow_array(digits if order is None else digits[order])).to_numpy()
    found = found.view(np.int64)
    return found if order is None else order[found]


def _with_ties_ordered(words: Words, order: Ints, lowest: int) -> Ints:
    """Order words that agree in all bits from ``lowest`` on, which are adjacent, by all bits."""
    ordered = words[order] >> words.dtype.type(lowest)
    is_next_equal = np.append(ordered[1:] == ordered[:-1], False)
    if is_next_equal.any():
        order = order.copy()  # Arrow's array must not be changed.
        is_tied = is_next_equal | np.append(False, is_next_equal[:-1])
        tied = order[is_tied]
        order[is_tied] = tied[np.argsort(words[tied], kind="stable")]
    return order
