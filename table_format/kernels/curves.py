"""Space-filling curves: rows with near positions on a curve have near values in each of several columns.

Java ``ZIndexer``, ``ZOrderByteUtils``, ``HilbertIndexer``. A column is converted to unsigned numbers of the same order,
as big-endian bytes. The z-order interleaves their bits; the Hilbert curve first rotates and mirrors them (J. Skilling,
*Programming the Hilbert curve*, 2004). The reference uses the leading 8 bytes of each value unchanged, so a column of
large or unevenly distributed numbers dominates the others. Here, a number begins with its rank in a sample of the
column, and the common prefix of strings is removed, so that each bit halves the rows. Null has the position of the
smallest value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.compiled import UInt64Array
from table_format.kernels.key_words import byte_ranges, integers, is_bytes, words_at

Bytes: TypeAlias = npt.NDArray[np.uint8]
"""One row of bytes for each row of the column, which are compared as unsigned bytes."""

WORD_BYTES: Final = 8
SAMPLE_ROWS: Final = 4096
"""The minimum number of values in the sample of a column, if it has that many."""

_SIGN: Final = np.uint64(1 << 63)
_BLOCK_ROWS: Final = 8_192
"""The number of rows that are processed at once, so that their axes fit into the cache."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of the values of a column: distinct ascending numbers that divide them.

    The first ``prefix`` bytes of all strings or binaries are equal.
    """

    split_points: UInt64Array
    prefix: int = 0


class Sample:
    """A sample of the values of a column: every n-th row, where n grows with the number of rows."""

    def __init__(self) -> None:
        self._values: list[pa.Array] = []
        self._size = 0
        self._step = 1
        self._seen = 0
        self._ends: tuple[bytes, bytes] | None = None

    def add(self, array: pa.Array) -> None:
        """Add values of the column."""
        values = array.drop_null()
        if not len(values):
            return
        if is_bytes(values.type):
            found = pc.min_max(values.cast(pa.binary()))
            low, high = found["min"].as_py(), found["max"].as_py()
            self._ends = (low, high) if self._ends is None else (min(low, self._ends[0]), max(high, self._ends[1]))
        taken = np.arange(-self._seen % self._step, len(values), self._step)
        self._seen += len(values)
        self._keep(values.take(taken))

    def spread(self, *, width: int = WORD_BYTES) -> Spread:
        """Return the distribution of the column; ``width`` is the same as for ``ordered_bytes``."""
        prefix = 0 if self._ends is None else _shared_prefix(*self._ends)
        words = [_words(values, prefix, width) for values in self._values]
        return Spread(np.unique(np.concatenate([np.empty(0, np.uint64), *words])), prefix)

    def _keep(self, values: pa.Array) -> None:
        self._values.append(values)
        self._size += len(values)
        while self._size > 2 * SAMPLE_ROWS:
            kept = pa.concat_arrays(self._values)
            kept = kept.take(np.arange(0, len(kept), 2))
            self._values, self._size = [kept], len(kept)
            self._step *= 2


def ordered_bytes(array: pa.Array, spread: Spread, *, width: int = WORD_BYTES) -> Bytes:
    """Return the values of a column as bytes with the same order; similar values may become equal.

    Numbers take 8 bytes; strings and binaries ``width`` bytes.

    >>> ordered_bytes(pa.array([-1, None, 70, 9]), Spread(np.array([2**63 - 1, 2**63 + 9], np.uint64)))[:, 0].tolist()
    [117, 0, 202, 202]
    """
    words = _words(array, spread.prefix, width)
    if len(spread.split_points):
        rank = np.searchsorted(spread.split_points, words, "right").astype(np.uint64)
        step = 2**64 // (len(spread.split_points) + 1)
        words = rank * np.uint64(step) + (words >> np.uint64(65 - step.bit_length()))
    found = _as_bytes(words)
    if is_bytes(array.type):
        rest = _leading_bytes(array, spread.prefix + WORD_BYTES, max(width - WORD_BYTES, 0))
        found = np.concatenate([found[:, :width], rest], axis=1)
    if array.null_count:
        found[array.is_null().to_numpy(zero_copy_only=False)] = 0
    return found


def interleaved(columns: Sequence[Bytes]) -> Bytes:
    """Interleave bits: the first bits of all columns, then the second, and so on; shorter columns are skipped.

    >>> interleaved([np.array([[0xFF]], np.uint8), np.array([[0x00, 0x0F]], np.uint8)]).tolist()
    [[170, 170, 15]]
    """
    places = range(max(column.shape[1] for column in columns))
    return np.concatenate([_spread([c[:, at] for c in columns if c.shape[1] > at]) for at in places], axis=1)


def hilbert(columns: Sequence[Bytes]) -> Bytes:
    """Return positions on the Hilbert curve through the cube of 64-bit values of the columns, 8 bytes per column.

    >>> corners = [[0, 0], [0, 1], [1, 1], [1, 0]]
    >>> top = [np.array([[bit << 7, 0, 0, 0, 0, 0, 0, 0] for bit in axis], np.uint8) for axis in zip(*corners)]
    >>> (hilbert(top)[:, 0] >> 6).tolist()
    [0, 1, 2, 3]
    """
    if not all(column.shape[1] == WORD_BYTES for column in columns):
        message = f"each column has {WORD_BYTES} bytes on the Hilbert curve, found {[c.shape[1] for c in columns]}"
        raise ValueError(message)
    axes = np.stack([np.ascontiguousarray(column).view(">u8")[:, 0].astype(np.uint64) for column in columns])
    for start in range(0, axes.shape[1], _BLOCK_ROWS):
        _transpose(axes[:, start : start + _BLOCK_ROWS])
    return interleaved([_as_bytes(axis) for axis in axes])


def as_signed_words(columns: Bytes) -> list[npt.NDArray[np.int64]]:
    """Convert bytes to columns of signed numbers of the same order, most significant first.

    >>> [word.tolist() for word in as_signed_words(np.array([[1], [255]], np.uint8))]
    [[-9151314442816847872, 9151314442816847872]]
    """
    rows, width = columns.shape
    padded = np.zeros((rows, -(-width // WORD_BYTES) * WORD_BYTES), np.uint8)
    padded[:, :width] = columns
    words = padded.view(">u8").astype(np.uint64) ^ _SIGN
    return [np.ascontiguousarray(words[:, i]).view(np.int64) for i in range(words.shape[1])]


def _transpose(axes: UInt64Array) -> None:
    """Distribute the bits of the positions on the curve to the axes, in place (Skilling's AxestoTranspose)."""
    first, last = axes[0], axes[-1]
    for bit in range(63, 0, -1):
        below = np.uint64((1 << bit) - 1)
        for axis in axes:
            flags = _all_ones_where(axis, bit)
            # Either mirror the first axis below this bit, or exchange the two there.
            swap = (first ^ axis) & below & ~flags
            axis ^= swap
            first ^= swap ^ (flags & below)
    for i in range(1, len(axes)):
        axes[i] ^= axes[i - 1]
    turned = np.zeros_like(last)
    for bit in range(63, 0, -1):
        turned ^= _all_ones_where(last, bit) & np.uint64((1 << bit) - 1)
    axes ^= turned


def _all_ones_where(words: UInt64Array, bit: int) -> UInt64Array:
    return np.uint64(0) - ((words >> np.uint64(bit)) & np.uint64(1))


def _spread(columns: Sequence[npt.NDArray[np.uint8]]) -> Bytes:
    """Interleave the bits of one byte of each column."""
    count = len(columns)
    if count > WORD_BYTES:
        bits = np.unpackbits(np.stack(columns, axis=1), axis=1).reshape(-1, count, 8)
        return np.packbits(bits.transpose(0, 2, 1).reshape(-1, 8 * count), axis=1)
    spread = np.array([sum((value >> bit & 1) << (bit * count) for bit in range(8)) for value in range(256)], np.uint64)
    words = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        words = (words << np.uint64(1)) | spread[column]
    return _as_bytes(words)[:, WORD_BYTES - count :]


def _words(array: pa.Array, prefix: int, width: int) -> UInt64Array:
    """Return numbers in the order of the column; undefined at nulls."""
    if is_bytes(array.type):
        leading = np.zeros((len(array), WORD_BYTES), np.uint8)
        leading[:, : min(width, WORD_BYTES)] = _leading_bytes(array, prefix, min(width, WORD_BYTES))
        return leading.view(">u8")[:, 0].astype(np.uint64)
    values = integers(array)
    if values is None:
        # For a decimal of more than 64 bits, an approximation is sufficient, because it only affects the place of a
        # row.
        values = integers(array.cast(pa.float64()))
    assert values is not None  # noqa: S101 - numbers of 64 bits always are
    return values.view(np.uint64) ^ _SIGN


def _as_bytes(words: UInt64Array) -> Bytes:
    return words.astype(">u8").view(np.uint8).reshape(-1, WORD_BYTES)


def _shared_prefix(low: bytes, high: bytes) -> int:
    length = min(len(low), len(high))
    return next((i for i in range(length) if low[i] != high[i]), length)


def _leading_bytes(array: pa.Array, skip: int, width: int) -> Bytes:
    if not len(array) or not width:
        return np.zeros((len(array), width), np.uint8)
    starts, lengths, data = byte_ranges((array,))
    words = [_as_bytes(words_at(starts, lengths, data, at)) for at in range(skip, skip + width, WORD_BYTES)]
    return np.ascontiguousarray(np.concatenate(words, axis=1)[:, :width])
