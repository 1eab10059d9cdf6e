"""Converts strings that differ in at most eight adjacent bytes to integers of the same order.

Codes of equal length, dates, and numbers with leading zeros are such strings. Grouping integers is much faster than
grouping with a dictionary of strings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.aggregates.buffers import validity
from table_format.model.arrow_calls import arrow_array, frombuffer, py_buffer

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_WORD_BYTES: Final = 8
_MAX_TEXT_BYTES: Final = 64
"""Comparing longer texts takes as long as collecting them in a dictionary."""
_SAMPLE_ROWS: Final = 4096
_SIGN: Final = np.uint64(1 << 63)


@dataclass(frozen=True, slots=True)
class TextShape:
    """Texts with the length of ``template`` that equal it except for ``width`` bytes from ``at`` on."""

    template: bytes
    at: int
    width: int

    def words_of(self, texts: pa.Array) -> Ints | None:
        """Return the integer of each non-null text; ``None`` if one has another shape.

        >>> shape = TextShape(b"item-07", 0, 7)
        >>> shape.words_of(pa.array([b"item-08", b"item-07"])).argsort().tolist()
        [1, 0]
        >>> shape.words_of(pa.array([b"item-8"])) is None
        True
        """
        length = len(self.template)
        data = _texts_of_length(texts, length)
        if data is None:
            return None
        end = self.at + self.width
        for first, size in (*_pieces(0, self.at), *_pieces(end, length)):
            expected = np.frombuffer(self.template, f"<u{size}", 1, first)
            if not (_loaded(data, length, first, size) == expected).all():
                return None
        words = np.zeros(len(texts), np.uint64)
        for first, size in _pieces(self.at, end):
            if size < _WORD_BYTES:
                words <<= np.uint64(8 * size)
                words |= _loaded(data, length, first, size).astype(f"<u{size}").byteswap()
            else:
                words = _loaded(data, length, first, size).astype(np.uint64).byteswap(inplace=True)
        words ^= _SIGN
        return words.view(np.int64)

    def texts_of(self, words: Ints) -> pa.Array:
        """Convert integers back to texts.

        >>> shape = TextShape(b"item-07", 0, 7)
        >>> shape.texts_of(shape.words_of(pa.array([b"item-21"]))).to_pylist()
        [b'item-21']
        """
        length = len(self.template)
        found = np.tile(np.frombuffer(self.template, np.uint8), (len(words), 1))
        stored = (words.view(np.uint64) ^ _SIGN).astype(">u8").view(np.uint8).reshape(-1, _WORD_BYTES)
        found[:, self.at : self.at + self.width] = stored[:, _WORD_BYTES - self.width :]
        offsets = np.arange(len(words) + 1, dtype=np.int32) * np.int32(length)
        return pa.Array.from_buffers(pa.binary(), len(words), [None, py_buffer(offsets), py_buffer(found)])


def shape_of(texts: pa.Array) -> TextShape | None:
    """Return the common shape of the first texts, which must not be null; ``None`` if there is none.

    >>> shape_of(pa.array([b"order-000000007", b"order-000000012"]))
    TextShape(template=b'order-000000007', at=7, width=8)
    """
    sample = texts.slice(0, _SAMPLE_ROWS)
    template = sample[0].as_py()
    length = len(template)
    data = _texts_of_length(sample, length)
    if data is None or not 0 < length <= _MAX_TEXT_BYTES:
        return None
    rows = data.reshape(-1, length)
    varied = np.flatnonzero((rows != rows[0]).any(axis=0))
    if varied.size and varied[-1] - varied[0] >= _WORD_BYTES:
        return None
    width = min(_WORD_BYTES, length)
    # Larger numbers also differ in bytes further left.
    end = max(int(varied[-1]) + 1, width) if varied.size else length
    return TextShape(template, end - width, width)


class TextWords:
    """Collects texts in pieces, as long as all have the same shape."""

    def __init__(self) -> None:
        self._shape: TextShape | None = None
        self._words: list[Ints] = []
        self._present: list[Mask] = []

    def add(self, texts: pa.Array) -> bool:
        """Add binary values, which may be null. Return whether they have the shape and were added."""
        known = texts.drop_null() if texts.null_count else texts
        if not len(known):
            words: Ints | None = np.empty(0, np.int64)
        else:
            self._shape = self._shape or shape_of(known)
            words = None if self._shape is None else self._shape.words_of(known)
        if words is None:
            return False
        self._words.append(words)
        self._present.append(validity(texts))
        return True

    def gathered(self) -> tuple[Ints, Mask]:
        """Return the integers of all non-null texts, and a mask of the non-null texts."""
        return np.concatenate([np.empty(0, np.int64), *self._words]), np.concatenate(
            [np.empty(0, np.bool_), *self._present]
        )

    def texts_of(self, words: Ints) -> pa.Array:
        """Convert integers back to texts."""
        return arrow_array([], pa.binary()) if self._shape is None else self._shape.texts_of(words)

    def pieces(self) -> Iterator[pa.Array]:
        """Yield the added texts."""
        for words, present in zip(self._words, self._present, strict=True):
            texts = self.texts_of(words)
            if present.all():
                yield texts
            else:
                places = np.where(present, np.cumsum(present) - 1, 0)
                yield texts.take(arrow_array(places, mask=~present))


def _texts_of_length(texts: pa.Array, length: int) -> Bytes | None:
    """Return the concatenated bytes of texts; ``None`` if one has another length."""
    _, offset_buffer, data_buffer = texts.buffers()
    offsets = frombuffer(offset_buffer, np.int32, len(texts) + 1, texts.offset * 4)
    if int(offsets[-1]) - int(offsets[0]) != len(texts) * length or not (np.diff(offsets) == length).all():
        return None
    return frombuffer(data_buffer, np.uint8, len(texts) * length, int(offsets[0])) if length else np.empty(0, np.uint8)


def _pieces(start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and size of words of eight, four, two and one bytes from ``start`` to ``end``."""
    size = _WORD_BYTES
    while start < end:
        while size > end - start:
            size //= 2
        yield start, size
        start += size


def _loaded(data: Bytes, length: int, at: int, size: int) -> npt.NDArray[np.unsignedinteger]:
    """Return ``size`` bytes from ``at`` of each text of this length, lowest byte first, without a copy."""
    return np.ndarray((len(data) // length,), f"<u{size}", data.data, at, (length,))
